"""What every solver on the CPU begins with: graphs with their predecessors, and a depth-first search.

A single graph is a batch of one. Compiled functions get the slices of one graph: offsets into arrays of the
whole batch, vertices by their id within the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numba import njit

from relaxometer.graphs.resident_batch import ResidentBatch

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

Ids = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]

Arcs = tuple[Offsets, Ids]
"""Where the arcs of each vertex begin, and their other ends."""

NONE = np.uint32(2**32 - 1)
"""Number of a vertex that the search has not reached."""


@dataclass(frozen=True, eq=False)
class FlowGraphs:
    """One or more rooted graphs with the arcs of every vertex in both directions.

    The arrays are taken as ones to be read only: to Numba those are of another type, and it would compile
    a function again for graphs whose arrays happen to be so.

    Parameters
    ----------
    first_vertex : ndarray of shape (n_graphs + 1,), int64
    entries : ndarray of shape (n_graphs,), uint32
        Roots, as ids within their graphs.
    offsets, predecessor_offsets : ndarray of shape (n_vertices + 1,), int64
    targets, predecessors : ndarray of shape (n_arcs,), uint32
        The other ends of the arcs from and to each vertex, as ids within the graph.
    """

    first_vertex: Offsets
    entries: Ids
    offsets: Offsets
    targets: Ids
    predecessor_offsets: Offsets
    predecessors: Ids

    def __post_init__(self) -> None:
        for name, array in vars(self).items():
            object.__setattr__(self, name, _read_only(array))

    @classmethod
    def of(cls, resident: ResidentGraph | ResidentBatch) -> FlowGraphs:
        """Collect the arcs into each vertex; a single graph gets vertex 0 as its root for the time being.

        Those of a graph whose metadata says that it is undirected are the arcs from each vertex.
        """
        host = resident.host
        if isinstance(resident, ResidentBatch):
            first_vertex, entries = resident.host.first_vertex, resident.host.entries
        else:
            first_vertex = np.array([0, host.n_vertices], dtype=np.int64)
            entries = np.zeros(1, dtype=np.uint32)
        first_vertex, arcs = _read_only(first_vertex), (_read_only(host.offsets), _read_only(host.targets))
        both_ways = host.metadata.get("directed") is False
        arcs_in = arcs if both_ways else _predecessors(first_vertex, *arcs)
        return cls(first_vertex, entries, *arcs, *arcs_in)

    def rooted_at(self, root: int | None) -> FlowGraphs:
        """Return the same graph with another root; a batch, where `root` is None, stays as it is."""
        if root is None:
            return self
        entries = np.array([root], dtype=np.uint32)
        own = (self.offsets, self.targets, self.predecessor_offsets, self.predecessors)
        return FlowGraphs(self.first_vertex, entries, *own)

    @property
    def arrays(self) -> tuple[Offsets, Ids, Offsets, Ids, Offsets, Ids]:
        """The arguments that compiled functions begin with."""
        ends = (self.offsets, self.targets, self.predecessor_offsets, self.predecessors)
        return self.first_vertex, self.entries, *ends


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


@njit(cache=True)
def _predecessors(first_vertex: Offsets, offsets: Offsets, targets: Ids) -> tuple[Offsets, Ids]:
    """Sort the arcs by head; the tails of a head ascend."""
    ends = np.zeros(len(offsets), dtype=np.int64)
    predecessors = np.empty(len(targets), dtype=np.uint32)
    for graph in range(len(first_vertex) - 1):
        first, last = first_vertex[graph], first_vertex[graph + 1]
        for arc in range(offsets[first], offsets[last]):
            ends[first + targets[arc] + 1] += 1
    for v in range(1, len(ends)):
        ends[v] += ends[v - 1]
    place = ends[:-1].copy()
    for graph in range(len(first_vertex) - 1):
        first = first_vertex[graph]
        for v in range(first, first_vertex[graph + 1]):
            for arc in range(offsets[v], offsets[v + 1]):
                head = first + targets[arc]
                predecessors[place[head]] = v - first
                place[head] += 1
    return ends, predecessors


@njit(cache=True)
def depth_first(
    root: int, offsets: Offsets, targets: Ids, order: Ids, number: Ids, parent: Ids, last: Ids, path: Ids
) -> int:
    """Rank the vertices of one graph in pre-order of a depth-first search.

    Parameters
    ----------
    root : int
    offsets : ndarray of shape (n_vertices + 1,), int64
    targets : ndarray of shape (n_arcs,), uint32
    order : ndarray of shape (n_vertices,), uint32
        Set to the vertices in the order of their numbers.
    number : ndarray of shape (n_vertices,), uint32
        Set to the number of every vertex; `NONE` where the search does not come.
    parent : ndarray of shape (n_vertices,), uint32
        Set to the number of the parent in the search's tree, by number; the root's is 0.
    last : ndarray of shape (n_vertices,), uint32
        Set to the last number below each vertex in the tree, by number.
    path : ndarray of shape (n_vertices,), uint32
        Scratch.

    Returns
    -------
    int
        How many vertices were reached.
    """
    n = len(offsets) - 1
    for v in range(n):
        number[v] = NONE
    next_arc = offsets[:-1].copy()
    order[0], number[root], parent[0], path[0] = root, 0, 0, root
    reached, depth = 1, 1
    while depth:
        v = path[depth - 1]
        if next_arc[v] == offsets[v + 1]:
            last[number[v]] = reached - 1
            depth -= 1
            continue
        head = targets[next_arc[v]]
        next_arc[v] += 1
        if number[head] == NONE:
            order[reached], number[head], parent[reached] = head, reached, number[v]
            reached += 1
            path[depth] = head
            depth += 1
    return reached


@njit(cache=True)
def evaluate(v: int, linked: int, ancestor: Ids, label: Ids, semi: Ids, stack: Ids) -> int:
    """Find the vertex of least semidominator on the tree path to `v` from below the first unlinked vertex.

    Vertices are numbers of a depth-first search; those from `linked` on are linked to their parents. Paths
    are compressed on the way.
    """
    if ancestor[v] < linked:
        return label[v]
    depth = 0
    while ancestor[v] >= linked:
        stack[depth] = v
        depth += 1
        v = ancestor[v]
    above = v
    while depth:
        depth -= 1
        v = stack[depth]
        ancestor[v] = ancestor[above]
        if semi[label[above]] < semi[label[v]]:
            label[v] = label[above]
        above = v
    return label[v]
