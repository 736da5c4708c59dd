"""Arrays and searches shared by the certificate and the CPU solvers, in named tuples, which Numba takes.

A single graph is a batch of one. A graph is a slice of the batch's arrays; its vertices have ids within it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch

Ids = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
NONE = np.uint32(2**32 - 1)  # no vertex, or the number of an unreached vertex


class Arcs(NamedTuple):
    """The arcs of every vertex in one direction, from ``offsets[v]`` to ``offsets[v + 1] - 1``."""

    offsets: Offsets
    ends: Ids


class FlowGraph(NamedTuple):
    """One graph with a root, and the arcs from and to each vertex."""

    root: int
    out: Arcs
    into: Arcs


class FlowGraphs(NamedTuple):
    """Graphs with roots. All arrays are read-only: Numba compiles a function again for writable ones."""

    first_vertex: Offsets
    roots: Ids
    out: Arcs
    into: Arcs

    @classmethod
    def of(cls, resident: ResidentGraph | ResidentBatch, *, from_arcs: bool = False) -> FlowGraphs:
        """Collect the arcs into each vertex; the root of a single graph is 0 until `rooted_at` sets it.

        The arcs into the vertices of an undirected graph are those out of them. Solvers trust its metadata,
        since their answers are proven; with `from_arcs`, as for a proof, only the arcs count.
        """
        host = resident.host
        if isinstance(resident, ResidentBatch):
            first_vertex, roots = resident.host.first_vertex, resident.host.entries
        else:
            first_vertex, roots = np.array([0, host.n_vertices]), np.zeros(1, dtype=np.uint32)
        first_vertex = read_only(first_vertex)
        out = Arcs(read_only(host.offsets), read_only(host.targets))
        if host.metadata.get("directed") is False and not from_arcs:
            return cls(first_vertex, read_only(roots), out, out)
        into = Arcs(*(read_only(array) for array in _reversed(first_vertex, out)))
        return cls(first_vertex, read_only(roots), out, into)

    @classmethod
    def one_vertex(cls) -> FlowGraphs:
        """Return the smallest graph, for the call that compiles a function."""
        none = Arcs(read_only(np.zeros(2, dtype=np.int64)), read_only(np.zeros(0, dtype=np.uint32)))
        return cls(read_only(np.array([0, 1])), read_only(np.zeros(1, dtype=np.uint32)), none, none)

    def rooted_at(self, root: int | None) -> FlowGraphs:
        """Return the graph with another root, or the batch itself if `root` is None."""
        if root is None:
            return self
        return self._replace(roots=read_only(np.array([root], dtype=np.uint32)))

    @property
    def n_vertices(self) -> int:
        """Vertices of all graphs."""
        return len(self.out.offsets) - 1


class Search(NamedTuple):
    """A depth-first search of one graph, as arrays of shape (n_vertices,). Numbers are ranks in pre-order."""

    number: Ids  # by vertex; `NONE` if it is unreached
    vertex: Ids  # by number
    parent: Ids  # number of the parent in the search tree by number, 0 for the root
    last: Ids  # the last number in its subtree by number
    path: Ids  # scratch


class Forest(NamedTuple):
    """The forest of Lengauer and Tarjan's LINK and EVAL, as arrays of shape (n_vertices,), by number."""

    above: Ids  # the parent in the search tree, or an ancestor once paths are compressed
    label: Ids  # the vertex of least semidominator on the compressed path
    semi: Ids  # the semidominator
    path: Ids  # scratch


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view; Numba would compile once for it and once for a writeable array."""
    view = array.view()
    view.flags.writeable = False
    return view


@njit(cache=True)
def _reversed(first_vertex: Offsets, out: Arcs) -> tuple[Offsets, Ids]:
    """Sort the arcs by head; the tails of a head ascend."""
    offsets = np.zeros(len(out.offsets), dtype=np.int64)
    tails = np.empty(len(out.ends), dtype=np.uint32)
    for graph in range(len(first_vertex) - 1):
        first, last = first_vertex[graph], first_vertex[graph + 1]
        for arc in range(out.offsets[first], out.offsets[last]):
            offsets[first + out.ends[arc] + 1] += 1
    for v in range(1, len(offsets)):
        offsets[v] += offsets[v - 1]
    place = offsets[:-1].copy()
    for graph in range(len(first_vertex) - 1):
        first = first_vertex[graph]
        for v in range(first, first_vertex[graph + 1]):
            for arc in range(out.offsets[v], out.offsets[v + 1]):
                head = first + out.ends[arc]
                tails[place[head]] = v - first
                place[head] += 1
    return offsets, tails


@njit(cache=True)
def leads_both_ways(offsets: Offsets, heads: Ids, count: int) -> bool:
    """Return whether each of the first `count` arcs of a graph has its reverse; heads ascend in a vertex."""
    u = 0
    for arc in range(min(count, len(heads))):
        while offsets[u + 1] <= arc:
            u += 1
        row = heads[offsets[heads[arc]] : offsets[heads[arc] + 1]]
        place = np.searchsorted(row, u)
        if place == len(row) or row[place] != u:
            return False
    return True


@njit(cache=True)
def graph_at(graphs: FlowGraphs, index: int) -> FlowGraph:
    """Return one of the graphs, as views."""
    first, end = graphs.first_vertex[index], graphs.first_vertex[index + 1]
    out = Arcs(graphs.out.offsets[first : end + 1], graphs.out.ends)
    into = Arcs(graphs.into.offsets[first : end + 1], graphs.into.ends)
    return FlowGraph(graphs.roots[index], out, into)


@njit(cache=True)
def scratch_rows(graphs: FlowGraphs, rows: int) -> Ids:
    """Return uninitialized rows, each as long as the largest graph."""
    return np.empty((rows, max(np.max(np.diff(graphs.first_vertex)), 1)), dtype=np.uint32)


@njit(cache=True)
def depth_first(graph: FlowGraph, search: Search) -> int:
    """Search one graph from its root; fill `search` and return the number of vertices reached."""
    number, vertex, parent, last, path = search
    offsets, heads = graph.out
    for v in range(len(offsets) - 1):
        number[v] = NONE
    next_arc = offsets[:-1].copy()
    vertex[0], number[graph.root], parent[0], path[0] = graph.root, 0, 0, graph.root
    reached, depth = 1, 1
    while depth:
        v = path[depth - 1]
        if next_arc[v] == offsets[v + 1]:
            last[number[v]] = reached - 1
            depth -= 1
            continue
        head = heads[next_arc[v]]
        next_arc[v] += 1
        if number[head] == NONE:
            vertex[reached], number[head], parent[reached] = head, reached, number[v]
            reached += 1
            path[depth] = head
            depth += 1
    return reached


@njit(cache=True)
def begin_forest(forest: Forest, parent: Ids, reached: int) -> None:
    """Make every vertex its own label and semidominator."""
    for v in range(reached):
        forest.label[v] = forest.semi[v] = v
        forest.above[v] = parent[v]


@njit(cache=True)
def begin_search(graph: FlowGraph, scratch: Ids) -> tuple[Search, Forest, int]:
    """Search one graph and begin its forest in eight rows of scratch; return the number reached as well."""
    search = Search(scratch[0], scratch[1], scratch[2], scratch[3], scratch[4])
    forest = Forest(scratch[5], scratch[6], scratch[7], search.path)
    reached = depth_first(graph, search)
    begin_forest(forest, search.parent, reached)
    return search, forest, reached


# Inlined, since passing tuples of arrays costs a reference count for each array at every call.
@njit(cache=True, inline="always")
def evaluate(v: int, linked: int, forest: Forest) -> int:
    """Find the vertex of least semidominator on the tree path to `v` from below the first unlinked vertex.

    The vertices numbered `linked` or higher are linked to their parents. The path is compressed.
    """
    above, label, semi, path = forest
    if above[v] < linked:
        return label[v]
    depth = 0
    while above[v] >= linked:
        path[depth] = v
        depth += 1
        v = above[v]
    top = v
    while depth:
        depth -= 1
        v = path[depth]
        above[v] = above[top]
        if semi[label[top]] < semi[label[v]]:
            label[v] = label[top]
        top = v
    return label[v]


@njit(cache=True, inline="always")
def least_semidominator(v: int, into: Arcs, search: Search, forest: Forest) -> int:
    """Return the semidominator of `v`, when exactly the vertices of higher numbers are linked."""
    least = search.parent[v]
    vertex = search.vertex[v]
    for arc in range(into.offsets[vertex], into.offsets[vertex + 1]):
        u = search.number[into.ends[arc]]
        if u != NONE:
            least = min(least, forest.semi[evaluate(u, v + 1, forest)])
    return least


@njit(cache=True)
def dominators_by_vertex(number: Ids, vertex: Ids, dominator: Ids, idom: Ids) -> None:
    """Write immediate dominators given by number into `idom`, by vertex."""
    for v in range(len(idom)):
        idom[v] = NONE if number[v] == NONE else vertex[dominator[number[v]]]
