"""Climbs in a contraction hierarchy on all cores, compiled with Numba; as ``hierarchy.cu``.

Lengths and labels are distances and, in their low words, numbers of arcs of the graph. `NO_PATH` is the
largest. Ranks without a parent have `n_vertices` in its place, which is above all ranks.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import get_num_threads, njit, prange
from relaxometer.problems.routes._balls import no_paths
from relaxometer.problems.routes._contracted import Contracted
from relaxometer.problems.routes._shortcuts import LOW, NO_PART, NO_PATH, added

Words = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int64]
Lengths = npt.NDArray[np.uint64]
UNREACHED = np.uint32(2**32 - 1)


class Tree(NamedTuple):
    """A hierarchy. `rows`, `heads`, `parent` and `depth` are by rank; `heads` are depths."""

    rank: Ints
    order: npt.NDArray[np.int32]
    rows: Ints
    heads: Ints
    parent: Ints
    depth: Ints
    low: Ints
    high: npt.NDArray[np.int32]
    upward: Lengths
    downward: Lengths
    parts: Words


class Climb(NamedTuple):
    """Labels by depth, and the arcs that set them."""

    labels: Lengths
    via: Ints


def tree_of(contracted: Contracted) -> Tree:
    """Return a contracted map as climbs read it."""
    cch, depth = contracted.cch, contracted.depth
    n = len(depth)
    return Tree(
        np.argsort(cch.order),
        cch.order,
        cch.offsets,
        depth[cch.up],
        np.where(cch.parent >= 0, cch.parent, np.int64(n)),
        depth,
        np.repeat(np.arange(n), np.diff(cch.offsets)),
        cch.up,
        *contracted.shortcuts,
    )


def find_routes(tree: Tree, origins: Words, targets: Words, cutoff: int, room: int) -> Any:
    """Return distances, paths and whether there was room for them, as :func:`._balls.search`."""
    count, threads = len(origins), get_num_threads()
    found, paths = np.empty(count, dtype=np.uint32), no_paths(count, threads, room)
    fits = _find_routes(tree, origins, targets, np.uint64(cutoff), threads, found, paths)
    return found, paths, bool(fits)


def fill_table(tree: Tree, origins: Words, targets: Words, cutoff: int) -> Words:
    """Return the distances from every origin to every target, row by row."""
    height = int(tree.depth.max()) + 1
    up = _climb_all(tree, tree.upward, origins, height)
    down = _climb_all(tree, tree.downward, targets, height)
    table: Words = _fill_table(up[0], up[1], down[0], down[1], np.uint64(cutoff))
    return table


@njit(cache=True)
def _follow(tree: Any, lengths: Any, climb: Any, rank: int) -> None:
    own = climb.labels[tree.depth[rank]]
    for i in range(tree.rows[rank], tree.rows[rank + 1]):
        length = added(own, lengths[i])
        if length < climb.labels[tree.heads[i]]:
            climb.labels[tree.heads[i]] = length
            climb.via[tree.heads[i]] = i


@njit(cache=True)
def _meet(tree: Any, up: Any, down: Any, x: int, y: int, limit: Any) -> Any:
    """Climb from two ranks, labels of at least `limit` left out; return label and depth of the meeting."""
    n = len(tree.rank)
    up.labels[: tree.depth[x]] = NO_PATH
    down.labels[: tree.depth[y]] = NO_PATH
    up.labels[tree.depth[x]] = 0
    down.labels[tree.depth[y]] = 0
    while x != y:  # the lower one is not an ancestor of the other
        if x < y:
            if up.labels[tree.depth[x]] < limit:
                _follow(tree, tree.upward, up, x)
            x = tree.parent[x]
        else:
            if down.labels[tree.depth[y]] < limit:
                _follow(tree, tree.downward, down, y)
            y = tree.parent[y]
    best, depth = limit, 0
    while x != n:
        d = tree.depth[x]
        both = added(up.labels[d], down.labels[d])
        if both < best:
            best, depth = both, d
        if up.labels[d] < best:
            _follow(tree, tree.upward, up, x)
        if down.labels[d] < best:
            _follow(tree, tree.downward, down, x)
        x = tree.parent[x]
    return best, depth


@njit(cache=True)
def _unpack(tree: Any, arc: Any, is_down: Any, stack: Any, row: Any, end: int) -> int:
    """Append the vertices after the first one of an arc's path to a row; return its new end."""
    stack[0] = 2 * arc + is_down
    size = 1
    while size > 0:
        size -= 1
        arc, is_down = stack[size] // 2, stack[size] % 2
        if tree.parts[arc, is_down, 0] == NO_PART:
            row[end] = tree.order[tree.low[arc] if is_down else tree.high[arc]]
            end += 1
        else:
            stack[size] = 2 * np.int64(tree.parts[arc, is_down, 1])
            stack[size + 1] = 2 * np.int64(tree.parts[arc, is_down, 0]) + 1
            size += 2
    return end


@njit(cache=True)
def _keep_path(tree: Any, up: Any, down: Any, x: int, y: int, depth: int, stack: Any, row: Any) -> None:
    """Write the path from rank x to rank y, which meet at a depth, to the begin of a row."""
    rising = 0
    d = depth
    while d != tree.depth[x]:
        stack[rising] = up.via[d]
        d = tree.depth[tree.low[up.via[d]]]
        rising += 1
    row[0] = tree.order[x]
    end = 1
    for k in range(rising - 1, -1, -1):
        end = _unpack(tree, stack[k], False, stack[rising:], row, end)
    d = depth
    while d != tree.depth[y]:
        arc = down.via[d]
        end = _unpack(tree, arc, True, stack, row, end)
        d = tree.depth[tree.low[arc]]


@njit(cache=True)
def _answer(
    tree: Any, climbs: Any, ends: Any, query: int, limit: Any, found: Any, paths: Any, t: int, used: int
) -> Any:
    up, down, stack = climbs
    x, y = tree.rank[ends[0][query]], tree.rank[ends[1][query]]
    best, depth = _meet(tree, up, down, x, y, limit)
    is_found = best < limit
    found[query] = np.uint32(best >> LOW) if is_found else UNREACHED
    if not is_found or len(paths.sizes) == 0:
        return used
    size = np.int64(np.uint32(best)) + 1
    if used + size > paths.rows.shape[1]:
        return -1
    _keep_path(tree, up, down, x, y, depth, stack, paths.rows[t, used:])
    paths.begins[query] = t * paths.rows.shape[1] + used
    paths.sizes[query] = size
    return used + size


@njit(parallel=True, cache=True)
def _find_routes(
    tree: Any, origins: Any, targets: Any, cutoff: Any, threads: int, found: Any, paths: Any
) -> bool:
    height = tree.depth.max() + 1
    fits = np.ones(threads, dtype=np.bool_)
    limit = (cutoff + np.uint64(1)) << LOW
    for t in prange(threads):
        up = Climb(np.empty(height, np.uint64), np.empty(height, np.int64))
        down = Climb(np.empty(height, np.uint64), np.empty(height, np.int64))
        climbs = up, down, np.empty(3 * height + 2, np.int64)
        used = 0
        for query in range(t, len(origins), threads):
            used = _answer(tree, climbs, (origins, targets), query, limit, found, paths, t, used)
            if used < 0:
                fits[t] = False
                break
    return bool(fits.all())


@njit(parallel=True, cache=True)
def _climb_all(tree: Any, lengths: Any, vertices: Any, height: int) -> Any:
    """Return the ancestors of vertices, -1 where there is none, and their labels, by vertex and depth."""
    n = len(tree.rank)
    ancestors = np.full((len(vertices), height), -1, dtype=np.int64)
    labels = np.full((len(vertices), height), NO_PATH, dtype=np.uint64)
    for k in prange(len(vertices)):
        climb = Climb(labels[k], np.empty(height, np.int64))
        rank = tree.rank[vertices[k]]
        labels[k, tree.depth[rank]] = 0
        while rank != n:
            ancestors[k, tree.depth[rank]] = rank
            _follow(tree, lengths, climb, rank)
            rank = tree.parent[rank]
    return ancestors, labels


@njit(parallel=True, cache=True)
def _fill_table(from_ancestors: Any, up: Any, to_ancestors: Any, down: Any, cutoff: Any) -> Any:
    """Return the least sums of labels over the ancestors that a row and a column share."""
    rows, columns = len(up), len(down)
    table = np.empty(rows * columns, dtype=np.uint32)
    for row in prange(rows):
        for column in range(columns):
            best = NO_PATH
            for d in range(up.shape[1]):
                ancestor = from_ancestors[row, d]
                if ancestor < 0 or ancestor != to_ancestors[column, d]:
                    break
                best = min(best, added(up[row, d], down[column, d]))
            distance = best >> LOW
            table[row * columns + column] = np.uint32(distance) if distance <= cutoff else UNREACHED
    return table
