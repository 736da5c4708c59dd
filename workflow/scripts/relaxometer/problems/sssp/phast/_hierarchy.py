"""Customizable contraction hierarchies of maps, laid out for a sweep by blocks.

Vertices are ordered by nested dissection and contracted in that order: where a vertex goes, its neighbours
that are left are joined by shortcuts. A shortest path then climbs to its most important vertex and descends
from there, whatever the weights. The weights of shortcuts are found afterwards, from triangles. (The paper's
first two phases, preprocessing and customization; the third, the query, is PHAST here.) What can be climbed
to from a vertex are its ancestors in the elimination tree, where the parent of a vertex is the lowest of its
higher neighbours.

A separator becomes a path of the elimination tree, each vertex of which needs nearly all above it. So the
tree is cut into short chains, the arcs between a chain's vertices are kept apart, and it is chains that are
put into levels: there are fewer levels of them than of vertices. (These are the supernodes and the dense
diagonal blocks of sparse triangular solvers.)

Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM JEA 21, 2016.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pymetis
import scipy.sparse as sp

from relaxometer.graphs.graph import Graph
from relaxometer.problems.variants import Skipped

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]

UNREACHED = 2**32 - 1
WARP = 32
ARCS_A_LANE = 8
"""Arcs that a lane of a warp takes, if a row is not too long for that; as many as the kernel reads ahead."""

CHAIN = 2 * ARCS_A_LANE
"""Most vertices of a chain: a lane's place and the weights from all but the last take as many words."""

MOST_ROWS = 1 << 16
"""Rows of a task that a slice can number."""

MOST_IN_A_ROW = 255 * WARP
"""Arcs of a row that a slice can hold."""

MOST_UPWARD = 2**32 - 2**10
"""Arcs upward that 32 bits can number, with room for what a warp looks beyond the end."""

PARTS_A_TASK = 4
"""Subtrees are cut so small that a task has about so many of them."""


@dataclass(frozen=True)
class Slices:
    """Rows of arcs in slices, one for a warp to read at once.

    A slice holds 32, 16, ... or 1 rows, whose arcs are read by 1, 2, ... or 32 lanes each. The k-th arc of
    each lane lies beside those of the other lanes; what is missing is an arc to row 0 that is too long.

    Parameters
    ----------
    table : ndarray of shape (n_slices, 2), uint32
        Where the arcs of a slice begin, in warps' widths. Then, in one word: its first row (16 bits), one
        less than its number of rows (5), the logarithm of the number of lanes (3), arcs a lane (8).
    arcs : ndarray of shape (n_places, 2), uint32
        Target and weight.
    bounds : ndarray of shape (n_groups + 1,), int64
        The first slice of each group of rows: no slice has rows of two groups.

    Notes
    -----
    A slice of chains has a lane for each vertex and no rows. The first word of a lane is its row (16 bits)
    and the first lane of its chain (5). The others are the weights of the arcs from the first, second, ...
    vertex of its chain, too long where there is none. A lane without a vertex has all bits set.
    """

    table: Words
    arcs: Words
    bounds: Ints


@dataclass(frozen=True)
class Hierarchy:
    """A hierarchy cut into tasks: the top, which is task 0, and subtrees that only need the top.

    Vertices are numbered by task, then level: a chain's level is one more than the highest of those that its
    vertices need in its own task. A level takes two steps: the arcs from levels above, then its chains.

    Parameters
    ----------
    order : ndarray of shape (n_vertices,), uint32
        The graph's number of each position.
    task_begins : ndarray of shape (n_tasks + 1,), uint32
        The first position of each task.
    task_steps : ndarray of shape (n_tasks + 1,), uint32
        The first step of each task: a group of `inside`, of rows of arcs and of chains by turns.
    inside, outside : Slices
        Arcs downward into each position, from positions of the same task, numbered within it, and from the
        top. The groups of `outside` are tasks.
    up_offsets : ndarray of shape (n_vertices + 1,), uint32
    up_arcs : ndarray of shape (n_arcs, 2), uint32
        Depth of the target, and weight, of the arcs upward from each position.
    depth : ndarray of shape (n_vertices,), uint32
        Ancestors of each position in the elimination tree.
    jumps : ndarray of shape (n_jumps, n_vertices), uint32
        The ancestor 1, 2, 4, ... steps above each position, the root where there are not so many.
    """

    order: Words
    task_begins: Words
    task_steps: Words
    inside: Slices
    outside: Slices
    up_offsets: Words
    up_arcs: Words
    depth: Words
    jumps: Words


def build(graph: Graph, n_tasks: int, fill: float) -> Hierarchy:
    """Order, contract, weigh and cut a graph.

    Parameters
    ----------
    graph : Graph
    n_tasks : int
        Beside the top.
    fill : float
        Most arcs of the hierarchy for each edge of the graph.

    Raises
    ------
    Skipped
        If there would be more, or if a row or a task would be larger than slices can hold.
    """
    compiled = _compiled()
    order, up_offsets, up = _preprocessed(graph, fill)
    upward, downward = _customized(graph, order, up_offsets, up)
    parent = _parents(up_offsets, up)
    task = _tasks(parent, np.diff(up_offsets), n_tasks)
    chain, place = compiled.cut_chains(task, parent)
    level, inside_degree, depth = compiled.find_levels(up_offsets, up, task, parent, chain)
    by_position = np.lexsort((-inside_degree, level, task))
    position = _inverse(by_position)
    begins = np.concatenate([[0], np.cumsum(np.bincount(task, minlength=n_tasks + 1))])
    if np.diff(begins).max() > MOST_ROWS:
        raise Skipped(f"made for maps; a part would have {np.diff(begins).max()} vertices, over {MOST_ROWS}")
    levels_of = np.zeros(n_tasks + 1, dtype=np.int64)
    np.maximum.at(levels_of, task, level + 1)
    task_levels = np.concatenate([[0], np.cumsum(levels_of)])
    rows = (up_offsets, up, downward, task, chain, by_position, position, begins)
    group = task_levels[:-1][task] + level
    of_level = np.bincount(group, minlength=task_levels[-1])
    level_begins = np.concatenate([[0], np.cumsum(of_level)])
    own_offsets, own_arcs = compiled.arcs_of(*rows, True)
    top_offsets, top_arcs = compiled.arcs_of(*rows, False)
    own_rows = _sliced(own_offsets, own_arcs, begins, level_begins)
    row = position - begins[task]
    chains = _linked(up_offsets, up, downward, chain, place, row, group, int(task_levels[-1]))
    upward_offsets, upward_arcs = compiled.upward_arcs(up_offsets, up, upward, by_position, depth)
    return Hierarchy(
        order[by_position].astype(np.uint32),
        begins.astype(np.uint32),
        (2 * task_levels).astype(np.uint32),
        _by_turns(own_rows, chains),
        _sliced(top_offsets, top_arcs, begins, begins),
        upward_offsets,
        upward_arcs,
        depth[by_position].astype(np.uint32),
        _jumps(parent, by_position, position, int(depth.max(initial=0))),
    )


def _preprocessed(graph: Graph, fill: float) -> tuple[Ints, Ints, Ints]:
    """Order and contract, without a look at the weights: the preprocessing of the paper.

    Returns
    -------
    order : ndarray of shape (n_vertices,), int64
        The vertex of each rank.
    up_offsets : ndarray of shape (n_vertices + 1,), int64
    up : ndarray of shape (n_arcs,), int64
        The higher neighbours of each rank, ascending.
    """
    offsets, adjacent = _undirected(graph)
    order = _dissected(offsets, adjacent)
    most = min(max(int(fill * (len(adjacent) // 2)), 1 << 16), MOST_UPWARD)
    up_offsets, up = _compiled().contract(offsets, adjacent, _inverse(order), order, most)
    if len(up) > most:
        raise Skipped(f"made for maps; the hierarchy would have more than fill = {fill:g} arcs an edge")
    longest = int(np.diff(up_offsets).max())
    if longest > MOST_IN_A_ROW:
        raise Skipped(f"made for maps; a vertex would have {longest} arcs upward, over {MOST_IN_A_ROW}")
    return order, up_offsets, up


def _customized(graph: Graph, order: Ints, up_offsets: Ints, up: Ints) -> tuple[Words, Words]:
    """Return the weights of the arcs upward and of those downward: the paper's basic customization."""
    upward, downward = (np.full(len(up), UNREACHED, dtype=np.uint32) for _ in range(2))
    rank = _inverse(order)
    tails, heads = rank[graph.tails], rank[graph.targets]
    _compiled().weigh_arcs(tails, heads, graph.weights, up_offsets, up, upward, downward)
    _compiled().weigh_shortcuts(up_offsets, up, upward, downward)
    return upward, downward


def _inverse(permutation: Ints) -> Ints:
    inverse = np.empty(len(permutation), dtype=np.int64)
    inverse[permutation] = np.arange(len(permutation))
    return inverse


def _undirected(graph: Graph) -> tuple[Ints, Ints]:
    """Return offsets and neighbours of the graph without directions, loops and parallel edges."""
    shape = (graph.n_vertices, graph.n_vertices)
    is_loop = graph.tails == graph.targets
    # Parallel arcs are merged by "or": a sum of small integers would come to 0 for 256 of them.
    ones = np.ones(graph.n_arcs, dtype=np.bool_)[~is_loop]
    matrix = sp.csr_matrix((ones, (graph.tails[~is_loop], graph.targets[~is_loop])), shape=shape)
    matrix = (matrix + matrix.T).tocsr()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)


def _dissected(offsets: Ints, adjacent: Ints) -> Ints:
    """Return the vertices by nested dissection: both sides of a separator come before it.

    The order is METIS's (Karypis and Kumar, "A Fast and High Quality Multilevel Scheme for Partitioning
    Irregular Graphs", 1998), the same in every run.
    """
    if len(adjacent) == 0:
        return np.arange(len(offsets) - 1)
    order, _ = pymetis.nested_dissection(pymetis.CSRAdjacency(offsets, adjacent))
    return np.asarray(order, dtype=np.int64)


def _parents(up_offsets: Ints, up: Ints) -> Ints:
    """Return the parent of each rank in the elimination tree, or -1 for a root."""
    parent = np.full(len(up_offsets) - 1, -1, dtype=np.int64)
    has_parent = np.diff(up_offsets) > 0
    parent[has_parent] = up[up_offsets[:-1][has_parent]]
    return parent


def _tasks(parent: Ints, degrees: Ints, n_tasks: int) -> Ints:
    """Give each rank a task: 0 at the top, and else that of its subtree, so that all have as many arcs."""
    size = _compiled().subtree_sizes(parent, degrees + 1)
    limit = (degrees.sum() + len(degrees)) / (PARTS_A_TASK * n_tasks)
    of_parent = np.where(parent >= 0, size[parent], np.inf)
    roots = np.flatnonzero((size <= limit) & (of_parent > limit))
    task = np.zeros(len(parent), dtype=np.int64)
    loads = [(0, k) for k in range(1, n_tasks + 1)]
    for root in roots[np.argsort(-size[roots], kind="stable")]:
        load, k = heapq.heappop(loads)
        task[root] = k
        heapq.heappush(loads, (load + int(size[root]), k))
    return _compiled().inherit(parent, task)


def _sliced(offsets: Ints, arcs: Words, begins: Ints, groups: Ints) -> Slices:
    """Put rows of arcs into slices; rows are numbered anew from each of `begins`, slices end at `groups`."""
    compiled = _compiled()
    first = np.repeat(begins[:-1], np.diff(begins))
    table, bounds = compiled.cut_slices(np.diff(offsets), first, groups)
    places = table[:, 1] >> np.uint32(24)
    begin = np.concatenate([[0], np.cumsum(places, dtype=np.int64)])
    table[:, 0] = begin[:-1]
    placed = compiled.fill_slices(table, offsets, arcs, first, groups, bounds, int(begin[-1]))
    return Slices(table, placed, bounds)


def _linked(
    up_offsets: Ints, up: Ints, downward: Words, chain: Ints, place: Ints, row: Ints, group: Ints, n: int
) -> Slices:
    """Put the chains of more than one vertex, in `n` groups, into slices, the longest of a group first."""
    length = np.bincount(chain, minlength=len(chain))[chain]
    members = np.lexsort((place, chain, -length, group))
    members = members[length[members] > 1]
    compiled = _compiled()
    table, bounds, lanes = compiled.cut_chain_slices(members, length, group, n)
    begin = np.concatenate([[0], np.cumsum(table[:, 1] >> np.uint32(24), dtype=np.int64)])
    table[:, 0] = begin[:-1]
    placed = compiled.fill_chain_slices(
        table, lanes, members, place, row, up_offsets, up, downward, chain, int(begin[-1])
    )
    return Slices(table, placed, bounds)


def _by_turns(first: Slices, second: Slices) -> Slices:
    """Return the groups of two lists of slices by turns."""
    moved = second.table + np.array([len(first.arcs) // WARP, 0], dtype=np.uint32)
    sizes = np.stack([np.diff(first.bounds), np.diff(second.bounds)])
    turn = 2 * np.arange(sizes.shape[1]) + np.array([[0], [1]])
    in_turn = np.argsort(np.repeat(turn.ravel(), sizes.ravel()), kind="stable")
    return Slices(
        np.concatenate([first.table, moved])[in_turn],
        np.concatenate([first.arcs, second.arcs]),
        np.concatenate([[0], np.cumsum(sizes.T.ravel())]),
    )


def _jumps(parent: Ints, by_position: Ints, position: Ints, deepest: int) -> Words:
    """Return the ancestors 1, 2, 4, ... steps above each position."""
    above = np.where(parent >= 0, parent, np.arange(len(parent)))
    jumps = [position[above[by_position]].astype(np.uint32)]
    while 2 ** len(jumps) <= deepest:
        jumps.append(jumps[-1][jumps[-1]])
    return np.stack(jumps)


@cache
def _compiled() -> Any:
    """Compile the loops."""
    import numba

    functions = (
        _contract,
        _weigh_arcs,
        _weigh_shortcuts,
        _subtree_sizes,
        _inherit,
        _cut_chains,
        _find_levels,
        _arcs_of,
        _upward_arcs,
        _cut_slices,
        _fill_slices,
        _cut_chain_slices,
        _fill_chain_slices,
    )
    return SimpleNamespace(**{f.__name__[1:]: numba.njit(f, cache=True) for f in functions})


def _contract(offsets: Any, adjacent: Any, rank: Any, order: Any, most: int) -> Any:
    """Return offsets and targets, by rank and sorted, of the arcs to vertices of higher rank.

    A vertex has those of its own edges, and those of its children in the elimination tree, whose lowest
    higher neighbour it is. Stops once there are more than `most`.
    """
    n = len(order)
    up_offsets = np.zeros(n + 1, dtype=np.int64)
    up = np.empty(most + n, dtype=np.int64)  # one vertex adds at most n to `most`
    seen_by = np.full(n, -1, dtype=np.int64)
    child, sibling = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    size = 0
    for r in range(n):
        begin = size
        seen_by[r] = r
        for i in range(offsets[order[r]], offsets[order[r] + 1]):
            t = rank[adjacent[i]]
            if t > r and seen_by[t] != r:
                seen_by[t] = r
                up[size] = t
                size += 1
        c = child[r]
        while c >= 0:
            for i in range(up_offsets[c], up_offsets[c + 1]):
                t = up[i]
                if seen_by[t] != r:
                    seen_by[t] = r
                    up[size] = t
                    size += 1
            c = sibling[c]
        if size > most:
            up_offsets[r + 1 :] = size
            return up_offsets, up[:size]
        up_offsets[r + 1] = size
        if size > begin:
            up[begin:size].sort()
            parent = up[begin]
            sibling[r] = child[parent]
            child[parent] = r
    return up_offsets, up[:size].copy()


def _weigh_arcs(
    tails: Any, heads: Any, weights: Any, up_offsets: Any, up: Any, upward: Any, downward: Any
) -> None:
    """Give each arc that the graph has the least weight of those between its ends."""
    for i in range(len(tails)):
        low, high = min(tails[i], heads[i]), max(tails[i], heads[i])
        if low == high:
            continue
        begin = up_offsets[low]
        e = begin + np.searchsorted(up[begin : up_offsets[low + 1]], high)
        if tails[i] == low:
            upward[e] = min(upward[e], weights[i])
        else:
            downward[e] = min(downward[e], weights[i])


def _weigh_shortcuts(up_offsets: Any, up: Any, upward: Any, downward: Any) -> None:
    """Shorten every arc by the ways through a lower vertex (its lower triangles), the lowest vertex first.

    What is longer than 32 bits hold counts as no way at all: no part of a path is longer than the path.
    """
    for v in range(len(up_offsets) - 1):
        end = up_offsets[v + 1]
        for one in range(up_offsets[v], end):
            e = up_offsets[up[one]]
            for other in range(one + 1, end):
                while up[e] != up[other]:
                    e += 1
                by_up = np.int64(downward[one]) + np.int64(upward[other])
                by_down = np.int64(downward[other]) + np.int64(upward[one])
                upward[e] = min(np.int64(upward[e]), by_up, UNREACHED)
                downward[e] = min(np.int64(downward[e]), by_down, UNREACHED)


def _subtree_sizes(parent: Any, own: Any) -> Any:
    """Return the sums of `own` over the subtrees of an elimination tree."""
    size = own.copy()
    for r in range(len(parent)):
        if parent[r] >= 0:
            size[parent[r]] += size[r]
    return size


def _inherit(parent: Any, task: Any) -> Any:
    """Give the task of a subtree's root to all of it."""
    for r in range(len(parent) - 1, -1, -1):
        if task[r] == 0 and parent[r] >= 0:
            task[r] = task[parent[r]]
    return task


def _cut_chains(task: Any, parent: Any) -> Any:
    """Return the chain of each rank, named by its highest member, and the rank's place in it.

    A chain goes on with the child whose subtree is the tallest, as long as it stays in its task,
    and no farther than CHAIN vertices.
    """
    n = len(task)
    height, tallest = np.zeros(n, np.int64), np.full(n, -1, np.int64)
    for r in range(n):
        p = parent[r]
        if p >= 0 and task[p] == task[r] and height[r] >= height[p]:
            height[p] = height[r] + 1
            tallest[p] = r
    chain, place = np.arange(n), np.zeros(n, np.int64)
    for r in range(n - 1, -1, -1):
        p = parent[r]
        if p >= 0 and tallest[p] == r and place[p] + 1 < CHAIN:
            chain[r] = chain[p]
            place[r] = place[p] + 1
    return chain, place


def _find_levels(up_offsets: Any, up: Any, task: Any, parent: Any, chain: Any) -> Any:
    """Return the level of each rank in its task, its arcs from higher levels there, and its ancestors.

    All that a rank needs are ancestors, of which its parent is the last to be swept.
    """
    n = len(task)
    level, inside, depth = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for r in range(n - 1, -1, -1):
        if parent[r] >= 0:
            depth[r] = depth[parent[r]] + 1
            if task[parent[r]] == task[r]:
                level[r] = level[parent[r]] + (chain[parent[r]] != chain[r])
        for i in range(up_offsets[r], up_offsets[r + 1]):
            inside[r] += task[up[i]] == task[r] and chain[up[i]] != chain[r]
    return level, inside, depth


def _arcs_of(
    up_offsets: Any,
    up: Any,
    downward: Any,
    task: Any,
    chain: Any,
    by_position: Any,
    position: Any,
    begins: Any,
    inside: bool,
) -> Any:
    """Return the rows, by position, of the arcs downward from the same task, or else from the top.

    Arcs from the same chain are in neither.
    """
    n = len(task)
    offsets = np.zeros(n + 1, dtype=np.int64)
    arcs = np.empty((len(up), 2), dtype=np.uint32)
    size = 0
    for p in range(n):
        r = by_position[p]
        for i in range(up_offsets[r], up_offsets[r + 1]):
            t = up[i]
            if (task[t] == task[r]) == inside and chain[t] != chain[r]:
                arcs[size, 0] = position[t] - begins[task[t]]
                arcs[size, 1] = downward[i]
                size += 1
        offsets[p + 1] = size
    return offsets, arcs[:size].copy()


def _upward_arcs(up_offsets: Any, up: Any, upward: Any, by_position: Any, depth: Any) -> Any:
    """Return the rows, by position, of the arcs upward: depth of the target, and weight."""
    n = len(by_position)
    offsets = np.zeros(n + 1, dtype=np.uint32)
    arcs = np.empty((len(up), 2), dtype=np.uint32)
    size = 0
    for p in range(n):
        r = by_position[p]
        for i in range(up_offsets[r], up_offsets[r + 1]):
            arcs[size, 0] = depth[up[i]]
            arcs[size, 1] = upward[i]
            size += 1
        offsets[p + 1] = size
    return offsets, arcs


def _cut_slices(degrees: Any, first: Any, groups: Any) -> Any:
    """Cut the rows of each group into slices of about ARCS_A_LANE arcs a lane; empty ones are left out."""
    table = np.zeros((len(degrees), 2), dtype=np.uint32)
    bounds = np.zeros(len(groups), dtype=np.int64)
    size = 0
    for g in range(len(groups) - 1):
        row = groups[g]
        while row < groups[g + 1]:
            most, log_lanes = 0, 0
            for other in range(row, min(row + WARP, groups[g + 1])):
                most = max(most, degrees[other])
            while log_lanes < 5 and most > ARCS_A_LANE << log_lanes:
                log_lanes += 1
            rows = min(WARP >> log_lanes, groups[g + 1] - row)
            most = 0
            for other in range(row, row + rows):
                most = max(most, degrees[other])
            if most > 0:
                each = (most + (1 << log_lanes) - 1) >> log_lanes
                word = (row - first[row]) | (rows - 1) << 16 | log_lanes << 21 | each << 24
                table[size, 1] = word
                size += 1
            row += rows
        bounds[g + 1] = size
    return table[:size].copy(), bounds


def _fill_slices(
    table: Any, offsets: Any, arcs: Any, first: Any, groups: Any, bounds: Any, warps: int
) -> Any:
    """Return the arcs of all slices in their places."""
    placed = np.empty((WARP * warps, 2), dtype=np.uint32)
    placed[:, 0] = 0
    placed[:, 1] = UNREACHED
    for g in range(len(groups) - 1):
        for s in range(bounds[g], bounds[g + 1]):
            word = np.int64(table[s, 1])
            lanes = 1 << ((word >> 21) & 7)
            row = first[groups[g]] + (word & 0xFFFF)
            for k in range(((word >> 16) & 31) + 1):
                for i in range(offsets[row + k], offsets[row + k + 1]):
                    j = i - offsets[row + k]
                    at = (np.int64(table[s, 0]) + j // lanes) * WARP + k * lanes + j % lanes
                    placed[at] = arcs[i]
    return placed


def _cut_chain_slices(members: Any, length: Any, group: Any, n_groups: int) -> Any:
    """Cut chains into slices as long as their longest, which comes first.

    Returns the slices, their bounds by groups, and the lane of each member, counted through all slices.
    """
    table = np.zeros((len(members), 2), dtype=np.uint32)
    of_group = np.zeros(n_groups + 1, dtype=np.int64)
    lanes = np.zeros(len(members), dtype=np.int64)
    size, lane, m = 0, WARP, 0
    while m < len(members):
        r = members[m]
        if lane + length[r] > WARP or group[r] != group[members[m - 1]]:
            table[size, 1] = ((length[r] + 1) // 2) << 24
            of_group[group[r] + 1] += 1
            size += 1
            lane = 0
        for _ in range(length[r]):
            lanes[m] = WARP * (size - 1) + lane
            lane += 1
            m += 1
    return table[:size].copy(), np.cumsum(of_group), lanes


def _fill_chain_slices(
    table: Any,
    lanes: Any,
    members: Any,
    place: Any,
    row: Any,
    up_offsets: Any,
    up: Any,
    downward: Any,
    chain: Any,
    warps: int,
) -> Any:
    """Return the words of all lanes in their places."""
    placed = np.full((WARP * warps, 2), UNREACHED, dtype=np.uint32)
    for m in range(len(members)):
        r, lane = members[m], lanes[m] % WARP
        at = np.int64(table[lanes[m] // WARP, 0]) * WARP + lane
        placed[at, 0] = row[r] | (lane - place[r]) << 16
        for i in range(up_offsets[r], up_offsets[r + 1]):
            if chain[up[i]] == chain[r]:
                word = 1 + place[up[i]]
                placed[at + word // 2 * WARP, word % 2] = downward[i]
    return placed
