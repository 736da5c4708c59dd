"""One thread per vertex in every phase (Harish and Narayanan; algorithms 1 to 3 of Suzuki et al.)."""

from typing import Any

import numpy as np

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import Arrays, OneMode, over

Parameters = variants.NoParameters


class AllVertices:
    """Phases of ``relax``, or a user's, which may take `more`, and ``update``, one thread per vertex."""

    name = "all"

    def __init__(self, arrays: Arrays, module: Any, *more: Any) -> None:
        self._device, a = arrays.device, arrays
        self._last_phase = a.device.xp.zeros(1, dtype=np.uint32)
        relax = (*a.graph.csr, a.Ma, a.Ca, a.Ua, a.overflow, *more)
        update = (a.n, a.Ma, a.Ca, a.Pa, a.Ua, np.uint32(0), self._last_phase)
        shape = over(a.graph.n_vertices)
        self._relax = module.get_function("relax").bind(*shape, relax)
        self._update = module.get_function("update").bind(*shape, update)

    def start(self, source: int) -> None:
        """Forget the previous search."""
        self._last_phase.fill(0)

    def run(self, phase: int) -> bool:
        """Run one phase, numbered from 1; return whether any distance changed."""
        self._relax()
        self._update(phase=np.uint32(phase))
        return bool(self._device.item(self._last_phase) == phase)


class Solver(OneMode):
    """SSSP by two all-vertex kernels per phase.

    References
    ----------
    Harish and Narayanan, "Accelerating Large Graph Algorithms on the GPU Using CUDA", HiPC 2007.
    Suzuki, Kan, Hayashi and Yoshikawa, "Accelerating SSSP Algorithm on GPU with Adaptive Thread
    Creation", section 3.
    """

    def __init__(self, graph: ResidentGraph, parameters: variants.NoParameters) -> None:
        super().__init__(graph, parameters, AllVertices, "conventional.cu")
