"""The variant `conventional` with a fault in its kernel."""

from pathlib import Path
from typing import Literal

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import Arrays, OneMode
from relaxometer.problems.sssp.phase_synchronous.conventional import AllVertices

FAULTS = ("none", "write", "loop", "trap")
"""Faults by their number in the kernel."""


class Parameters(variants.Parameters):
    """The fault of the kernel."""

    fault: Literal["none", "write", "loop", "trap"] = "none"


class Solver(OneMode):
    """SSSP by two all-vertex kernels per phase, the first of them faulty."""

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self.resolved = parameters.model_dump()
        fault = np.uint32(FAULTS.index(parameters.fault))
        self._arrays = Arrays(graph)
        module = graph.device.module(Path(__file__).with_name("faulty_kernel.cu"))
        self._mode = AllVertices(self._arrays, module, fault)
