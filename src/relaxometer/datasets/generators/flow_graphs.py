"""Directed graphs with root 0: like control-flow graphs, or hard for dominator algorithms."""

import numpy as np
import numpy.typing as npt
import scipy.sparse.csgraph

from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.generated import (
    FlowRandomParameters,
    LadderParameters,
    ListedArcsParameters,
)
from relaxometer.datasets.random_bits import Purpose, below, bits, stream
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph

Vertices = npt.NDArray[np.int64]
Ends = tuple[Vertices, Vertices]

METADATA = {"generator": "relaxometer.datasets.generators.flow_graphs", "search_keys": [0]}
"""Metadata of all these graphs: searches start from the root."""

TRIED = 200
"""Vertices that are tried until one is reached without its only smaller predecessor."""

STEP = 4
"""Every vertex has an arc from one of this many vertices before it, so all are reached."""


def flow_random(parameters: FlowRandomParameters, seed: int) -> Graph:
    """Make a random flow graph."""
    p, n = parameters, parameters.vertices
    branches = _any(seed, Purpose.BRANCHES, n, p.branches)
    loops = _any(seed, Purpose.LOOPS, n, p.loops)
    gotos = _any(seed, Purpose.GOTOS, n, 2 * p.gotos)
    arcs = [
        _near(seed, Purpose.TREE, np.arange(1, n), STEP, back=True)[::-1],
        _near(seed, Purpose.BRANCHES, branches, p.reach),
        _near(seed, Purpose.LOOPS, loops, p.reach, back=True),
        (gotos[: len(gotos) // 2], gotos[len(gotos) // 2 :][: len(gotos) // 2]),
    ]
    tails = np.concatenate([tails for tails, _ in arcs])
    heads = np.minimum(np.concatenate([heads for _, heads in arcs]), n - 1)
    if p.without_order:
        tails, heads = _without_order(n, tails, heads, seed)
    return _graph("flow-random", n, tails, heads)


def _without_order(n: int, tails: Vertices, heads: Vertices, seed: int) -> Ends:
    """Leave out the arcs from the only smaller predecessor of a vertex that is reached without them."""
    forward = tails < heads
    # Parallel arcs are one.
    smaller = np.bincount(np.unique(tails[forward] * n + heads[forward]) % n, minlength=n)
    larger = np.bincount(heads[tails > heads], minlength=n)
    candidates = np.flatnonzero((smaller == 1) & (larger > 0))
    order = np.argsort(bits(stream(seed, Purpose.ORDER), 0, len(candidates)), kind="stable")
    for v in candidates[order][:TRIED].tolist():
        kept = ~(forward & (heads == v))
        if _all_reached(n, tails[kept], heads[kept]):
            return tails[kept], heads[kept]
    raise UserError("without_order: no arc found whose loss breaks the order and keeps all vertices reached")


def _all_reached(n: int, tails: Vertices, heads: Vertices) -> bool:
    """Return whether the root reaches all vertices."""
    matrix = scipy.sparse.csr_array((np.ones(len(tails), dtype=np.int8), (tails, heads)), shape=(n, n))
    found = scipy.sparse.csgraph.breadth_first_order(matrix, 0, return_predecessors=False)
    return len(found) == n


def build_ladder(name: str, dataset: Dataset[LadderParameters]) -> Graph:
    """Make a ladder or a ring; see :data:`relaxometer.datasets.build.Reader`."""
    p = dataset.parameters
    return _graph(name, 1 + 2 * p.rungs, *ladder_arcs(p.rungs, closed=p.closed))


def build_listed(name: str, dataset: Dataset[ListedArcsParameters]) -> Graph:
    """Make the graph of the listed arcs; see :data:`relaxometer.datasets.build.Reader`."""
    p = dataset.parameters
    return _graph(name, p.vertices, *np.array(p.arcs, dtype=np.int64).reshape(-1, 2).T)


def ladder_arcs(rungs: int, *, closed: bool) -> Ends:
    """Return the arcs of a ladder: odd vertices are one rail from the root up, even ones the other.

    Rails lead up and rungs both ways, so the root is every vertex's only dominator and far above it in a
    search tree. If `closed`, the rails lead both ways and one rung joins their far ends.
    """
    foot = np.array([1, 2], dtype=np.int64)
    rails = np.arange(1, 2 * rungs - 1, dtype=np.int64)
    tails, heads = np.concatenate([[0, 0], rails]), np.concatenate([foot, rails + 2])
    left = np.arange(1, 2 * rungs + 1, 2, dtype=np.int64)
    if closed:
        left = left[-1:]
        tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    return np.concatenate([tails, left, left + 1]), np.concatenate([heads, left + 1, left])


def _any(seed: int, purpose: Purpose, n: int, mean: float) -> Vertices:
    """Draw `mean` vertices per vertex."""
    count = int(n * mean)
    return below(bits(stream(seed, purpose), 0, count), np.uint64(n)).astype(np.int64)


def _near(seed: int, purpose: Purpose, tails: Vertices, reach: int, *, back: bool = False) -> Ends:
    """Draw a head for every tail, at most `reach` vertices after it, or before it if `back`."""
    # The first numbers of the stream drew the tails.
    drawn = bits(stream(seed, purpose), len(tails), 2 * len(tails))
    steps = 1 + below(drawn, np.uint64(reach)).astype(np.int64)
    return tails, np.maximum(tails - steps, 0) if back else tails + steps


def _graph(name: str, n_vertices: int, tails: Vertices, heads: Vertices) -> Graph:
    weights = np.ones(len(tails), dtype=np.uint32)
    return Graph.from_arcs(name, n_vertices, tails, heads, weights, metadata=METADATA)
