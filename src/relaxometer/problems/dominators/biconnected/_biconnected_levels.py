"""Biconnected components from a breadth-first tree, for graphs of few levels."""

from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device.signature import read_source
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs import hybrid
from relaxometer.problems.dominators import Answer
from relaxometer.problems.phases import Phase

SOURCE = read_source(Path(__file__).with_name("_biconnected_levels.cu"))
STAGES = ("connect", "join", "heads", "answer")
"""As in the kernel; an instrumented run records each, after the search."""

MOST_LEVELS = 256  # climbing side by side takes as many steps as there are levels
THREADS = 512  # threads per block, as in the launch bounds


class FromLevels:
    """Dominators of an undirected graph: a search by `hybrid`, and one kernel."""

    def __init__(self, graph: ResidentGraph, packed: Any) -> None:
        self._graph, self._packed = graph, packed
        device, xp, n = graph.device, graph.device.xp, graph.n_vertices
        self._search = hybrid.Solver(graph, hybrid.Parameters.model_validate({}))
        self._module = device.module(SOURCE.path, cooperative=True)
        self._kernel = self._module.get_function("biconnected_levels")
        wanted = -(-max(n, graph.n_arcs) // THREADS)
        self._blocks = min(device.max_cooperative_blocks(self._kernel, THREADS), wanted)
        self._anchor = np.uint32(int((graph.offsets[1:] - graph.offsets[:-1]).argmax()))
        link, begin, end, joined, head = (xp.empty(n, dtype=np.uint32) for _ in range(5))
        votes = xp.empty(3, dtype=np.uint32)
        self._links = self._module.struct("Links", link=link, to=end, **{"from": begin})
        self._tree = self._module.struct("Tree", joined=joined, head=head, votes=votes)

    def solve(self, root: int, phases: list[Phase] | None) -> Answer | None:
        """Find the immediate dominators from `root`; None if the tree has more than `MOST_LEVELS` levels."""
        device, xp, n = self._graph.device, self._graph.device.xp, self._graph.n_vertices
        found = self._search.solve(root)
        if found.phases > MOST_LEVELS:
            return None
        if phases is not None:
            with device.timer() as timer:
                self._search.solve(root)
            phases.append(Phase("search", n, self._graph.n_arcs, timer.ms))
        self._tree.set(level=found.level, parent=found.predecessor)
        idom = xp.empty(n, dtype=np.uint32)
        times = None if phases is None else xp.zeros(len(STAGES) + 1, dtype=np.uint64)
        structs = self._packed, self._links, self._tree
        ends = np.uint32(root), self._anchor
        self._kernel(self._blocks, THREADS, (*structs, *ends, idom, times))
        if phases is not None:
            phases.extend(stage_phases(self._graph, STAGES, device.asnumpy(times)))
        return Answer(idom, None)


def stage_phases(graph: ResidentGraph, stages: tuple[str, ...], times: Any) -> list[Phase]:
    """Return a phase for each stage between two readings of the clock, in nanoseconds."""
    spans_ms = (np.diff(times.astype(np.int64)) / 1e6).tolist()
    return [
        Phase(name, graph.n_vertices, graph.n_arcs, ms) for name, ms in zip(stages, spans_ms, strict=True)
    ]
