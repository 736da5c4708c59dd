"""Top-down while few arcs leave the frontier, bottom-up while many do, in one persistent kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, NonNegativeInt

from relaxometer.problems.bfs import Answer
from relaxometer.problems.bfs._incoming import incoming
from relaxometer.problems.bfs._levels import WORD, filling, kernels, over
from relaxometer.problems.bfs._switching import SwitchingParameters
from relaxometer.problems.phases import Phase

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

BLOCK = 512
"""Threads a block of the persistent kernel, as its launch bounds say."""

PIECE = 128
"""Most arcs of an entry of the list; the same as in ``_pieces.cuh``."""

GROUP = 128
"""Vertices that a warp scans at a time; the same as in ``hybrid.cu``."""

COUNTS = 5
ENTRIES = 4
"""Words of a level's counts and of its entry in the log; the same as in ``hybrid.cu``."""


class Parameters(SwitchingParameters):
    """When the search changes direction, and how bottom-up levels look for parents.

    Parameters
    ----------
    alpha, beta, way_back
        See :class:`SwitchingParameters`.
    threshold : int
        Vertices with at least so many incoming arcs are searched by a warp, the others by a thread.
    first_probe : {"largest", "first"}
        Which neighbour a vertex's first bottom-up level probes ahead of its row: the one with the most
        arcs, found once for all searches, or the first in its row.
    """

    threshold: NonNegativeInt = Field(32, lt=2**32)
    first_probe: Literal["largest", "first"] = "largest"


class Solver:
    """BFS that changes direction, in a single cooperative launch.

    Parameters
    ----------
    graph : ResidentGraph
    parameters : Parameters

    References
    ----------
    Hirakushi and Takahashi, "Breadth-first search on a GPU cluster", section 2.
    Beamer, Asanovic and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph = graph
        self._parameters = parameters
        n, xp, device = graph.n_vertices, graph.device.xp, graph.device
        self._kernel = kernels(device, "hybrid.cu", cooperative=True).get_function("hybrid")
        self._incoming = incoming(graph)
        groups = (n + GROUP - 1) // GROUP
        self._n_words = np.uint32(groups * GROUP // WORD)
        self._prepare()
        self._blocks = min(device.max_cooperative_blocks(self._kernel, BLOCK), -(-n // BLOCK))
        warps = self._blocks * BLOCK // WORD
        room = -(-groups // warps) * GROUP
        pieces = n + graph.n_arcs // PIECE
        self._work = (
            xp.empty(self._n_words, dtype=xp.uint32),
            xp.empty(3 * self._n_words, dtype=xp.uint32),
            xp.empty(warps * room, dtype=xp.uint32),
            np.uint32(room),
            xp.empty(2 * pieces, dtype=xp.uint64),
            np.uint64(pieces),
            xp.empty(3 * COUNTS, dtype=xp.uint64),
        )

    def _prepare(self) -> None:
        """Find the isolated vertices, and the neighbour that each of the others probes first."""
        graph, xp = self._graph, self._graph.device.xp
        n = np.uint32(graph.n_vertices)
        offsets, targets = self._incoming
        module = kernels(graph.device, "_prepare.cu")
        self._isolated = xp.empty(self._n_words, dtype=xp.uint32)
        mark = module.get_function("mark_isolated")
        launch = filling(graph.device, mark)
        mark(*launch, (n, self._n_words, graph.offsets, offsets, self._isolated))
        self._probes = xp.empty(graph.n_vertices, dtype=xp.uint32)
        largest = np.uint32(self._parameters.first_probe == "largest")
        choose = module.get_function("choose_probes")
        choose(*over(WORD * min(graph.n_vertices, 1 << 24)), (n, offsets, targets, largest, self._probes))

    @property
    def resolved(self) -> dict[str, Any]:
        """Return all parameters."""
        return self._parameters.model_dump()

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from `source`; see :class:`relaxometer.problems.bfs.Solver`.

        An instrumented run searches twice: the first time to learn how many levels there are.
        """
        answer = self._search(source, None)
        if phases is None:
            return answer
        xp = self._graph.device.xp
        log = xp.zeros((answer.phases + 1, ENTRIES), dtype=xp.uint64)
        answer = self._search(source, log)
        modes, updated, examined, start = self._graph.device.asnumpy(log).T.tolist()
        for level in range(answer.phases):
            mode = "top-down" if modes[level] else "bottom-up"
            time_ms = (start[level + 1] - start[level]) / 1e6
            phases.append(Phase(mode, updated[level], examined[level], time_ms))
        return answer

    def _search(self, source: int, log: Any) -> Answer:
        graph, xp = self._graph, self._graph.device.xp
        n = graph.n_vertices
        level, predecessor = xp.empty(n, dtype=xp.uint32), xp.empty(n, dtype=xp.uint32)
        rounds = xp.empty(1, dtype=xp.uint32)
        many_arcs, few_vertices = self._parameters.limits(n, graph.n_arcs)
        rows = graph.offsets, graph.targets, *self._incoming, self._probes, self._isolated
        limits = np.uint64(many_arcs), np.uint64(few_vertices), np.uint32(self._parameters.threshold)
        results = level, predecessor, rounds, None if log is None else log.ravel()
        arguments = (np.uint32(n), self._n_words, *rows, np.uint32(source), *limits, *self._work, *results)
        self._kernel(self._blocks, BLOCK, arguments)
        return Answer(level, predecessor, rounds)
