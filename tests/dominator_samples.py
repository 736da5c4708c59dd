"""Rooted graphs that are hard for dominator algorithms, and references by independent methods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from relaxometer.device import Device
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.dominators import NO_DOMINATOR
from relaxometer.problems.variants import load_solver

NONE = int(NO_DOMINATOR)


def graph_of(name: str, n: int, arcs: list[tuple[int, int]]) -> Graph:
    """A graph with these arcs, self-loops included, all of weight 1."""
    tails, heads = zip(*arcs, strict=True) if arcs else ((), ())
    return Graph.from_arcs(name, n, tails, heads, np.ones(len(arcs), dtype=int), keep_self_loops=True)


def both_ways(edges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Both arcs of each edge."""
    return edges + [(head, tail) for tail, head in edges]


def labelled(arcs: str, ids: str) -> list[tuple[int, int]]:
    """Arcs between vertices that are called by letters."""
    return [(ids.index(tail), ids.index(head)) for tail, head in arcs.split()]


SMALL = {
    "of-the-paper": (5, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]),
    "one-vertex": (1, []),
    "loop-on-the-root": (3, [(0, 0), (0, 1), (1, 1), (1, 0)]),
    # The nearest dominator has the smallest number of all but the root.
    "against-the-numbers": (5, [(0, 4), (4, 3), (3, 2), (2, 1)]),
    # The last vertex is dominated by all 32.
    "chain-of-32": (32, [(v, v + 1) for v in range(31)]),
    # Vertices 4 to 6 are unreached, and have arcs to reached vertices.
    "islands": (7, [(0, 1), (1, 2), (1, 3), (2, 3), (4, 2), (5, 6), (6, 5), (6, 3)]),
    # A loop with two entries around another loop.
    "irreducible": (8, labelled("AB AC BD CE DE ED DF FG GF EG GH", "ABCDEFGH")),
    # The example of their paper.
    "of-lengauer-and-tarjan": (
        13,
        labelled("RA RB RC AD BA BD BE CF CG DL EH FI GI GJ HE HK IK JI KI KR LH", "RABCDEFGHIJKL"),
    ),
}


def two_ended_chain() -> Graph:
    """A street with the root at both ends: a local fixed point moves by one vertex per round."""
    n = 120
    return graph_of("two-ended-chain", n, both_ways([(v, (v + 1) % n) for v in range(n)]))


def ladder() -> Graph:
    """Two rails with rungs: every vertex is far from the root, its only strict dominator."""
    length = 400
    rails = [(side + 2 * i, side + 2 * i + 2) for i in range(length) for side in (1, 2)]
    rungs = [(1 + 2 * i, 2 + 2 * i) for i in range(length + 1)]
    return graph_of("ladder", 2 * length + 3, [(0, 1), (0, 2), *rails, *both_ways(rungs)])


def deep_tree() -> Graph:
    """A long chain with arcs back from its end to many places: chains of dominators stay long."""
    n = 600
    chain = [(v, v + 1) for v in range(n - 1)]
    return graph_of("deep-tree", n, [*chain, *((n - 1 - v, v) for v in range(0, n // 2, 7))])


def hub() -> Graph:
    """A vertex with more arcs than a warp has lanes, and one with more than a block has threads."""
    n = 5003
    arcs = [(0, v) for v in range(1, 100)] + [(7, v) for v in range(100, n)]
    return graph_of("hub", n, [*arcs, *((v, v - 1) for v in range(150, n, 3))])


def grid() -> Graph:
    """Streets with dead ends."""
    ids = np.arange(17 * 19).reshape(17, 19)
    across = [(int(a), int(b)) for a, b in zip(ids[::2, :-1].ravel(), ids[::2, 1:].ravel(), strict=True)]
    down = [(int(a), int(b)) for a, b in zip(ids[:-1, ::3].ravel(), ids[1:, ::3].ravel(), strict=True)]
    return graph_of("grid", ids.size, both_ways(across + down))


@cache
def rooted_graphs() -> dict[str, Graph]:
    """Return all samples by name; any vertex can be the root."""
    graphs = [graph_of(name, *graph) for name, graph in SMALL.items()]
    graphs += [two_ended_chain(), ladder(), deep_tree(), hub(), grid()]
    return {graph.name: graph for graph in graphs}


def random_graph(rng: np.random.Generator, n: int, arcs: int) -> Graph:
    """A random directed graph with self-loops."""
    ends = rng.integers(0, n, (arcs, 2))
    return graph_of("random", n, [(int(tail), int(head)) for tail, head in ends])


@dataclass(frozen=True)
class Part:
    """A small rooted graph and its immediate dominators by definition."""

    n: int
    arcs: list[tuple[int, int]]
    root: int
    idom: np.ndarray

    @classmethod
    def of(cls, n: int, arcs: list[tuple[int, int]], root: int) -> Part:
        """Find the dominators."""
        return cls(n, arcs, root, reference_by_removal(graph_of("part", n, arcs), root))


@cache
def random_parts(count: int = 3000, seed: int = 5) -> list[Part]:
    """Random rooted graphs of up to 14 vertices in any order, with loops and unreached vertices."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(count):
        n = int(rng.integers(1, 15))
        ends = rng.integers(0, n, (int(rng.integers(0, 3 * n)), 2)).tolist()
        parts.append(Part.of(n, [(tail, head) for tail, head in ends], int(rng.integers(0, n))))
    return parts


def united(
    parts: list[Part], most: int | None = None, seed: int = 6
) -> Iterator[tuple[Graph, int, np.ndarray]]:
    """Unite parts below a common root, so that one search solves many; vertices are in random order.

    Yields graphs of at most `most` vertices, their roots and their immediate dominators.
    """
    rng = np.random.default_rng(seed)
    waiting, size = [], 1
    for part in parts:
        if most is not None and size + part.n > most:
            yield _union(waiting, size, rng)
            waiting, size = [], 1
        waiting.append(part)
        size += part.n
    yield _union(waiting, size, rng)


def _union(parts: list[Part], size: int, rng: np.random.Generator) -> tuple[Graph, int, np.ndarray]:
    place = rng.permutation(size)
    root, first, arcs = int(place[0]), 1, []
    idom = np.full(size, NONE, dtype=np.uint32)
    idom[root] = root
    for part in parts:
        own = place[first : first + part.n]
        arcs.append((root, int(own[part.root])))
        arcs.extend((int(own[tail]), int(own[head])) for tail, head in part.arcs)
        reached = part.idom != NONE
        idom[own[reached]] = own[part.idom[reached]]
        idom[own[part.root]] = root
        first += part.n
    return graph_of("union", size, arcs), root, idom


@cache
def random_batch(count: int = 2000, seed: int = 4) -> Batch:
    """Random flow graphs of up to 40 vertices, some at the limits of warps and blocks, and larger ones."""
    rng = np.random.default_rng(seed)
    sizes = [*rng.integers(1, 41, count), 31, 32, 33, 63, 64, 65, 127, 128, 129, 300, 900]
    graphs = []
    for number, n in enumerate(sizes):
        tree = [(int(rng.integers(max(0, v - 5), v)), v) for v in range(1, n)]
        others = rng.integers(0, n, (int(rng.integers(0, n + 1)), 2))
        arcs = np.array(tree + [(int(a), int(b)) for a, b in others], dtype=int).reshape(-1, 2)
        graphs.append((f"graph-{number}", int(n), arcs[:, 0], arcs[:, 1], 0))
    return Batch.from_graphs("random", graphs)


@cache
def all_graphs_of_four() -> Batch:
    """Every directed graph on four vertices without loops, rooted at 0, without unreached vertices."""
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    graphs = []
    for subset in range(2 ** len(pairs)):
        arcs = [pair for bit, pair in enumerate(pairs) if subset >> bit & 1]
        graphs.append((f"{subset:03x}", 4, [a for a, _ in arcs], [b for _, b in arcs], 0))
    return Batch.from_graphs("four", graphs)


@lru_cache(maxsize=256)
def reference_by_removal(graph: Graph, root: int) -> np.ndarray:
    """Immediate dominators by definition: d dominates v if removing d makes v unreachable.

    The array is shared and cannot be written.
    """
    neighbours = [
        graph.targets[graph.offsets[v] : graph.offsets[v + 1]].tolist() for v in range(graph.n_vertices)
    ]

    def reached_without(removed: int) -> set[int]:
        seen = {root} - {removed}
        waiting = list(seen)
        while waiting:
            for head in neighbours[waiting.pop()]:
                if head not in seen and head != removed:
                    seen.add(head)
                    waiting.append(head)
        return seen

    reached = reached_without(-1)
    strict: dict[int, set[int]] = {v: set() for v in reached}
    for d in reached:
        for v in reached - reached_without(d) - {d}:
            strict[v].add(d)
    idom = np.full(graph.n_vertices, NONE, dtype=np.uint32)
    for v, above in strict.items():
        idom[v] = root if v == root else max(above, key=lambda d: len(strict[d]))
    idom.flags.writeable = False
    return idom


@cache
def reference_of_batch(batch: Batch) -> np.ndarray:
    """Immediate dominators of all graphs of a batch by definition, as ids within each graph."""
    found = [
        reference_by_removal(
            Graph(graph.name, graph.offsets, graph.targets, np.ones(graph.n_arcs, dtype=np.uint32)),
            graph.entry,
        )
        for graph in batch
    ]
    return np.concatenate(found)


@lru_cache(maxsize=256)
def semi_nca(device: Device, graph: Graph, root: int) -> np.ndarray:
    """Immediate dominators by SEMI-NCA: the second reference."""
    module = load_solver("dominators", "semi-nca")
    solver = module.Solver(ResidentGraph.upload(device, graph), module.Parameters())
    return np.asarray(solver.solve(root).idom)
