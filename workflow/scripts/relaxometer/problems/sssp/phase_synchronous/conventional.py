"""One thread per vertex in every phase (Harish and Narayanan; algorithms 1 to 3 of Suzuki et al.)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp.phase_synchronous._phase_synchronous import Arrays, PhaseLog, over

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph


class Parameters(variants.Parameters):
    """No parameters."""


class AllVertices:
    """Phases of two kernels with one thread per vertex.

    Parameters
    ----------
    arrays : Arrays
    module : Module
        With the kernels ``relax`` and ``update``.
    """

    mode = "all"

    def __init__(self, arrays: Arrays, module: Any) -> None:
        self._arrays = arrays
        self._relax = module.get_function("relax")
        self._update = module.get_function("update")
        self._last_phase = arrays.device.xp.zeros(1, dtype=np.uint32)
        self._relax_arguments = (*arrays.graph.csr, arrays.Ma, arrays.Ca, arrays.Ua, arrays.overflow)

    def start(self) -> None:
        """Forget the previous search."""
        self._last_phase.fill(0)

    def run(self, phase: int) -> bool:
        """Run one phase, numbered from 1; return whether any distance changed."""
        a = self._arrays
        grid, block = over(a.graph.n_vertices)
        self._relax(grid, block, self._relax_arguments)
        update = (a.n, a.Ma, a.Ca, a.Pa, a.Ua, np.uint32(phase), self._last_phase)
        self._update(grid, block, update)
        return a.device.item(self._last_phase) == phase


class Solver:
    """SSSP by two all-vertex kernels per phase.

    Parameters
    ----------
    graph : ResidentGraph
    parameters : Parameters

    References
    ----------
    Harish and Narayanan, "Accelerating Large Graph Algorithms on the GPU Using CUDA", HiPC 2007.
    Suzuki, Kan, Hayashi and Yoshikawa, "Accelerating SSSP Algorithm on GPU with Adaptive Thread
    Creation", section 3.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._arrays = Arrays(graph)
        self._all = AllVertices(self._arrays, self._arrays.kernels("conventional.cu"))

    @property
    def resolved(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        self._arrays.start(source)
        self._all.start()
        log = PhaseLog(self._arrays, phases)
        phase = 0
        changed = True
        while changed:
            phase += 1
            changed = self._all.run(phase)
            log.end_phase(self._all.mode)
        return self._arrays.answer(phase)
