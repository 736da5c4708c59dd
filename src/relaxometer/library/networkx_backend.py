"""The kernels as a backend of networkx, for functions that answer what networkx would.

Answers have networkx's types and, where it is part of the answer, its order. What a function cannot do the
same way, it refuses: ``can_run`` by the arguments, and NotImplementedError where weights have to be looked
at, which costs nothing when a converted graph is used again. Either way networkx uses its own function.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from functools import cache, cached_property
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.graphs import breadth_first
from relaxometer.graphs.graph import NO_PREDECESSOR, offsets_of
from relaxometer.graphs.lengths import ON_CYCLE
from relaxometer.library._forests import with_source
from relaxometer.library.answers import Answer
from relaxometer.library.graph import Graph as LibraryGraph
from relaxometer.library.prepared import Prepared, place, prepare

Node = Hashable
Distances = dict[Node, Any]
Paths = dict[Node, list[Node]]
Weight = str | None
Cutoff = float | None
Ids = npt.NDArray[np.integer[Any]]

WHOLE, ROUNDED = {int, bool, np.int64}, {float, np.float64}
"""Types of weights that are taken; np.float64 and np.int64 become Python's numbers."""

EXACT = 2.0**52
"""Sums of integers below this are exact in float64, and so is the test whether they are."""

ONE_SOURCE = {"cpu": {"bfs": "queue-cpu"}}
MANY_SOURCES = {"cpu": ONE_SOURCE["cpu"], "cuda": {"sssp": "many-sources", "bfs": "multi-source"}}
"""Variants by device and problem, where they are not the library's default."""

SMALL = {False: 1000, True: 100}
"""Graphs with fewer nodes are left to networkx, by whether a function searches from every node."""

FROM_EVERY_NODE = ("all_pairs", "eccentricity", "diameter", "radius", "closeness", "harmonic")
"""How the names of functions begin that search from every node."""

BATCH, BATCH_NUMBERS = 256, 1 << 25
"""Searches of one call, and the numbers that all of them may answer."""


class Weights(NamedTuple):
    """The weights of all arcs: uint32, int32 for negative ones, or float64."""

    values: npt.NDArray[Any]
    are_whole: bool

    @classmethod
    def of(cls, values: list[Any], n_vertices: int) -> Weights:
        """Choose the type that is exact for every path that visits no vertex twice."""
        kinds = set(map(type, values))
        if unknown := kinds - WHOLE - ROUNDED:
            raise NotImplementedError(f"weights of type {min(kind.__name__ for kind in unknown)}")
        are_whole = kinds <= WHOLE
        try:
            array = np.array(values, np.int64 if are_whole else np.float64)
        except OverflowError:
            raise NotImplementedError("integer weights beyond 64 bits") from None
        sizes = np.abs(array.astype(np.float64))
        longest = min(float(sizes.sum()), float(sizes.max(initial=0)) * n_vertices)
        is_signed = bool((array < 0).any())
        if not longest < (math.inf if not kinds & WHOLE else EXACT):
            raise NotImplementedError("infinite weights, or lengths that 64 bits do not hold exactly")
        if is_signed and not (are_whole and longest < 2**31 - 1):
            raise NotImplementedError("negative weights that are not integers, or lengths beyond 31 bits")
        if are_whole and longest < 2**32 - 1:
            array = array.astype(np.int32 if is_signed else np.uint32)
        return cls(array.astype(np.float64) if array.dtype == np.int64 else array, are_whole)

    @property
    def are_signed(self) -> bool:
        """Whether some are negative."""
        return self.values.dtype == np.int32


class Graph:
    """A graph of networkx as arrays; an undirected edge is two arcs, of parallel edges the lightest counts.

    `edge_attrs` are the attributes that hold weights, with their defaults.
    """

    __networkx_backend__ = "relaxometer"

    def __init__(self, graph: Any, edge_attrs: dict[str, Any]) -> None:
        rows = list(graph._adj.values())
        n = len(rows)
        self._kind = graph.is_directed(), graph.is_multigraph()
        self.names = np.fromiter(graph._adj, object, n)
        self._numbers = dict(zip(graph._adj, range(n), strict=True))
        self.offsets = offsets_of(np.fromiter(map(len, rows), np.int64, n))
        heads = map(self._numbers.__getitem__, chain.from_iterable(rows))
        self.targets = np.fromiter(heads, np.uint32, self.offsets[-1])
        self.weights = {
            name: Weights.of(_attributes(rows, name, default, graph.is_multigraph()), n)
            for name, default in edge_attrs.items()
        }
        self._prepared: dict[Any, Prepared] = {}

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._numbers)

    def __contains__(self, node: object) -> bool:
        return isinstance(node, Hashable) and node in self._numbers

    def is_directed(self) -> bool:
        """Return whether edges have a direction, as networkx asks."""
        return self._kind[0]

    def is_multigraph(self) -> bool:
        """Return whether there may have been parallel edges, as networkx asks."""
        return self._kind[1]

    def vertex(self, node: Node, message: str = "Node {} not found in graph") -> int:
        """Return the number of a node; NodeNotFound if there is none."""
        if node not in self:
            raise nx.NodeNotFound(message.format(node))
        return self._numbers[node]

    def weights_of(self, weight: str | None) -> Weights:
        """Return the weights by the name of the attribute, 1 without a name."""
        if weight is None:
            return Weights(np.ones(len(self.targets), np.uint32), True)
        if weight not in self.weights:
            raise NotImplementedError(f"the graph was converted without the edge attribute {weight!r}")
        return self.weights[weight]

    def named(self, vertices: Ids | list[int]) -> list[Node]:
        """Return the nodes of some vertices."""
        return self.names[vertices].tolist()

    def prepared(
        self, problem: str, weight: str | None = None, *, many: bool = False, backwards: bool = False
    ) -> Prepared:
        """Return the solver of a problem, prepared once."""
        key = problem, weight, many, backwards
        if key not in self._prepared:
            rows = _rows(self.offsets, self.targets, self.weights_of(weight).values, backwards)
            self._prepared[key] = _prepare(rows, problem, len(self) if many else 1)
        return self._prepared[key]

    def tree(self, nodes: Collection[Node], weight: str | None, cutoff: float | None = None) -> Tree:
        """Search from the nearest of some nodes."""
        if self.weights_of(weight).are_signed:
            raise NotImplementedError("negative weights")
        return self.tree_of([self.vertex(node) for node in nodes], weight, cutoff)

    def tree_of(self, sources: list[int], weight: str | None, cutoff: float | None = None) -> Tree:
        """Search from the nearest of some vertices, along weights that may be negative."""
        weights = self.weights_of(weight)
        if len(sources) > 1 and weights.are_signed:
            arcs = with_source(self.offsets, self.targets, weights.values, sources)
            answer = _prepare(_rows(*arcs), "sssp").search(len(self))
        else:
            solver = self.prepared("sssp", weight)
            answer = solver.search(sources[0]) if len(sources) == 1 else solver.nearest(sources)
        return Tree(self, sources, answer, weights.are_whole, cutoff)

    def searches(
        self, problem: str, weight: str | None, sources: Sequence[int], *, backwards: bool = False
    ) -> Iterator[Answer]:
        """Return the answers of searches from each source, found as they are asked for."""
        if self.weights_of(weight).are_signed:
            raise NotImplementedError("negative weights")
        if not sources:  # of an empty graph
            return iter(())
        solver = self.prepared(problem, weight, many=len(sources) > 1, backwards=backwards)
        step = max(1, min(BATCH, BATCH_NUMBERS // max(1, len(self))))
        parts = (sources[first : first + step] for first in range(0, len(sources), step))
        return chain.from_iterable(solver.search(list(part)) for part in parts)


def _attributes(rows: list[Any], name: str, default: Any, is_multigraph: bool) -> list[Any]:
    data = chain.from_iterable(row.values() for row in rows)
    if not is_multigraph:
        return [edge.get(name, default) for edge in data]
    try:
        return [min(edge.get(name, default) for edge in edges.values()) for edges in data]
    except TypeError:
        raise NotImplementedError("weights that do not compare") from None


def _rows(offsets: Ids, targets: Ids, loads: npt.NDArray[Any], backwards: bool = False) -> Any:
    """Return arcs, or their reverse, as a SciPy matrix with sorted rows."""
    import scipy.sparse as sp

    n = len(offsets) - 1
    rows = sp.csr_array((loads, targets, offsets), shape=(n, n), copy=True)  # sorted in place
    if backwards:
        return rows.T.tocsr()
    rows.sort_indices()
    return rows


_device = cache(lambda: place("auto"))


def _prepare(rows: Any, problem: str, searches: int = 1) -> Prepared:
    variants = (ONE_SOURCE if searches == 1 else MANY_SOURCES).get(_device(), {})
    graph = LibraryGraph.from_csr(rows.indptr, rows.indices, rows.data)
    variant = None if graph.lengths.is_signed else variants.get(problem)
    return prepare(graph, problem, searches=searches, variant=variant, device=_device())


def convert_from_nx(graph: Any, *, edge_attrs: dict[str, Any] | None = None, **_others: Any) -> Graph:
    """Return a networkx graph as arrays, with the edge attributes that are asked for."""
    return Graph(graph, edge_attrs or {})


def convert_to_nx(result: Any, **_others: Any) -> Any:
    """Return a converted graph as one of networkx, with weights as its only attributes; else the argument."""
    if not isinstance(result, Graph):
        return result
    made = nx.DiGraph() if result.is_directed() else nx.Graph()
    made.add_nodes_from(result)
    tails = np.repeat(np.arange(len(result)), np.diff(result.offsets))
    ends = list(zip(result.named(tails), result.named(result.targets), strict=True))
    made.add_edges_from(ends)
    for name, weights in result.weights.items():
        numbers = _numbers(weights.values, weights.are_whole)
        nx.set_edge_attributes(made, dict(zip(ends, numbers, strict=True)), name)
    return made


REFUSED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "weight": (callable, "weights are a function"),
    "distance": (callable, "weights are a function"),
    "sort_neighbors": (lambda given: given is not None, "neighbors are sorted"),
    "sp": (lambda given: given is not None, "distances are given"),
    "e": (lambda given: given is not None, "eccentricities are given"),
    "usebounds": (bool, "networkx bounds the answer by few searches"),
}
"""Arguments that the functions here do not take: when, and why."""


@cache
def _parameters(name: str) -> tuple[str, ...]:
    return tuple(inspect.signature(globals()[name]).parameters)


def can_run(name: str, args: Any, kwargs: dict[str, Any]) -> bool | str:
    """Return whether a function takes these arguments, or why not."""
    given = dict(zip(_parameters(name), args, strict=False)) | kwargs
    for argument, value in given.items():
        if argument in REFUSED and REFUSED[argument][0](value):
            return REFUSED[argument][1]
    if given.get("reverse") and given["G"].is_directed():
        return "the order of predecessors is not kept"
    return True


def should_run(name: str, args: Any, kwargs: dict[str, Any]) -> bool | str:
    """Return whether conversion pays, or why not."""
    graph = args[0] if args else kwargs["G"]
    if "relaxometer" in (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}):
        return True
    least = SMALL[name.startswith(FROM_EVERY_NODE)]
    return len(graph) >= least or f"networkx is faster with fewer than {least} nodes"


class Tree:
    """Shortest paths from the nearest of some sources; vertices farther than `cutoff` count as not reached.

    Arrays have the shape (n_vertices,), or are longer. Lengths `are_whole` if they are integers.
    """

    def __init__(
        self, graph: Graph, sources: list[int], answer: Answer, are_whole: bool, cutoff: Cutoff
    ) -> None:
        self._graph, self._sources, self._are_whole = graph, sources, are_whole
        self._distance, self._predecessor = answer.distance[: len(graph)], answer.predecessor[: len(graph)]
        self._is_near = self._predecessor != NO_PREDECESSOR
        if cutoff is not None:
            self._is_near &= self._distance <= cutoff
        self._is_near[sources] = False

    @cached_property
    def _order(self) -> Ids:
        """The vertices reached, without the sources, the nearest first."""
        near = np.flatnonzero(self._is_near)
        return near[np.argsort(self._distance[near], kind="stable")]

    def lengths(self) -> dict[Node, Any]:
        """Return the distance of each node, nearest first; those of sources are the integer 0."""
        found: dict[Node, Any] = dict.fromkeys(self._graph.named(self._sources), 0)
        numbers = _numbers(self._distance[self._order], self._are_whole)
        found.update(zip(self._graph.named(self._order), numbers, strict=True))
        return found

    def paths(self) -> dict[Node, list[Node]]:
        """Return the path to each node."""
        found = {node: [node] for node in self._graph.named(self._sources)}
        parents = self._graph.named(self._predecessor[self._order])
        parent = dict(zip(self._graph.named(self._order), parents, strict=True))
        for node in parent:
            waiting = []  # along arcs of weight 0, a predecessor may come later
            while node not in found:
                waiting.append(node)
                node = parent[node]
            for one in reversed(waiting):
                found[one] = [*found[parent[one]], one]
        return found

    def to(self, target: Node, otherwise: str) -> tuple[Any, list[Node]]:
        """Return the length of the path to a node, and the path; NetworkXNoPath with a message if none."""
        vertex = self._graph.vertex(target) if target in self._graph else -1
        if vertex in self._sources:
            return 0, [target]
        if vertex < 0 or not self._is_near[vertex]:
            raise nx.NetworkXNoPath(otherwise)
        path = [vertex]
        while self._is_near[path[-1]]:
            path.append(int(self._predecessor[path[-1]]))
        return _numbers(self._distance[[vertex]], self._are_whole)[0], self._graph.named(path[::-1])

    @cached_property
    def cycle(self) -> list[Node] | None:
        """A negative cycle, if that is the answer: its first node, the source if on it, is also the last."""
        if self._distance.dtype != np.int32 or not (is_on_cycle := self._distance == ON_CYCLE).any():
            return None
        source = self._sources[0]
        path = [source if is_on_cycle[source] else int(np.argmax(is_on_cycle))]
        while len(path) == 1 or path[-1] != path[0]:
            path.append(int(self._predecessor[path[-1]]))
        return self._graph.named(path[::-1])


def _numbers(lengths: npt.NDArray[Any], are_whole: bool) -> list[Any]:
    """Return lengths as Python's numbers of networkx's type."""
    return (lengths.astype(np.int64) if are_whole else lengths).tolist()


def _trees(G: Graph, cutoff: float | None, weight: str | None) -> Iterator[tuple[Node, Tree]]:
    are_whole = G.weights_of(weight).are_whole
    answers = G.searches("sssp", weight, range(len(G)))
    return (
        (node, Tree(G, [source], answer, are_whole, cutoff))
        for source, (node, answer) in enumerate(zip(G, answers, strict=True))
    )


def single_source_dijkstra(
    G: Graph, source: Node, target: Any = None, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Any:
    return multi_source_dijkstra(G, {source}, target, cutoff, weight)


def single_source_dijkstra_path(
    G: Graph, source: Node, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Paths:
    return G.tree([source], weight, cutoff).paths()


def single_source_dijkstra_path_length(
    G: Graph, source: Node, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Distances:
    return G.tree([source], weight, cutoff).lengths()


def multi_source_dijkstra(
    G: Graph, sources: Collection[Node], target: Any = None, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Any:
    tree = _nearest(G, sources, weight, cutoff)
    if target is None:
        return tree.lengths(), tree.paths()
    return tree.to(target, f"No path to {target}.")


def multi_source_dijkstra_path(
    G: Graph, sources: Collection[Node], cutoff: Cutoff = None, weight: Weight = "weight"
) -> Paths:
    return _nearest(G, sources, weight, cutoff).paths()


def multi_source_dijkstra_path_length(
    G: Graph, sources: Collection[Node], cutoff: Cutoff = None, weight: Weight = "weight"
) -> Distances:
    return _nearest(G, sources, weight, cutoff).lengths()


def _nearest(G: Graph, sources: Collection[Node], weight: Weight, cutoff: Cutoff) -> Tree:
    if not sources:
        raise ValueError("sources must not be empty")
    return G.tree(sources, weight, cutoff)


def dijkstra_path(G: Graph, source: Node, target: Node, weight: Weight = "weight") -> list[Node]:
    return G.tree([source], weight).to(target, f"No path to {target}.")[1]


def dijkstra_path_length(G: Graph, source: Node, target: Node, weight: Weight = "weight") -> Any:
    tree = G.tree([source], weight)
    return tree.to(target, f"Node {target} not reachable from {source}")[0]


def all_pairs_dijkstra(
    G: Graph, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Iterator[tuple[Node, Any]]:
    return ((node, (tree.lengths(), tree.paths())) for node, tree in _trees(G, cutoff, weight))


def all_pairs_dijkstra_path(
    G: Graph, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Iterator[tuple[Node, Paths]]:
    return ((node, tree.paths()) for node, tree in _trees(G, cutoff, weight))


def all_pairs_dijkstra_path_length(
    G: Graph, cutoff: Cutoff = None, weight: Weight = "weight"
) -> Iterator[tuple[Node, Distances]]:
    return ((node, tree.lengths()) for node, tree in _trees(G, cutoff, weight))


def single_source_bellman_ford(G: Graph, source: Node, target: Any = None, weight: Weight = "weight") -> Any:
    tree = _signed(G, source, weight)
    if target is None:
        return tree.lengths(), tree.paths()
    return tree.to(target, f"Node {target} not reachable from {source}")


def single_source_bellman_ford_path(G: Graph, source: Node, weight: Weight = "weight") -> Paths:
    return _signed(G, source, weight).paths()


def single_source_bellman_ford_path_length(G: Graph, source: Node, weight: Weight = "weight") -> Distances:
    return _signed(G, source, weight).lengths()


def bellman_ford_path(G: Graph, source: Node, target: Node, weight: Weight = "weight") -> list[Node]:
    return single_source_bellman_ford(G, source, target, weight)[1]


def bellman_ford_path_length(G: Graph, source: Node, target: Node, weight: Weight = "weight") -> Any:
    return single_source_bellman_ford(G, source, target, weight)[0]


def all_pairs_bellman_ford_path_length(
    G: Graph, weight: Weight = "weight"
) -> Iterator[tuple[Node, Distances]]:
    if not G.weights_of(weight).are_signed:
        return all_pairs_dijkstra_path_length(G, weight=weight)
    return ((node, _signed(G, node, weight).lengths()) for node in G)


def _signed(G: Graph, source: Node, weight: Weight) -> Tree:
    tree = G.tree_of([G.vertex(source, "Source {} not in G")], weight)
    if tree.cycle is not None:
        raise nx.NetworkXUnbounded("Negative cycle detected.")
    return tree


def negative_edge_cycle(G: Graph, weight: Weight = "weight", heuristic: bool = True) -> bool:
    weights = G.weights_of(weight)
    if not weights.are_signed or not G.is_directed():
        return weights.are_signed  # there and back along a negative edge is a cycle
    return G.tree_of(list(range(len(G))), weight).cycle is not None


def find_negative_cycle(G: Graph, source: Node, weight: Weight = "weight") -> list[Node]:
    cycle = G.tree_of([G.vertex(source, "Source {} not in G")], weight).cycle
    if cycle is None:
        raise nx.NetworkXError("No negative cycles detected.")
    return cycle


def single_source_shortest_path_length(G: Graph, source: Node, cutoff: Cutoff = None) -> Distances:
    order, level, _ = _breadth_first(G, G.vertex(source, "Source {} is not in G"), cutoff)
    return dict(zip(G.named(order), level[order].tolist(), strict=True))


def all_pairs_shortest_path_length(G: Graph, cutoff: Cutoff = None) -> Iterator[tuple[Node, Distances]]:
    return ((node, single_source_shortest_path_length(G, node, cutoff)) for node in G)


def _breadth_first(G: Graph, source: int, limit: Cutoff) -> tuple[Ids, Ids, Ids]:
    """Return the vertices reached, in the order of networkx, and level and predecessor of each vertex."""
    level, predecessor, queue, size = breadth_first.search(G.offsets, G.targets, source)
    order = queue[:size]
    return order if limit is None else order[level[order] <= max(limit, 0)], level, predecessor


def bfs_edges(
    G: Graph, source: Node, reverse: bool = False, depth_limit: Cutoff = None, sort_neighbors: None = None
) -> Iterator[tuple[Node, Node]]:
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    order, _, predecessor = _breadth_first(G, G.vertex(source), depth_limit)
    return zip(G.named(predecessor[order[1:]]), G.named(order[1:]), strict=True)


def bfs_predecessors(
    G: Graph, source: Node, depth_limit: Cutoff = None, sort_neighbors: None = None
) -> Iterator[tuple[Node, Node]]:
    return ((child, parent) for parent, child in bfs_edges(G, source, depth_limit=depth_limit))


def bfs_successors(
    G: Graph, source: Node, depth_limit: Cutoff = None, sort_neighbors: None = None
) -> Iterator[tuple[Node, list[Node]]]:
    edges = groupby(bfs_edges(G, source, depth_limit=depth_limit), itemgetter(0))
    return iter([(parent, [child for _, child in pairs]) for parent, pairs in edges] or [(source, [])])


def bfs_tree(
    G: Graph, source: Node, reverse: bool = False, depth_limit: Cutoff = None, sort_neighbors: None = None
) -> nx.DiGraph:
    tree = nx.DiGraph()
    tree.add_node(source)
    tree.add_edges_from(bfs_edges(G, source, depth_limit=depth_limit))
    return tree


def bfs_layers(G: Graph, sources: Any) -> Iterator[list[Node]]:
    first = list({sources} if sources in G else set(sources))
    for node in first:
        if node not in G:
            raise nx.NetworkXError(f"The node {node} is not in the graph.")
    offsets, targets, _ = with_source(G.offsets, G.targets, G.targets, [G.vertex(node) for node in first])
    level, _, queue, size = breadth_first.search(offsets, targets, len(G))
    order = queue[1:size]
    ends = np.flatnonzero(np.diff(level[order])) + 1
    return (G.named(layer) for layer in np.split(order, ends) if len(layer))


def immediate_dominators(G: Graph, start: Node) -> dict[Node, Node]:
    idom, reached = _dominators(G, start)
    others = reached[idom[reached] != reached]
    return dict(zip(G.named(others), G.named(idom[others]), strict=True))


def _dominators(G: Graph, start: Node) -> tuple[Ids, Ids]:
    """Return the immediate dominators, and which vertices have one; the start is its own."""
    if start not in G:
        raise nx.NetworkXError("start is not in G")
    idom = G.prepared("dominators").search(G.vertex(start)).idom
    return idom, np.flatnonzero(idom != NO_PREDECESSOR)


def dominance_frontiers(G: Graph, start: Node) -> dict[Node, set[Node]]:
    idom, reached = _dominators(G, start)
    into = _rows(G.offsets, G.targets, np.ones(len(G.targets), np.bool_), backwards=True)
    arguments = into.indptr, into.indices, idom, G.vertex(start)
    sizes = np.zeros(len(G), np.int64)
    _find_frontiers(*arguments, sizes, np.empty(0, np.int64))
    offsets = offsets_of(sizes)
    members = np.empty(offsets[-1], np.int64)
    _find_frontiers(*arguments, offsets[:-1].copy(), members)
    nodes, bounds = G.named(members), offsets.tolist()
    return {
        node: set(nodes[bounds[vertex] : bounds[vertex + 1]])
        for node, vertex in zip(G.named(reached), reached.tolist(), strict=True)
    }


@njit(cache=True)
def _find_frontiers(
    offsets: Ids, tails: Ids, idom: Ids, start: int, cursors: Ids, members: npt.NDArray[np.int64]
) -> None:
    """Add each vertex to the frontiers that have it, at their cursors; only count them without space."""
    marks = np.full(len(idom), -1)
    for u in range(len(idom)):
        if idom[u] == NO_PREDECESSOR:
            continue
        for arc in range(offsets[u], offsets[u + 1]):
            v = np.int64(tails[arc])
            is_inside = idom[v] != NO_PREDECESSOR
            while is_inside and marks[v] != u and (u == start or v != idom[u]):
                marks[v] = u
                if len(members):
                    members[cursors[v]] = u
                cursors[v] += 1
                is_inside = v != start
                v = np.int64(idom[v])


def eccentricity(G: Graph, v: Any = None, sp: None = None, weight: str | None = None) -> Any:
    try:
        nodes = list(G) if v is None else [v] if v in G else [node for node in v if node in G]
    except TypeError:
        raise nx.NetworkXError(f"Node {v} is not in the graph.") from None
    found = {}
    problem = "bfs" if weight is None else "sssp"
    for node, answer in zip(nodes, G.searches(problem, weight, list(map(G.vertex, nodes))), strict=True):
        if not answer.reached.all():
            reason = "digraph is not strongly" if G.is_directed() else "graph is not"
            raise nx.NetworkXError(f"Found infinite path length because the {reason} connected")
        found[node] = _numbers(_first(answer).max(keepdims=True), G.weights_of(weight).are_whole)[0] or 0
    return found[v] if v in G else found


def _first(answer: Answer) -> npt.NDArray[Any]:
    column: npt.NDArray[Any] = next(iter(answer.columns.values()))
    return column


def diameter(G: Graph, e: None = None, usebounds: bool = False, weight: str | None = None) -> Any:
    return max(eccentricity(G, weight=weight).values())


def radius(G: Graph, e: None = None, usebounds: bool = False, weight: str | None = None) -> Any:
    return min(eccentricity(G, weight=weight).values())


def closeness_centrality(
    G: Graph, u: Any = None, distance: str | None = None, wf_improved: bool = True
) -> Any:
    nodes = list(G) if u is None else [u]
    problem = "bfs" if distance is None else "sssp"
    answers = G.searches(problem, distance, list(map(G.vertex, nodes)), backwards=G.is_directed())
    found = {}
    for node, answer in zip(nodes, answers, strict=True):
        near = np.sort(_first(answer)[answer.reached])  # networkx adds in this order
        total, others = sum(near.tolist()), len(near) - 1.0
        share = others / (len(G) - 1) if wf_improved and len(G) > 1 else 1.0
        found[node] = others / total * share if total > 0 else 0.0
    return found if u is None else found[u]


def harmonic_centrality(
    G: Graph, nbunch: Any = None, distance: str | None = None, sources: Any = None
) -> dict[Node, float]:
    ends, starts = list(_bunch(G, nbunch)), list(map(G.vertex, _bunch(G, sources)))
    problem = "bfs" if distance is None else "sssp"
    answers = G.searches(problem, distance, list(map(G.vertex, ends)), backwards=G.is_directed())
    found = {}
    for node, answer in zip(ends, answers, strict=True):
        near = _first(answer)[starts][answer.reached[starts]]
        found[node] = sum((1 / near[near > 0]).tolist())
    return found


def _bunch(G: Graph, given: Any) -> set[Node]:
    """Return the nodes that an argument of networkx names: one, several or, if it is None, all."""
    try:
        return set(G) if given is None else {given} if given in G else {node for node in given if node in G}
    except TypeError:
        raise nx.NetworkXError("nbunch is not a node or a sequence of nodes.") from None


def on_start_tests(items: list[Any]) -> None:
    """Deselect tests of networkx that expect more than its documentation says."""
    import pytest

    for item in items:
        if reason := UNTESTED.get(item.name):
            item.add_marker(pytest.mark.skip(reason=reason))


UNTESTED = {"test_find_negative_cycle_longer_cycle": "the cycle may begin at another node"}
"""Tests of networkx that are skipped, and why."""
