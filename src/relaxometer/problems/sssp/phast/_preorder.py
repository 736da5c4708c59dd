"""Contraction hierarchies in preorder of the elimination tree, for sweeps that go depth first.

The upper neighbours of a vertex are its ancestors in the tree, so a sweep needs the labels of one path from
the root at any time (see ``phast_many.cu``). Arcs name their tails by depth.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.graphs.graph import UNREACHED
from relaxometer.problems.sssp.phast._cch import Weighted, jumps
from relaxometer.problems.sssp.phast._fill import subtree_sizes
from relaxometer.problems.variants import Skipped

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
# Compiled functions take these as arguments: numba's cache does not see a changed value.
STORED = 3  # arcs stored with a vertex: the one from its parent and two further ones
RECORD_ARCS = 4  # arcs of a further record of a vertex
PADDING = 80  # records that may be loaded beyond the last one: five chunks of ``phast_many.cu``
WARP = 32
MAX_SEGMENTS = 64  # segments of equal work; a power of two
MAX_HEIGHT = 1 << 16  # depths that 16 bits can number


@dataclass(frozen=True)
class Preorder:
    """A hierarchy whose vertices are numbered in preorder of the elimination tree.

    Arrays are of uint32 if nothing else is said. Records are the struct ``Record`` of ``phast_many.cu``: each
    vertex and its further arcs, then once more those of the ancestors of the segments, and `PADDING` zeros,
    which are only loaded ahead. Segments have about equal work; some may be empty.
    """

    order: Words  # the graph's vertex at each position
    records: Words  # shape (n_records + PADDING, 8)
    first_record: Ints  # the record of each position, and their number; int64
    segments: Words  # the first position of each of `MAX_SEGMENTS` segments, and the number of vertices
    segment_records: Words  # the first record of each segment
    path_records: Words  # that of the ancestors of its first position, from the root
    path_lengths: Words  # the number of these ancestors
    depth: Words  # number of ancestors of each position
    jumps: Words  # the ancestor 1, 2, 4, ... steps above each position, or the root; shape (n_jumps, n)
    up_offsets: Words  # of the upward arcs from each position
    up_arcs: Words  # depth of the head, and weight; shape (n_arcs, 2)

    @property
    def height(self) -> int:
        """Vertices of the longest path from a root."""
        return int(self.depth.max()) + 1

    @property
    def work(self) -> tuple[int, int]:
        """Records of the whole sweep, and of the mean path that precedes a segment."""
        whole = int(self.first_record[-1])
        return whole, (len(self.records) - PADDING - whole) // MAX_SEGMENTS


def in_preorder(cch: Weighted) -> Preorder:
    """Renumber the vertices of a hierarchy in preorder; Skipped if the elimination tree is too high."""
    position, size, depth = _number(cch.parent)
    if depth.max() >= MAX_HEIGHT:
        raise Skipped(f"made for maps; the elimination tree has height {depth.max() + 1}, over {MAX_HEIGHT}")
    rank = np.empty_like(position)
    rank[position] = np.arange(len(position))
    degrees = np.diff(cch.offsets)[rank]
    n_groups = -(-np.maximum(degrees - STORED, 0) // RECORD_ARCS)
    first_record = np.concatenate([[0], np.cumsum(1 + n_groups)])
    arcs = cch.offsets, cch.up, depth
    records = _fill(rank, arcs, cch.downward, first_record, STORED, RECORD_ARCS, WARP)
    heads = records[first_record[:-1]]
    heads[:, 0] = cch.order[rank]
    heads[:, 1] = size[rank]
    heads[:, 2] = depth[rank] | n_groups << 16
    records[first_record[:-1]] = heads
    parent = np.where(cch.parent >= 0, position[cch.parent], position)[rank]
    wanted = np.arange(1, MAX_SEGMENTS) * int(first_record[-1]) // MAX_SEGMENTS
    segments = np.concatenate([[0], np.searchsorted(first_record[1:], wanted), [len(rank)]])
    paths = [_path(parent, first) for first in segments[:-1]]
    above, begins = _copied(records, first_record, paths)
    return Preorder(
        order=cch.order[rank].astype(np.uint32),
        records=np.concatenate([records, above, np.zeros((PADDING, 8), np.uint32)]),
        first_record=first_record,
        segments=segments.astype(np.uint32),
        segment_records=first_record[segments[:-1]].astype(np.uint32),
        path_records=begins.astype(np.uint32),
        path_lengths=np.array([*map(len, paths)], dtype=np.uint32),
        depth=depth[rank].astype(np.uint32),
        jumps=jumps(parent, int(depth.max())),
        up_offsets=np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint32),
        up_arcs=_upward(rank, *arcs, cch.upward),
    )


def _copied(records: Words, first_record: Ints, paths: list[list[int]]) -> tuple[Words, Ints]:
    """Return the records of paths, by position, and where those of each begin after the others."""
    on_paths = np.array([position for path in paths for position in path], dtype=np.int64)
    begins, counts = first_record[on_paths], np.diff(first_record)[on_paths]
    places = np.concatenate([[0], np.cumsum(counts)])
    copied = records[np.repeat(begins - places[:-1], counts) + np.arange(places[-1])]
    copied[places[:-1], 0] = on_paths
    lengths = np.cumsum([0, *map(len, paths[:-1])])
    return copied, first_record[-1] + places[lengths]


def _path(parent: Ints, position: int) -> list[int]:
    """Return the ancestors of a position from the root."""
    path = []
    while parent[position] != position:
        position = parent[position]
        path.append(position)
    return path[::-1]


@njit(cache=True)
def _number(parent: Any) -> Any:
    """Return each rank's place in preorder, size of subtree and depth; parents are higher."""
    n = len(parent)
    size = subtree_sizes(parent, np.ones(n, np.int64))
    position, depth, free = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    free_of_roots = 0
    for r in range(n - 1, -1, -1):
        p = parent[r]
        if p < 0:
            position[r] = free_of_roots
            free_of_roots += size[r]
        else:
            position[r] = free[p]
            free[p] += size[r]
            depth[r] = depth[p] + 1
        free[r] = position[r] + 1
    return position, size, depth


@njit(cache=True)
def _fill(rank: Any, arcs: Any, downward: Any, first_record: Any, stored: int, group: int, warp: int) -> Any:
    """Return the records of all positions: the arcs stored with the vertex, and its further arcs."""
    offsets, up, depth = arcs
    records = np.zeros((first_record[-1], 2 * group), dtype=np.uint32)
    records[:, 1::2] = UNREACHED
    for p in range(len(rank)):
        begin, record = offsets[rank[p]], first_record[p]
        for i in range(begin, offsets[rank[p] + 1]):
            k = i - begin
            if k == 0:  # the parent, whose depth is known
                records[record, 3] = downward[i]
            elif k < stored:
                records[record, 2 + 2 * k] = warp * depth[up[i]]
                records[record, 3 + 2 * k] = downward[i]
            else:
                further, place = record + 1 + (k - stored) // group, (k - stored) % group
                records[further, 2 * place] = warp * depth[up[i]]
                records[further, 2 * place + 1] = downward[i]
    return records


@njit(cache=True)
def _upward(rank: Any, offsets: Any, up: Any, depth: Any, weights: Any) -> Any:
    """Return depth of the head and weight of the upward arcs from each position."""
    arcs = np.empty((len(up), 2), dtype=np.uint32)
    size = 0
    for p in range(len(rank)):
        for i in range(offsets[rank[p]], offsets[rank[p] + 1]):
            arcs[size, 0] = depth[up[i]]
            arcs[size, 1] = weights[i]
            size += 1
    return arcs
