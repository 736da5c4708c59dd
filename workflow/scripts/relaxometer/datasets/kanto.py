"""A synthetic stand-in for the road and railway map of Kanto, and its sub-map of main roads.

The map it stands in for is described in J. Suzuki et al., "Accelerating SSSP Algorithm on GPU with Adaptive
Thread Creation", section 4. Its data is not open. ``docs/kanto-like.md`` gives the recipe and its figures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from relaxometer.errors import UserError
from relaxometer.graph import Graph

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Edges = tuple[Ints, Ints]
"""Two arrays of one shape: the ends of undirected edges."""

N_VERTICES = 1_427_876
N_ARCS = 4_584_822
"""Size of the source's map (its table 1)."""

LIGHTEST, HEAVIEST = 10, 970_000
"""Range of the weights: the source's figure 3 runs from 10 to 1,000,000; the mean fits at 970,000."""

MAIN_ROAD_SPACING = 9
"""Every ninth row and column is a main road: with the valleys, 21.9 % of the vertices (the source: 21.7 %)."""

LINKS_PER_VERTEX = 0.075
SHORTEST_LINK, LONGEST_LINK = 3, 300
"""Railways and expressways, in cells. With fewer, the core takes too many phases; see the docs."""

VALLEY_SHARE = 0.009
"""The least share of vertices in valley and coast roads; the lattice's side is rounded down from it."""

SHORTEST_VALLEY, LONGEST_VALLEY = 4, 130
"""In hops. The longest ones make the long thin end of a search, 130 phases of it."""

WEST, EAST, SOUTH, NORTH = 139.05, 140.75, 35.30, 36.75
"""Degrees; the box of the lattice. Valleys reach 0.2 degrees farther."""

JITTER = 350
"""How far a vertex is drawn off its place, in thousandths of a cell; below half, no two change places."""


def kanto_like(seed: int = 1, n: int = N_VERTICES, arcs: int = N_ARCS) -> Graph:
    """Generate a map of the size, the weights and the search dynamics of the source's (section 4).

    A square lattice of streets, thinned at random, in which every ninth row and column is an unbroken main
    road; links (railways, expressways) of log-uniform length between vertices of main roads; and valley
    and coast roads, chains that continue the main roads beyond the western, eastern and southern rim.
    Weights are log-uniform and depend on nothing else.

    Parameters
    ----------
    seed : int, default=1
        The same seed gives the same arcs and weights on every machine.
    n, arcs : int
        Vertices and directed arcs, met exactly; every edge is two arcs of one weight.

    Returns
    -------
    Graph
        Connected. ``metadata["lattice"]`` says which vertices are main roads; see :func:`main_roads`.

    Raises
    ------
    UserError
        If so many arcs do not fit so many vertices.
    """
    words = _Words(np.random.PCG64(seed))
    blocks = (int((n * (1 - VALLEY_SHARE)) ** 0.5) - 1) // MAIN_ROAD_SPACING
    if blocks < 1:
        raise UserError(
            f"kanto-like: n is {n}; a block of streets and its valleys need at least 120 vertices"
        )
    lattice = _Lattice(blocks * MAIN_ROAD_SPACING + 1, MAIN_ROAD_SPACING)
    valleys, hops = _valleys(lattice, n - lattice.size, words)
    links = _links(lattice, round(LINKS_PER_VERTEX * n), words)
    streets = _streets(lattice, arcs // 2 - len(valleys[0]) - len(links[0]), words)
    one, other = (np.concatenate(ends) for ends in zip(streets, links, valleys, strict=True))
    weights = words.log_uniform(len(one), LIGHTEST, HEAVIEST)
    lon, lat = _coordinates(lattice, valleys, hops, words)
    return Graph.from_arcs(
        "kanto-like",
        n,
        np.concatenate([one, other]),
        np.concatenate([other, one]),
        np.concatenate([weights, weights]),
        lon=lon,
        lat=lat,
        metadata={
            "generator": "kanto_like",
            "seed": seed,
            "lattice": {"side": lattice.side, "main_road_spacing": lattice.spacing},
        },
    )


def main_roads(graph: Graph) -> Graph:
    """Extract the main roads of a kanto-like graph, as the source did for its small map (section 6).

    They are the rows and columns of the lattice whose number is a multiple of the spacing, the links, which
    join only these, and the valley and coast roads, which continue them. Vertices are not contracted.

    Parameters
    ----------
    graph : Graph
        From :func:`kanto_like`; ``metadata["lattice"]`` gives side and spacing. Vertex ``row * side + column``
        is on the lattice; those from ``side ** 2`` on are in valleys.

    Returns
    -------
    Graph
        The subgraph on their vertices, renumbered in the old order.

    Raises
    ------
    UserError
        If the graph does not say which lattice it is built on.
    """
    if "lattice" not in graph.metadata:
        raise UserError(f"graph {graph.name}: not made by kanto_like, so its main roads are not known")
    about = graph.metadata["lattice"]
    marked = np.ones(graph.n_vertices, dtype=bool)
    lattice = _Lattice(about["side"], about["main_road_spacing"])
    marked[: lattice.size] = lattice.on_main_row | lattice.on_main_column
    # Without the key, nobody extracts by the old numbers from the renumbered graph.
    metadata = {key: value for key, value in graph.metadata.items() if key != "lattice"}
    return replace(graph.induced(marked, "kanto-like-main"), metadata=metadata)


@dataclass(frozen=True)
class _Lattice:
    """A square lattice of streets, numbered row by row from the south-western corner.

    Parameters
    ----------
    side : int
        Vertices per row; one more than a multiple of `spacing`, so that main roads run along all four rims.
    spacing : int
        Cells from one main road to the next.
    """

    side: int
    spacing: int

    @property
    def size(self) -> int:
        """Number of vertices."""
        return self.side**2

    @property
    def places(self) -> tuple[Ints, Ints]:
        """Row and column of every vertex, each of shape (size,), int64."""
        row, column = np.divmod(np.arange(self.size, dtype=np.int64), self.side)
        return row, column

    @property
    def on_main_row(self) -> Flags:
        """Whether a vertex is on a main road from west to east, shape (size,)."""
        return self.places[0] % self.spacing == 0

    @property
    def on_main_column(self) -> Flags:
        """Whether a vertex is on a main road from south to north, shape (size,)."""
        return self.places[1] % self.spacing == 0


class _Words:
    """Random integers out of a bit generator's words.

    NumPy promises that the words stay the same from release to release, which it does not for the methods
    of ``Generator``; and with integers alone, no machine rounds differently.
    """

    def __init__(self, bits: np.random.PCG64) -> None:
        self._bits = bits

    def below(self, bound: int, count: int) -> Ints:
        """Draw `count` integers from 0 to ``bound - 1``; `bound` must be far below 2**64."""
        return (self._bits.random_raw(count) % np.uint64(bound)).astype(np.int64)

    def log_uniform(self, count: int, least: int, most: int) -> Ints:
        """Draw `count` integers from `least` to `most` with probabilities in proportion to their inverse."""
        # In units of 2**-40, the inverses are integers and their sum stays far below 2**63.
        shares = (1 << 40) // np.arange(least, most + 1, dtype=np.int64)
        bounds = np.cumsum(shares)
        return least + np.searchsorted(bounds, self.below(int(bounds[-1]), count), side="right")

    def subset(self, items: Ints, count: int) -> Ints:
        """Draw `count` of the items without repetition."""
        return items[np.argsort(self._bits.random_raw(len(items)), kind="stable")[:count]]


def _valleys(lattice: _Lattice, n_vertices: int, words: _Words) -> tuple[Edges, Ints]:
    """Hang chains on the western, eastern and southern ends of the main roads.

    Returns
    -------
    edges : (ndarray, ndarray), each of shape (n_vertices,)
        The vertex before, and the vertex itself; these are numbered from ``lattice.size`` on, chain by chain.
    hops : ndarray of shape (n_vertices,), int64
        How many hops a vertex is away from the lattice.
    """
    ends = np.arange(0, lattice.side, lattice.spacing, dtype=np.int64)
    roots = np.concatenate([ends * lattice.side, (ends + 1) * lattice.side - 1, ends])
    total = np.cumsum(words.log_uniform(len(roots), SHORTEST_VALLEY, LONGEST_VALLEY))
    # Stretched by a common factor, the chains have exactly as many vertices as are left for them.
    stops = total * n_vertices // total[-1]
    lengths = np.diff(stops, prepend=0)
    starts = stops - lengths
    vertices = lattice.size + np.arange(n_vertices, dtype=np.int64)
    before = vertices - 1
    some = lengths > 0
    before[starts[some]] = roots[some]
    hops = np.arange(1, n_vertices + 1) - np.repeat(starts, lengths)
    return (before, vertices), hops


def _links(lattice: _Lattice, count: int, words: _Words) -> Edges:
    """Draw links between main roads, at most `count`: those that fall together or on a street are dropped.

    Of its two offsets, along rows and along columns, a link has one of log-uniform length and the other
    uniform up to that length. Its far end is moved to the next main road in the direction of its near end's.
    """
    row, column = lattice.places
    on_row = lattice.on_main_row
    stations = np.flatnonzero(on_row | lattice.on_main_column)
    near = stations[words.below(len(stations), count)]
    long = words.log_uniform(count, SHORTEST_LINK, min(LONGEST_LINK, lattice.side - 1))
    short = words.below(1 << 31, count) % (2 * long + 1) - long
    long = np.where(words.below(2, count) == 1, long, -long)
    upright = words.below(2, count) == 1
    to_row = _reflected(row[near] + np.where(upright, long, short), lattice.side - 1)
    to_column = _reflected(column[near] + np.where(upright, short, long), lattice.side - 1)
    to_row = np.where(on_row[near], _rounded(to_row, lattice.spacing), to_row)
    to_column = np.where(on_row[near], to_column, _rounded(to_column, lattice.spacing))
    far = to_row * lattice.side + to_column
    low, high = np.minimum(near, far), np.maximum(near, far)
    apart = (high - low > 1) & (high - low != lattice.side)
    # One number for each pair of ends, so that a pair drawn twice counts once.
    pairs = np.unique(low[apart] * lattice.size + high[apart])
    return pairs // lattice.size, pairs % lattice.size


def _reflected(place: Ints, last: int) -> Ints:
    """Bring places beyond the rim back as if the rim were a mirror."""
    return last - np.abs(last - np.abs(place))


def _rounded(place: Ints, spacing: int) -> Ints:
    """Round to the nearest multiple of `spacing`."""
    return (place + spacing // 2) // spacing * spacing


def _streets(lattice: _Lattice, count: int, words: _Words) -> Edges:
    """Keep `count` edges of the lattice so that it stays connected.

    All edges of main roads stay. Every other vertex keeps its edge to the west or to the south: following
    these, one comes to a main road. The rest is drawn from the edges that are left.
    """
    vertex = np.arange(lattice.size, dtype=np.int64)
    row, column = lattice.places
    on_row, on_column = lattice.on_main_row, lattice.on_main_column
    minor = ~on_row & ~on_column
    southward = words.below(2, lattice.size) == 1
    has_west, has_south = column > 0, row > 0
    one = np.concatenate([vertex[has_west], vertex[has_south]])
    other = np.concatenate([vertex[has_west] - 1, vertex[has_south] - lattice.side])
    needed = np.concatenate(
        [(on_row | (minor & ~southward))[has_west], (on_column | (minor & southward))[has_south]]
    )
    free = np.flatnonzero(~needed)
    more = count - int(needed.sum())
    if not 0 <= more <= len(free):
        least = 2 * (len(needed) - len(free) - count)
        raise UserError(
            f"kanto-like: {abs(least) if more < 0 else 2 * (more - len(free))} arcs too "
            f"{'few' if more < 0 else 'many'} for a lattice of {lattice.size} vertices; ask for about 3.2 arcs "
            "per vertex"
        )
    needed[words.subset(free, more)] = True
    return one[needed], other[needed]


def _coordinates(
    lattice: _Lattice, valleys: Edges, hops: Ints, words: _Words
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Place the vertices for plots: the lattice in its box, valleys outward from it, all a little off."""
    row, column = lattice.places
    before, vertices = valleys
    first = hops == 1
    # Every vertex of a chain has the root of the chain's first.
    root = before[first][np.cumsum(first) - 1]
    root_row, root_column = row[root], column[root]
    is_south = (root_row == 0) & (np.cumsum(first) > 2 * (lattice.side // lattice.spacing + 1))
    outward = np.where(root_column == 0, -hops, hops)
    x = np.concatenate([column, np.where(is_south, root_column, root_column + outward)])
    y = np.concatenate([row, np.where(is_south, -hops, root_row)])
    n = lattice.size + len(vertices)
    x_off, y_off = (words.below(2 * JITTER + 1, n) - JITTER for _ in range(2))
    lon = WEST + (x + x_off / 1000) * ((EAST - WEST) / (lattice.side - 1))
    lat = SOUTH + (y + y_off / 1000) * ((NORTH - SOUTH) / (lattice.side - 1))
    return lon, lat
