"""The iterative algorithm of Cooper, Harvey and Kennedy on one CPU core."""

from typing import Any

import numba
import numpy as np

from relaxometer.core.compiled import njit, prange
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems.dominators import Answer
from relaxometer.problems.dominators._flow_graphs import (
    NONE,
    Arcs,
    FlowGraph,
    FlowGraphs,
    Ids,
    Offsets,
    dominators_by_vertex,
    graph_at,
    read_only,
    scratch_rows,
)
from relaxometer.problems.dominators.cpu._on_cpu import SHARES, CpuParameters, CpuSolver, answer_of, cores_of
from relaxometer.problems.phases import Phase

Parameters = CpuParameters


@njit(cache=True)
def _find(graphs: FlowGraphs, idom: Ids) -> int:
    return _find_one(graph_at(graphs, 0), idom, scratch_rows(graphs, 4), False)


@njit(cache=True)
def _find_one(graph: FlowGraph, idom: Ids, scratch: Ids, in_order: bool) -> int:
    vertex, number, dominator, path = scratch[0], scratch[1], scratch[2], scratch[3]
    if in_order:
        reached = len(idom)
        for v in range(reached):
            vertex[v] = number[v] = v
    else:
        reached = _reverse_post_order(graph, vertex, number, path)
    dominator[0] = 0
    for v in range(1, reached):
        dominator[v] = NONE
    rounds, changed = 0, True
    while changed:
        rounds, changed = rounds + 1, False
        for v in range(1, reached):
            meeting = _meeting_of_predecessors(vertex[v], graph.into, number, dominator)
            if dominator[v] != meeting:
                dominator[v] = meeting
                changed = True
    dominators_by_vertex(number, vertex, dominator, idom)
    return rounds


@njit(cache=True, inline="always")
def _meeting_of_predecessors(vertex: int, into: Arcs, number: Ids, dominator: Ids) -> np.uint32:
    """Return where the paths up the tree from all predecessors with a dominator meet."""
    meeting = NONE
    for arc in range(into.offsets[vertex], into.offsets[vertex + 1]):
        u = number[into.ends[arc]]
        if u == NONE or dominator[u] == NONE:
            continue
        if meeting == NONE:
            meeting = u
        while u != meeting:
            if u > meeting:
                u = dominator[u]
            else:
                meeting = dominator[meeting]
    return meeting


@njit(cache=True)
def _reverse_post_order(graph: FlowGraph, vertex: Ids, number: Ids, path: Ids) -> int:
    """Rank one graph in reverse post-order; return the number of vertices reached."""
    offsets, heads = graph.out
    for v in range(len(offsets) - 1):
        number[v] = NONE
    next_arc = offsets[:-1].copy()
    path[0] = graph.root
    number[graph.root] = 0
    depth, finished = 1, 0
    while depth:
        v = path[depth - 1]
        if next_arc[v] < offsets[v + 1]:
            head = heads[next_arc[v]]
            next_arc[v] += 1
            if number[head] == NONE:
                number[head] = 0
                path[depth] = head
                depth += 1
        else:
            vertex[finished] = v
            finished += 1
            depth -= 1
    for i in range(finished // 2):
        vertex[i], vertex[finished - 1 - i] = vertex[finished - 1 - i], vertex[i]
    for i in range(finished):
        number[vertex[i]] = i
    return finished


@njit(cache=True)
def _predecessors(offsets: Offsets, heads: Ids, into: Offsets, tails: Ids) -> None:
    """Sort the arcs of one graph by head, from `into[0]` = 0; the tails of a head ascend."""
    n = len(offsets) - 1
    into[: n + 1] = 0
    for arc in range(offsets[0], offsets[n]):
        into[heads[arc]] += 1
    for v in range(n):
        into[v + 1] += into[v]
    # Offsets are ends, and become begins as the arcs are placed from the last to the first.
    for v in range(n - 1, -1, -1):
        for arc in range(offsets[v + 1] - 1, offsets[v] - 1, -1):
            head = heads[arc]
            into[head] -= 1
            tails[into[head]] = v


@njit(cache=True)
def _find_from_host(
    first_vertex: Offsets, offsets: Offsets, heads: Ids, idom: Ids, begin: int, end: int
) -> int:
    """Find the dominators of graphs `begin` to `end` - 1 of a batch, and their predecessors first."""
    most_vertices, most_arcs = 1, 1
    for index in range(begin, end):
        first, last = first_vertex[index], first_vertex[index + 1]
        most_vertices = max(most_vertices, last - first)
        most_arcs = max(most_arcs, offsets[last] - offsets[first])
    scratch = np.empty((4, most_vertices), dtype=np.uint32)
    into, tails = np.empty(most_vertices + 1, dtype=np.int64), np.empty(most_arcs, dtype=np.uint32)
    most_rounds = 0
    for index in range(begin, end):
        first, last = first_vertex[index], first_vertex[index + 1]
        own = offsets[first : last + 1]
        _predecessors(own, heads, into, tails)
        graph = FlowGraph(0, Arcs(own, heads), Arcs(into[: last - first + 1], tails))
        most_rounds = max(most_rounds, _find_one(graph, idom[first:last], scratch, True))
    return most_rounds


@njit(cache=True)
def _first_of_share(first_vertex: Offsets, offsets: Offsets, share: int, shares: int) -> int:
    """Return the first graph of a share; shares have similar numbers of arcs."""
    if share == shares:
        return len(first_vertex) - 1
    wanted = offsets[-1] * share // shares
    low, high = 0, len(first_vertex) - 1
    while low < high:
        middle = (low + high) // 2
        if offsets[first_vertex[middle]] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, parallel=True)
def _find_from_host_on_cores(
    first_vertex: Offsets, offsets: Offsets, heads: Ids, idom: Ids, shares: int
) -> int:
    rounds = np.zeros(shares, dtype=np.int64)
    for share in prange(shares):
        begin = _first_of_share(first_vertex, offsets, share, shares)
        end = _first_of_share(first_vertex, offsets, share + 1, shares)
        rounds[share] = _find_from_host(first_vertex, offsets, heads, idom, begin, end)
    return rounds.max()


@njit(cache=True)
def find_from_host(offsets: Offsets, heads: Ids, root: int, idom: Ids) -> int:
    """Find the dominators of one graph, and its predecessors first; return the number of rounds."""
    n = len(offsets) - 1
    scratch = np.empty((4, n), dtype=np.uint32)
    into, tails = np.empty(n + 1, dtype=np.int64), np.empty(max(len(heads), 1), dtype=np.uint32)
    _predecessors(offsets, heads, into, tails)
    return _find_one(FlowGraph(root, Arcs(offsets, heads), Arcs(into, tails)), idom, scratch, False)


class Solver(CpuSolver):
    """Immediate dominators by the iterative algorithm of Cooper, Harvey and Kennedy, compiled with Numba.

    Sweeps in reverse post-order intersect the tree paths of predecessors until nothing changes. The graphs
    of a batch come in that order, and every search starts from the batch's arrays: it finds the predecessors
    of a graph right before it needs them. A single graph is searched first; its predecessors are prepared.

    References
    ----------
    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", Rice University TR-06-33870, 2001.
    """

    find = staticmethod(_find)

    def __init__(self, graph: ResidentGraph | ResidentBatch, parameters: CpuParameters) -> None:
        self._batch: Batch | None = None
        if isinstance(graph, ResidentBatch):
            self._batch = graph.host
            self._cores = cores_of(parameters.cores) if len(self._batch) > 1 else 1
            self._find_all()  # compiles
        else:
            super().__init__(graph, parameters)

    @property
    def resolved(self) -> dict[str, Any]:
        """The cores that work, and whether nothing is prepared."""
        return super().resolved | {"host_to_host": self._batch is not None}

    def solve(self, root: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators; an instrumented run records the search as one phase."""
        if self._batch is None:
            return super().solve(root, phases)
        idom, rounds = self._find_all()
        return answer_of(idom, rounds, self._batch.n_arcs, phases)

    def _find_all(self) -> tuple[Ids, int]:
        """Return the dominators of a batch, and the largest number of rounds of a graph."""
        batch = self._batch
        assert batch is not None
        idom = np.empty(len(batch.offsets) - 1, dtype=np.uint32)
        arrays = read_only(batch.first_vertex), read_only(batch.offsets), read_only(batch.targets), idom
        if self._cores == 1:
            return idom, _find_from_host(*arrays, 0, len(batch.first_vertex) - 1)
        numba.set_num_threads(self._cores)
        return idom, _find_from_host_on_cores(*arrays, self._cores * SHARES)
