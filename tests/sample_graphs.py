"""Small graphs that kernels tend to get wrong, and a few realistic ones."""

import heapq
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.lengths import unreached


def undirected(name: str, n: int, edges: np.ndarray, weights: np.ndarray) -> Graph:
    """Both arcs of each edge."""
    tails = np.concatenate([edges[:, 0], edges[:, 1]])
    heads = np.concatenate([edges[:, 1], edges[:, 0]])
    return Graph.from_arcs(name, n, tails, heads, np.concatenate([weights, weights]))


SMALL = {
    "one-vertex": (1, [], [], []),
    "self-loop-only": (2, [0, 1], [0, 1], [3, 0]),
    # Vertices 3 to 5 cannot be reached from 0 to 2.
    "two-islands": (6, [0, 1, 2, 3, 4], [1, 2, 0, 4, 5], [2, 3, 4, 5, 6]),
    # Vertex 0 has no incoming arcs; most rows are empty.
    "one-way": (300, [0, 0, 7], [7, 299, 130], [9, 1, 4]),
    # Heavier first and lighter first, and self-loops.
    "parallel-arcs": (3, [0, 0, 0, 1, 1, 2, 2], [1, 1, 0, 2, 2, 2, 0], [9, 4, 1, 3, 8, 0, 5]),
    # Path lengths just below the largest distance.
    "heavy": (4, [0, 1, 2, 0], [1, 2, 3, 3], [MAX_WEIGHT - 5, 2, 3, MAX_WEIGHT]),
}


def zero_weights() -> Graph:
    """A ring of zero-weight edges with a tail: predecessors must not form a cycle."""
    ring = np.array([[i, (i + 1) % 40] for i in range(40)])
    tail = np.array([[i, i + 1] for i in range(39, 60)])
    edges = np.concatenate([ring, tail])
    weights = np.concatenate([np.zeros(40, dtype=int), np.arange(len(tail)) % 3])
    return undirected("zero-weights", 61, edges, weights)


def detour() -> Graph:
    """Every vertex of a chain is found by a heavy arc first and improved in every later phase."""
    n = 65
    chain = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    hub = np.stack([np.zeros(n - 1, dtype=int), np.arange(1, n)], axis=1)
    arcs = np.concatenate([chain, hub])
    weights = np.concatenate([np.ones(n - 1, dtype=int), 1000 - np.arange(n - 1)])
    return Graph.from_arcs("detour", n, arcs[:, 0], arcs[:, 1], weights)


def detour_too_long() -> Graph:
    """A triangle whose heaviest edge, on no shortest path, is too long together with any other."""
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    return undirected("detour-too-long", 3, edges, np.array([5, 5, MAX_WEIGHT]))


def hub() -> Graph:
    """One vertex with an arc to and from every other; n is not a multiple of the block size."""
    n = 1027
    rng = np.random.default_rng(5)
    edges = np.stack([np.zeros(n - 1, dtype=int), np.arange(1, n)], axis=1)
    return undirected("hub", n, edges, rng.integers(1, 1000, n - 1))


def grid_edges(rows: int, columns: int, seed: int | None = None) -> np.ndarray:
    """The edges of a street grid, shape (n_edges, 2); the ids are shuffled by a seed if given."""
    ids = np.arange(rows * columns)
    if seed is not None:
        ids = np.random.default_rng(seed).permutation(ids)
    ids = ids.reshape(rows, columns)
    pairs = (ids[:, :-1], ids[:, 1:]), (ids[:-1], ids[1:])
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])


def grid() -> Graph:
    """A street grid of 23 x 31 with random lengths."""
    edges = grid_edges(23, 31)
    return undirected("grid", 23 * 31, edges, np.random.default_rng(6).integers(1, 100, len(edges)))


def random_directed() -> Graph:
    """A random directed graph with unreachable parts, zero weights, loops and parallel arcs."""
    rng = np.random.default_rng(7)
    n, m = 513, 1400
    ends = rng.integers(0, n, (m, 2))
    weights = rng.integers(0, 50, m)
    return Graph.from_arcs(
        "random-directed", n, ends[:, 0], ends[:, 1], weights, keep_self_loops=True, keep_parallel=True
    )


def hide_host_graph(resident) -> None:
    """Leave of a resident graph's host copy only the numbers of vertices and arcs, and the weights' type."""
    facts = SimpleNamespace(n_vertices=resident.n_vertices, n_arcs=resident.n_arcs, lengths=resident.lengths)
    object.__setattr__(resident, "host", facts)


@cache
def sample_graphs() -> dict[str, Graph]:
    """Return all sample graphs by name; callers share them."""
    kept = {"keep_self_loops": True, "keep_parallel": True}
    graphs = [Graph.from_arcs(name, *graph, **kept) for name, graph in SMALL.items()]
    graphs += [zero_weights(), detour(), hub(), grid(), random_directed()]
    return {graph.name: graph for graph in graphs}


@lru_cache(maxsize=256)
def reference_distances(graph: Graph, source: int) -> np.ndarray:
    """Least sums in the graph's type of distances, by a plain heap; what the type does not hold is unreached.

    Sums of floats are rounded one by one. The array is shared and cannot be written.
    """
    is_float = graph.lengths.is_float
    far = unreached(graph.lengths.distances)
    weights = list(graph.weights) if is_float else graph.weights.tolist()
    targets, offsets = graph.targets.tolist(), graph.offsets.tolist()
    distance = {source: graph.weights.dtype.type(0) if is_float else 0}
    heap, longest = [(distance[source], source)], far if is_float else int(far)
    with np.errstate(over="ignore"):
        while heap:
            length, v = heapq.heappop(heap)
            if length > distance[v]:
                continue
            for arc in range(offsets[v], offsets[v + 1]):
                head, through = targets[arc], length + weights[arc]
                if through < distance.get(head, longest):
                    distance[head] = through
                    heapq.heappush(heap, (through, head))
    found = np.full(graph.n_vertices, far)
    found[list(distance)] = list(distance.values())
    found.flags.writeable = False
    return found


def reference_phases(graph: Graph, source: int) -> list[int]:
    """Vertices updated in each phase of a phase-synchronous Bellman-Ford search from `source`."""
    distance = np.full(graph.n_vertices, 2**32 - 1, dtype=np.uint64)
    distance[source] = 0
    frontier = np.zeros(graph.n_vertices, dtype=bool)
    frontier[source] = True
    tails, heads, weights = graph.tails, graph.targets, graph.weights.astype(np.uint64)
    updated = []
    while frontier.any():
        active = frontier[tails]
        proposed = distance.copy()
        np.minimum.at(proposed, heads[active], distance[tails[active]] + weights[active])
        frontier = proposed < distance
        distance = proposed
        updated.append(int(frontier.sum()))
    return updated


class Floats(NamedTuple):
    """A type of floats: its name, NumPy's type, and the numbers at its edges."""

    name: str
    number: Any
    bits: int
    """Of the significand."""

    @property
    def one_lost(self) -> float:
        """The least power of two to which 1 cannot be added."""
        return 2.0**self.bits

    @property
    def tiny(self) -> float:
        """The smallest number."""
        return float(np.finfo(self.number).smallest_subnormal)

    @property
    def largest(self) -> float:
        """The largest number."""
        return float(np.finfo(self.number).max)

    def next_to(self, value, towards=np.inf) -> float:
        """The next number."""
        return float(np.nextafter(self.number(value), self.number(towards)))


FLOATS = {
    "float32": Floats("float32", np.float32, 24),
    "float64": Floats("float64", np.float64, 53),
}


@cache
def as_type(graph, weight_type):
    """The same graph with other weights of the same order: rounded tenths, or integers up to 2**32 - 2.

    Callers share it.
    """
    if weight_type == "uint32":
        return graph
    heaviest = max(1, int(graph.weights.max(initial=0)))
    factor = MAX_WEIGHT // heaviest if weight_type == "uint32/uint64" else 0.1
    return Graph.from_arcs(
        graph.name,
        graph.n_vertices,
        graph.tails,
        graph.targets,
        graph.weights.astype(np.int64) * factor,
        keep_self_loops=True,
        keep_parallel=True,
        weight_type=weight_type,
    )
