"""Algorithm 4 of Suzuki et al. in one launch, switched by the device's own clock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from relaxometer.device.signature import read_source
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp._cooperative import LOG_ROWS, logged_phases, threads_per_block
from relaxometer.problems.sssp._tight_tree import TightTree, leave_two_bits
from relaxometer.problems.sssp.phase_synchronous import adaptive

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

BLOCK = 512

SOURCE = read_source(Path(__file__).with_name("adaptive_persistent.cu"))


class Parameters(adaptive.Parameters):
    """Thresholds of the switch; good ones are a tenth of those of `adaptive`, since phases are that short."""


class Solver(adaptive.Adaptive):
    """SSSP that switches between selected and all vertices without asking the host.

    References
    ----------
    Suzuki, Kan, Hayashi and Yoshikawa, "Accelerating SSSP Algorithm on GPU with Adaptive Thread
    Creation", sections 5 and 6.
    """

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph, xp, n = graph, graph.device.xp, graph.n_vertices
        self._tree = None
        if graph.lengths.is_wide:
            leave_two_bits(graph)
            self._tree = TightTree(graph)
        self._state = xp.zeros(SOURCE.layout("State").size, dtype=xp.uint8)
        self._log = xp.zeros((LOG_ROWS, 4), dtype=xp.uint64)
        module = graph.device.module(SOURCE.path, cooperative=True, options=graph.lengths.options)
        work = (xp.empty(n, dtype=xp.uint8), *(xp.empty(n, dtype=xp.uint32) for _ in range(2)))
        search, block = module.get_function("search"), threads_per_block(graph.device, BLOCK)
        blocks = graph.device.max_cooperative_blocks(search, block)
        rule = np.uint32(0), np.float32(0), np.float32(0)
        results = None, None, xp.empty(n, dtype=xp.uint64), self._state, self._log, np.uint32(0)
        arguments = (*graph.csr, np.uint32(0), *rule, *work, *results)
        self._search = search.bind(blocks, block, arguments)
        self._first_mode = 1
        self._set_thresholds(parameters)

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        device, n = self._graph.device, self._graph.n_vertices
        Ca, Pa = (device.xp.empty(n, dtype=dtype) for dtype in (self._graph.lengths.word, np.uint32))
        self._search(
            source=np.uint32(source),
            first_mode=np.uint32(self._first_mode),
            to_all_us=np.float32(self._to_all_us),
            to_selected_us=np.float32(self._to_selected_us),
            Ca=Ca,
            Pa=Pa,
            log_rows=np.uint32(LOG_ROWS if phases is not None else 0),
        )
        overflow, count = device.asnumpy(self._state[:8]).view(np.uint32).tolist()
        if phases is not None:
            rows = device.asnumpy(self._log[:count])
            # The first phase has no start and so no time.
            phases += logged_phases(np.concatenate([rows[:1], rows]), ("all", "selected"))
        predecessor = Pa if self._tree is None else self._tree.predecessors(source, Ca)
        return Answer(self._graph.lengths.distance(Ca), predecessor, count, bool(overflow))

    def _tune(self) -> tuple[float, float]:
        thresholds = super()._tune()
        self._first_mode = 1
        return thresholds

    def _phase_times(self, source: int, *, selecting: bool) -> npt.NDArray[np.float64]:
        self._first_mode = int(selecting)
        self._to_all_us, self._to_selected_us = (float("inf"), 0.0) if selecting else (0.0, 0.0)
        phases: list[Phase] = []
        self.solve(source, phases)
        return np.array([phase.time_ms * 1e3 for phase in phases])
