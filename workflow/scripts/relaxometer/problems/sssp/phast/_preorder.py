"""Contraction hierarchies in preorder of the elimination tree, for sweeps that go depth first.

The upper neighbours of a vertex are its ancestors in the tree, so a sweep needs the labels of one path from
the root at any time (see ``phast_many.cu``). Arcs name their tails by depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from relaxometer.graphs.graph import UNREACHED
from relaxometer.problems.sssp.phast._cch import Contraction
from relaxometer.problems.variants import Skipped

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]

# Compiled functions take these as arguments: numba's cache does not see a changed value.
STORED = 3
"""Arcs stored with a vertex: the one from its parent and two further ones."""

GROUP = 4
"""Arcs of a group."""

MAX_SEGMENTS = 64
"""Segments of equal work; a power of two."""

MAX_HEIGHT = 1 << 16
"""Depths that 16 bits can number."""


@dataclass(frozen=True)
class Preorder:
    """A hierarchy whose vertices are numbered in preorder of the elimination tree.

    Parameters
    ----------
    order : ndarray of shape (n_vertices,), uint32
        The graph's vertex at each position.
    vertices : ndarray of shape (n_vertices + 2, 8), uint32
        The struct ``Vertex`` of ``phast_many.cu``; the last two are never finished, only loaded ahead.
    groups : ndarray of shape (n_groups + 1, 8), uint32
        The struct ``Group``: the arcs that are not stored with their heads.
    first_group : ndarray of shape (n_vertices,), uint32
        The first group of each position, or the next one's if it has none.
    segments : ndarray of shape (MAX_SEGMENTS + 1,), uint32
        The first position of each of `MAX_SEGMENTS` segments of about equal work; some may be empty.
    path_begins : ndarray of shape (MAX_SEGMENTS + 1,), uint32
    paths : ndarray of shape (n_on_paths,), uint32
        The ancestors of the first position of each segment, from the root.
    depth : ndarray of shape (n_vertices,), uint32
        Number of ancestors of each position.
    jumps : ndarray of shape (n_jumps, n_vertices), uint32
        The ancestor 1, 2, 4, ... steps above each position, or the root.
    up_offsets : ndarray of shape (n_vertices + 1,), uint32
    up_arcs : ndarray of shape (n_arcs, 2), uint32
        Depth of the head, and weight, of the upward arcs from each position.
    """

    order: Words
    vertices: Words
    groups: Words
    first_group: Words
    segments: Words
    path_begins: Words
    paths: Words
    depth: Words
    jumps: Words
    up_offsets: Words
    up_arcs: Words

    @property
    def height(self) -> int:
        """Vertices of the longest path from a root."""
        return int(self.depth.max()) + 1

    @property
    def work(self) -> tuple[int, int]:
        """Vertices and groups of the whole sweep, and of the mean path that precedes a segment."""
        groups = np.diff(self.first_group, append=np.uint32(len(self.groups) - 1))
        paths = len(self.paths) + int(groups[self.paths].sum())
        return len(self.order) + len(self.groups) - 1, paths // MAX_SEGMENTS


def in_preorder(cch: Contraction) -> Preorder:
    """Renumber the vertices of a hierarchy in preorder; Skipped if the elimination tree is too high."""
    position, size, depth = _number(cch.parent)
    if depth.max() >= MAX_HEIGHT:
        raise Skipped(f"made for maps; the elimination tree has height {depth.max() + 1}, over {MAX_HEIGHT}")
    rank = np.empty_like(position)
    rank[position] = np.arange(len(position))
    degrees = np.diff(cch.offsets)[rank]
    n_groups = -(-np.maximum(degrees - STORED, 0) // GROUP)
    first_group = np.cumsum(n_groups) - n_groups
    arcs = cch.offsets, cch.up, depth
    vertices, groups = _fill(rank, *arcs, cch.downward, first_group, int(n_groups.sum()), STORED, GROUP)
    vertices[:-2, 0] = cch.order[rank]
    vertices[:-2, 1] = size[rank]
    vertices[:-2, 2] = depth[rank] | n_groups << 16
    parent = np.where(cch.parent >= 0, position[cch.parent], position)[rank]
    work = np.cumsum(1 + n_groups)
    wanted = np.arange(1, MAX_SEGMENTS) * int(work[-1]) // MAX_SEGMENTS
    segments = np.concatenate([[0], np.searchsorted(work, wanted), [len(rank)]])
    paths = [_path(parent, first) for first in segments[:-1]]
    return Preorder(
        order=cch.order[rank].astype(np.uint32),
        vertices=vertices,
        groups=groups,
        first_group=first_group.astype(np.uint32),
        segments=segments.astype(np.uint32),
        path_begins=np.cumsum([0, *map(len, paths)]).astype(np.uint32),
        paths=np.concatenate([*paths, [0]]).astype(np.uint32)[:-1],
        depth=depth[rank].astype(np.uint32),
        jumps=_jumps(parent, int(depth.max())),
        up_offsets=np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint32),
        up_arcs=_upward(rank, *arcs, cch.upward),
    )


def _path(parent: Ints, position: int) -> list[int]:
    """Return the ancestors of a position from the root."""
    path = []
    while parent[position] != position:
        position = parent[position]
        path.append(position)
    return path[::-1]


def _jumps(parent: Ints, height: int) -> Words:
    """Return the ancestors 1, 2, 4, ... steps above each position."""
    jumps = [parent.astype(np.uint32)]
    while 2 ** len(jumps) <= height:
        jumps.append(jumps[-1][jumps[-1]])
    return np.stack(jumps)


@njit(cache=True)
def _number(parent: Any) -> Any:
    """Return the place in preorder, the size of the subtree and the depth of each rank.

    The parent of a rank is higher.
    """
    n = len(parent)
    size = np.ones(n, np.int64)
    for r in range(n):
        if parent[r] >= 0:
            size[parent[r]] += size[r]
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
def _fill(
    rank: Any,
    offsets: Any,
    up: Any,
    depth: Any,
    downward: Any,
    first_group: Any,
    n_groups: int,
    stored: int,
    group: int,
) -> Any:
    """Return the downward arcs into each position: those stored with it, and those in groups."""
    vertices = np.zeros((len(rank) + 2, 8), dtype=np.uint32)
    groups = np.zeros((n_groups + 1, 2 * group), dtype=np.uint32)
    vertices[:, 3::2] = UNREACHED
    groups[:, 1::2] = UNREACHED
    for p in range(len(rank)):
        begin = offsets[rank[p]]
        for i in range(begin, offsets[rank[p] + 1]):
            k = i - begin
            if k == 0:  # the parent, whose depth is known
                vertices[p, 3] = downward[i]
            elif k < stored:
                vertices[p, 2 + 2 * k] = depth[up[i]]
                vertices[p, 3 + 2 * k] = downward[i]
            else:
                g, place = first_group[p] + (k - stored) // group, (k - stored) % group
                groups[g, 2 * place] = depth[up[i]]
                groups[g, 2 * place + 1] = downward[i]
    return vertices, groups


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
