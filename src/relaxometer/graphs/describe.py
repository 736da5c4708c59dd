"""Statistics of graphs and batches, for their pages in the report."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.compiled import njit
from relaxometer.graphs.batch import Batch, FlowGraph
from relaxometer.graphs.breadth_first import search
from relaxometer.graphs.degrees import BLOCK_OF_128, WARP, counts
from relaxometer.graphs.graph import Graph, Ids, Ints, offsets_of

REVERSING_PASSES = 16
"""Passes over the arcs to put each into the row of its head. A single pass writes to random memory and takes
five times as long on a large graph."""

Hops = npt.NDArray[np.int32]
Marks = npt.NDArray[np.bool_]


def describe_graph(graph: Graph) -> dict[str, Any]:
    """Return the metadata of `graph`, as read from its folder, and statistics that take longer to compute.

    - ``median_weight``;
    - ``degrees`` and, for a directed graph, ``in_degrees``: the frequency of each;
    - ``share_above`` and ``arc_share_above``: by degree, the share of vertices with a larger out-degree, and
      the share of arcs that leave them;
    - ``largest_component`` and ``isolated``: numbers of vertices in the largest weakly connected component,
      and of vertices without an arc to another vertex;
    - ``hop_diameter``: the result of :func:`hop_diameter`;
    - ``far_apart``: the ids of the ends of that path, if the graph has ids.
    """
    degrees = graph.degrees
    _, labels = graph.component_labels()
    sizes = np.bincount(labels)
    directed = graph.metadata.get("directed", True)
    in_degrees = {"in_degrees": counts(_in_degrees(graph))} if directed else {}
    limits = (WARP, BLOCK_OF_128)
    return {
        **graph.metadata,
        "median_weight": _median(graph.weights),
        "degrees": counts(degrees),
        **in_degrees,
        "share_above": {str(limit): _share(degrees > limit) for limit in limits},
        "arc_share_above": {
            str(limit): int(degrees[degrees > limit].sum()) / max(graph.n_arcs, 1) for limit in limits
        },
        "largest_component": int(sizes.max(initial=0)),
        "isolated": int((sizes == 1).sum()),
        "hop_diameter": (bounds := hop_diameter(graph, labels)),
        **({} if graph.ids is None else {"far_apart": graph.ids.take(pa.array(bounds["ends"])).to_pylist()}),
    }


def _median(weights: npt.NDArray[Any]) -> float:
    """Return the median; 0 without weights. NumPy's would overflow if the two in the middle are large."""
    if not len(weights):
        return 0.0
    middle = [(len(weights) - 1) // 2, len(weights) // 2]
    low, high = map(float, np.partition(weights, middle)[middle])
    return low + (high - low) / 2


def _in_degrees(graph: Graph) -> Ints:
    return np.bincount(graph.targets, minlength=graph.n_vertices)


def _share(marked: Marks) -> float:
    return float(marked.mean()) if len(marked) else 0.0


def hop_diameter(graph: Graph, labels: Hops) -> dict[str, Any]:
    """Bound the diameter of the largest weakly connected component, in arcs of either direction.

    The double sweep: a breadth-first search from the vertex of largest degree finds a farthest vertex; a
    second search from there finds a long shortest path, whose length is a lower bound. Twice the eccentricity
    of any vertex is an upper bound; a third search, from the middle of that path, makes it tight.

    The diameter is at least ``low`` and at most ``high``, both 0 for a graph without vertices. ``ends`` are
    two vertices ``low`` arcs apart, empty for such a graph. `labels` have the component of every vertex.

    References
    ----------
    C. Magnien, M. Latapy and M. Habib, "Fast Computation of Empirically Tight Bounds for the Diameter of
    Massive Graphs", ACM JEA 13, 2009.
    """
    if not graph.n_vertices:
        return {"low": 0, "high": 0, "ends": []}
    largest = labels == np.bincount(labels).argmax()
    offsets, targets = either_way(graph)
    hub = int(np.where(largest, np.diff(offsets), -1).argmax())
    from_hub, end = _sweep(offsets, targets, hub)
    hops, other_end = _sweep(offsets, targets, end)
    low = int(hops[other_end])
    middle = _half_way_back(offsets, targets, other_end, hops)
    eccentricity = min(int(from_hub.max()), int(_sweep(offsets, targets, middle)[0].max()))
    return {"low": low, "high": 2 * eccentricity, "ends": [end, other_end]}


def _sweep(offsets: Ints, targets: Ids, start: int) -> tuple[Hops, int]:
    """Return the distance to each vertex in arcs, -1 if it is not reached, and a vertex reached last."""
    level, _, queue, size = search(offsets, targets, start)
    return level.view(np.int32), int(queue[size - 1])


def hops_in(offsets: Ints, targets: Ids, start: int) -> Hops:
    """Return the distance to each vertex in arcs, -1 if it is not reached; shape (n_vertices,), int32."""
    return _sweep(offsets, targets, start)[0]


def either_way(graph: Graph) -> tuple[Ints, Ids]:
    """Return offsets and targets with every arc in both directions."""
    if not graph.metadata.get("directed", True):
        return graph.offsets, graph.targets
    offsets = offsets_of(graph.degrees + _in_degrees(graph))
    block = max(graph.n_vertices // REVERSING_PASSES + 1, 1 << 16)
    return offsets, _both_targets(graph.offsets, graph.targets, offsets, block)


@njit(cache=True)
def _both_targets(offsets: Ints, targets: Ids, both_offsets: Ints, block: int) -> Ids:
    """Put each arc into the rows of both ends; the rows of heads in passes over `block` rows."""
    both = np.empty(2 * len(targets), dtype=np.uint32)
    cursors = both_offsets[:-1].copy()
    for tail in range(len(cursors)):
        for i in range(offsets[tail], offsets[tail + 1]):
            both[cursors[tail]] = targets[i]
            cursors[tail] += 1
    for first in range(0, len(cursors), block):
        for tail in range(len(cursors)):
            for i in range(offsets[tail], offsets[tail + 1]):
                head = targets[i]
                if first <= head < first + block:
                    both[cursors[head]] = tail
                    cursors[head] += 1
    return both


@njit(cache=True)
def _half_way_back(offsets: Ints, targets: Ids, end: int, hops: Hops) -> int:
    """Return the middle vertex of a shortest path to `end`."""
    vertex = end
    for hop in range(hops[end] - 1, hops[end] // 2 - 1, -1):
        for i in range(offsets[vertex], offsets[vertex + 1]):
            if hops[targets[i]] == hop:
                vertex = int(targets[i])
                break
    return vertex


def describe_batch(batch: Batch) -> dict[str, Any]:
    """Return the metadata of `batch`, as read from its folder, and statistics that take longer to compute.

    - ``size_counts``, ``degree_counts`` and ``in_degree_counts``: the frequency of each size of a graph and
      of each out- and in-degree;
    - ``arcs_per_vertex``;
    - ``largest_graph``: the name of the graph with the most vertices;
    - ``share_with_loops`` and ``share_irreducible``: the share of graphs with a cycle, and of graphs with a
      cycle that can be entered at more than one vertex.
    """
    heads = np.repeat(batch.first_vertex[:-1], np.diff(batch.first_arc)) + batch.targets
    loops, irreducible = loop_kinds(batch)
    return {
        **batch.metadata,
        "size_counts": counts(batch.sizes),
        "degree_counts": counts(batch.degrees),
        "in_degree_counts": counts(np.bincount(heads, minlength=batch.n_vertices)),
        "arcs_per_vertex": batch.n_arcs / max(batch.n_vertices, 1),
        "largest_graph": str(batch.names[batch.sizes.argmax()]) if len(batch) else "",
        "share_with_loops": _share(loops),
        "share_irreducible": _share(irreducible),
    }


def loop_kinds(batch: Batch) -> tuple[Marks, Marks]:
    """Mark the graphs with a cycle, and those with a cycle that none of its vertices dominates.

    Ids are in reverse post-order, so an arc to an id that is not larger closes a cycle.

    References
    ----------
    M. Hecht and J. Ullman, "Flow Graph Reducibility", SIAM Journal on Computing 1, 1972.
    """
    heads = np.repeat(batch.first_vertex[:-1], np.diff(batch.first_arc)) + batch.targets
    back = batch.tails[heads <= batch.tails]
    loops = np.zeros(len(batch), dtype=np.bool_)
    loops[np.searchsorted(batch.first_vertex, back, side="right") - 1] = True
    irreducible = loops.copy()
    irreducible[loops] = [not _is_reducible(batch[index]) for index in np.flatnonzero(loops).tolist()]
    return loops, irreducible


def _is_reducible(graph: FlowGraph) -> bool:
    """Return whether one vertex is left once each is merged into its only predecessor, loops aside."""
    after: list[set[int]] = [set() for _ in range(graph.n_vertices)]
    before: list[set[int]] = [set() for _ in range(graph.n_vertices)]
    for tail, head in zip(graph.tails.tolist(), graph.targets.tolist(), strict=True):
        if head not in (tail, graph.entry):
            after[tail].add(head)
            before[head].add(tail)
    waiting = [vertex for vertex in range(graph.n_vertices) if len(before[vertex]) == 1]
    left = graph.n_vertices
    while waiting:
        merged = waiting.pop()
        (above,) = before[merged]
        left -= 1
        after[above].discard(merged)
        for head in after[merged]:
            had_one = len(before[head]) == 1
            before[head].discard(merged)
            if head != above:
                before[head].add(above)
                after[above].add(head)
            if len(before[head]) == 1 and not had_one:
                waiting.append(head)
    return left == 1
