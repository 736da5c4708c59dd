"""Cuts a graph into tiles of equal size with few arcs between them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.device.signature import read_source
from relaxometer.graphs.graph import Graph
from relaxometer.problems.sssp.phast._separators import search

Ints = npt.NDArray[np.int64]
REMOTE = read_source(Path(__file__).with_name("_tile.cuh")).constants["REMOTE"]
"""Marks the head of an arc into another tile; the rest of the word is its mail slot."""


@dataclass(frozen=True)
class Tiling:
    """A graph cut into tiles, with consecutive vertices in each tile.

    Within a tile the border comes first: the heads of arcs from other tiles. Each has a mail slot; slots are
    numbered tile by tile in the order of their vertices.
    """

    order: npt.NDArray[np.uint32]  # the graph's number of each renumbered vertex
    place: npt.NDArray[np.uint32]  # the inverse
    begins: npt.NDArray[np.uint32]  # the first vertex of each tile, by its new number, and their number
    mail_begins: npt.NDArray[np.uint32]  # the first mail slot of each tile, and their number
    offsets: npt.NDArray[np.int64]
    targets: npt.NDArray[np.uint32]  # head's number in its tile; of another tile, `REMOTE` | mail slot
    weights: npt.NDArray[np.unsignedinteger[Any]]  # the bits of the weights

    @property
    def largest(self) -> int:
        """Vertices of the largest tile."""
        return int(np.diff(self.begins).max())


def cut(graph: Graph, n_tiles: int) -> Tiling:
    """Cut `graph` into `n_tiles` tiles, at most one per vertex, whose sizes differ by about one vertex."""
    n = graph.n_vertices
    tile, order = _bisect(graph, n_tiles)
    tails, heads = graph.tails, graph.targets.astype(np.int64)
    crosses = tile[tails] != tile[heads]
    inside = np.ones(n, dtype=bool)
    inside[heads[crosses]] = False
    order = order[np.lexsort((inside[order], tile[order]))]
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    begins = np.concatenate([[0], np.cumsum(np.bincount(tile, minlength=n_tiles))])
    slots = np.cumsum(~inside[order]) - 1
    mail_begins = np.concatenate([[0], np.cumsum(np.bincount(tile[~inside], minlength=n_tiles))])
    degrees = graph.degrees[order]
    offsets = np.concatenate([[0], np.cumsum(degrees)])
    arcs = np.repeat(graph.offsets[:-1][order] - offsets[:-1], degrees) + np.arange(graph.n_arcs)
    heads, crosses = place[heads[arcs]], crosses[arcs]
    within = heads - np.repeat(begins[:-1], np.diff(offsets[begins]))
    targets = np.where(crosses, slots[heads] | REMOTE, within)
    return Tiling(
        order.astype(np.uint32),
        place.astype(np.uint32),
        begins.astype(np.uint32),
        mail_begins.astype(np.uint32),
        offsets,
        targets.astype(np.uint32),
        graph.weights.view(graph.lengths.weight_word)[arcs],
    )


def _bisect(graph: Graph, n_tiles: int) -> tuple[Ints, Ints]:
    """Return the tile of each vertex, and the vertices in an order that keeps neighbours close.

    A piece is sorted from end to end and split. The ends are two far-apart vertices, found by two searches;
    the sorting key is the difference of a vertex's hop distances from them, which makes borders straight.
    Vertices that an end does not reach come last.
    """
    n = graph.n_vertices
    tile, order = np.zeros(n, dtype=np.int64), np.arange(n)
    near, far = np.full(n, -1), np.full(n, -1)
    # Begin and end in `order`, first tile, number of tiles.
    to_split = [(0, n, 0, n_tiles)]
    while to_split:
        begin, end, first, count = to_split.pop()
        if count == 1:
            continue
        members = order[begin:end]
        one = _search(graph, tile, members, int(members[0]), near)
        other = _search(graph, tile, members, one, far)
        _search(graph, tile, members, other, near)
        reached = (near[members] >= 0) & (far[members] >= 0)
        along = np.where(reached, near[members] - far[members], n)
        members = members[np.lexsort((near[members], along))]
        order[begin:end] = members
        left = count // 2
        middle = begin + (end - begin) * left // count
        tile[order[middle:end]] = first + left
        to_split += [(begin, middle, first, left), (middle, end, first + left, count - left)]
    return tile, order


def _search(graph: Graph, tile: Ints, members: Ints, start: int, level: Ints) -> int:
    """Search within the tile `members` of `start`; return the last vertex; `level` has hops, or -1."""
    level[members] = -1
    queue = np.empty(len(members), dtype=np.int64)
    size = search(graph.offsets, graph.targets, start, tile, level, queue)
    return int(queue[size - 1])
