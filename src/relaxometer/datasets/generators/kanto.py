"""A synthetic map with the size, weights and search dynamics of the paper's Kanto graph.

The roads and railways that Suzuki et al. joined are not open data. Their figures depend less on the map than
on how a phase-synchronous search moves over it: the number of phases, the vertices updated per phase, and the
length of the thin ends. The generator imitates these; docs/kanto-like.md lists what it does not imitate.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from relaxometer.datasets.parameters import NoParameters
from relaxometer.datasets.registry import Dataset
from relaxometer.datasets.weights import log_uniform
from relaxometer.graphs.graph import Graph

ROWS, COLUMNS = 1180, 1174
"""The plain: a grid of junctions, 97% of all vertices."""

TAIL_HOPS = 115
"""Junctions along a road into a valley or to a cape. Such roads leave the plain at its edge."""

N_VERTICES = 1_427_876
N_EDGES = 4_584_822 // 2
"""Size of the paper's map (table 1)."""

ROW_SPACING, COLUMN_SPACING = 8, 9
"""Every eighth row and ninth column are main roads: 309 k junctions, as in the paper's small map."""

N_LINKS = 100_000
LINK_SPAN = (3, 800)
"""Expressways and railways: links between main roads, with log-uniform spans in cells."""

WEIGHT_RANGE = (10, 970_000)
"""Range of the log-uniform weights, with the paper's mean and deviation; its axis runs to 1,000,000."""

WEST, SOUTH = 138.95, 35.2
CELL_EAST, CELL_NORTH = 0.0014, 0.00115
"""Corner of the plain and size of a cell in degrees, about 128 m each way."""

Ids = npt.NDArray[np.int64]


def build_main_roads(name: str, dataset: Dataset[Any], base: Graph) -> Graph:
    """Keep the main roads of `base`; see :data:`relaxometer.datasets.build.Reader`.

    Like the paper's small map, this is the subgraph induced by the junctions on main roads, links included,
    renumbered in their old order.
    """
    return base.induced(on_main_road(np.arange(base.n_vertices)))


def kanto_like(parameters: NoParameters, seed: int) -> Graph:
    """Generate the map.

    Junctions form a grid. Main roads are complete; side roads are a random spanning tree and random further
    roads. Links between main roads, with log-uniform spans, imitate expressways and railways; without them a
    search takes ten times as many phases. Long thin roads leave the plain at its edge; while a search runs
    along them, a phase updates few vertices. Weights are log-uniform and independent of the geometry, because
    the paper finds little correlation between a path's hops and its length.

    The result has 1,427,876 vertices with coordinates in degrees, 4,581,000 arcs (both directions of each
    road) within 0.1%, weights 10 to 969,999, one component. A seed gives the same map on any machine.

    References
    ----------
    Suzuki, Kan, Hayashi and Yoshikawa, "Accelerating SSSP Algorithm on GPU with Adaptive Thread
    Creation", section 4: table 1, figures 3 to 5.
    """
    rng = np.random.default_rng(seed)
    rim = rng.permutation(_rim())
    tails = _tails(rim)
    links = _links(rng)
    plain = _plain(N_EDGES - len(tails) - len(links), rng)
    edges = np.concatenate([plain, links, tails])
    weights = log_uniform(rng, len(edges), *WEIGHT_RANGE)
    lon, lat = _coordinates(rim, rng)
    arcs, facts = (edges[:, 0], edges[:, 1], weights), {"generator": __name__}
    return Graph.from_arcs("kanto-like", N_VERTICES, *arcs, undirected=True, lon=lon, lat=lat, metadata=facts)


def on_main_road(ids: Ids) -> npt.NDArray[np.bool_]:
    """Return which junctions of a map made by :func:`kanto_like` lie on a main road."""
    row, column = np.divmod(ids, COLUMNS)
    return (ids < ROWS * COLUMNS) & ((row % ROW_SPACING == 0) | (column % COLUMN_SPACING == 0))


def _plain(n_edges: int, rng: np.random.Generator) -> Ids:
    """Return `n_edges` edges of the grid: main roads, a random spanning tree, and random further ones."""
    ids = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    across = np.stack([ids[:, :-1], ids[:, 1:]], axis=-1)
    down = np.stack([ids[:-1], ids[1:]], axis=-1)
    main = np.concatenate([across[::ROW_SPACING].reshape(-1, 2), down[:, ::COLUMN_SPACING].reshape(-1, 2)])
    keep_row = np.arange(ROWS) % ROW_SPACING != 0
    keep_column = np.arange(COLUMNS) % COLUMN_SPACING != 0
    side = np.concatenate([across[keep_row].reshape(-1, 2), down[:, keep_column].reshape(-1, 2)])
    edges = np.concatenate([main, rng.permutation(side)])
    rank = np.arange(1, len(edges) + 1)
    weighted = sp.csr_array((rank, (edges[:, 0], edges[:, 1])), shape=(ids.size, ids.size))
    chosen = np.zeros(len(edges), dtype=bool)
    chosen[: len(main)] = True
    chosen[sp.csgraph.minimum_spanning_tree(weighted).data.astype(np.int64) - 1] = True
    further = np.flatnonzero(~chosen)[: n_edges - int(chosen.sum())]
    chosen[further] = True
    return edges[chosen]


def _links(rng: np.random.Generator) -> Ids:
    """Return pairs of junctions on main roads."""
    mains = np.flatnonzero(on_main_road(np.arange(ROWS * COLUMNS)))
    start = rng.choice(mains, N_LINKS)
    span = log_uniform(rng, N_LINKS, *LINK_SPAN)
    across = rng.integers(-span, span + 1)
    down = (span - np.abs(across)) * rng.choice([-1, 1], N_LINKS)
    row, column = np.divmod(start, COLUMNS)
    row = _fold(row + down, ROWS) // ROW_SPACING * ROW_SPACING
    column = _fold(column + across, COLUMNS)
    return np.stack([start, row * COLUMNS + column], axis=1)


def _fold(position: Ids, size: int) -> Ids:
    """Reflect positions beyond an edge of the plain back into it."""
    position = np.abs(position)
    return np.where(position >= size, 2 * (size - 1) - position, position)


def _rim() -> Ids:
    """Return the edge of the plain, shape (n_rim, 3): junctions, and the outward step in rows and columns."""
    grid = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    sides = ((grid[0], -1, 0), (grid[-1], 1, 0), (grid[1:-1, 0], 0, -1), (grid[1:-1, -1], 0, 1))
    return np.concatenate([np.stack(np.broadcast_arrays(*side), axis=1) for side in sides])


def _tails(rim: Ids) -> Ids:
    """Return the edges of chains of `TAIL_HOPS` junctions, one chain per junction of `rim`."""
    ids = np.arange(ROWS * COLUMNS, N_VERTICES)
    chain, hop = np.divmod(ids - ids[0], TAIL_HOPS)
    before = np.where(hop == 0, rim[chain, 0], ids - 1)
    return np.stack([before, ids], axis=1)


def _coordinates(
    rim: Ids, rng: np.random.Generator
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return degrees east and north: the plain's junctions in their cells, chains winding outward."""
    row, column = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
    chain, hop = np.divmod(np.arange(N_VERTICES - ROWS * COLUMNS), TAIL_HOPS)
    bends = rng.integers(-1, 2, len(chain)).cumsum()
    aside = bends - bends[hop == 0][chain]
    start_row, start_column = np.divmod(rim[chain, 0], COLUMNS)
    out_row, out_column = rim[chain, 1], rim[chain, 2]
    rows = np.concatenate([row, start_row + out_row * (hop + 1) + out_column * aside])
    columns = np.concatenate([column, start_column + out_column * (hop + 1) + out_row * aside])
    jitter = rng.uniform(-0.35, 0.35, (2, N_VERTICES))
    return WEST + (columns + jitter[0]) * CELL_EAST, SOUTH + (rows + jitter[1]) * CELL_NORTH
