"""The variant `conventional` with a fault in its kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import Arrays, OneMode, over
from relaxometer.problems.sssp.phase_synchronous.conventional import AllVertices

FAULTS = ("none", "write", "loop", "trap")
"""Faults by their number in the kernel."""


class Parameters(variants.Parameters):
    """The fault of the kernel."""

    fault: Literal["none", "write", "loop", "trap"] = "none"


class Solver(OneMode):
    """SSSP by two all-vertex kernels per phase, the first of them faulty."""

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        fault = np.uint32(FAULTS.index(parameters.fault))

        class Faulty(AllVertices):
            def __init__(self, arrays: Arrays, module: Any) -> None:
                super().__init__(arrays, module)
                a = arrays
                relax = (*a.graph.csr, a.Ma, a.Ca, a.Ua, a.overflow, fault)
                self._relax = module.get_function("relax").bind(*over(a.graph.n_vertices), relax)

        self._arrays = Arrays(graph)
        self._mode = Faulty(self._arrays, graph.device.module(Path(__file__).with_name("faulty_kernel.cu")))
