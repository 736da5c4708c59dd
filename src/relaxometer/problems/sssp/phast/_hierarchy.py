"""Contraction hierarchies cut into tasks for blocks to sweep.

A separator becomes a path of the elimination tree, and each of its vertices needs nearly all above it. So the
tree is cut into short chains, the arcs within a chain are stored apart, and levels consist of chains, not of
vertices: there are fewer of them. (Sparse triangular solvers call these supernodes.)
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.graphs.graph import Graph
from relaxometer.problems.sssp.phast._cch import Contraction, contract, inverse, jumps
from relaxometer.problems.sssp.phast._slices import (
    CHAIN,
    MAX_ROWS,
    Slices,
    alternate,
    slice_chains,
    slice_rows,
    stable_order,
)
from relaxometer.problems.variants import Skipped

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
SUBTREES_PER_TASK = 4
"""Average number in the last stage; more balance the tasks better, but the top becomes larger."""

SUBTREES_PER_MIDDLE_TASK = 2  # the same for the stages before
WORK_PER_VERTEX = 4  # of a task, in arcs; their slices are padded
MAX_TOP = 1 << 15
"""Take fewer subtrees per task if the top has more vertices: one block sweeps it in shared memory."""

ALL, INSIDE, OUTSIDE = range(3)
"""Arcs to gather: all, those between chains of a task, those to tasks of earlier stages."""


@dataclass(frozen=True)
class Hierarchy:
    """A hierarchy cut into stages of tasks, which are subtrees that need only earlier stages.

    The first stage is one task. The last has most of the vertices; what is above it is the top.

    Vertices are numbered by task, then level: a chain's level is one more than the highest of those that its
    vertices need in its own task. A level has two steps: arcs from above, then its chains. Arrays but slices
    are uint32.
    """

    order: Words  # the graph's vertex at each position
    stages: Words  # the first task of each stage, and the number of tasks
    task_begins: Words  # the first position of each task, and the number of vertices
    task_steps: Words  # the first step of each task, and their number; a step is a group of `inside`
    inside: Slices  # arcs into each position from its own task, numbered within it; rows and chains alternate
    outside: Slices  # those from earlier stages; groups are tasks
    up_offsets: Words  # of the upward arcs from each position
    up_arcs: Words  # depth of the head, and weight; shape (n_arcs, 2)
    depth: Words  # number of ancestors of each position in the elimination tree
    jumps: Words  # the ancestor 1, 2, 4, ... steps above each position, or the root; shape (n_jumps, n)

    @property
    def top(self) -> int:
        """Number of vertices above the last stage."""
        return int(self.task_begins[self.stages[-2]])


def build(
    graph: Graph, n_tasks: int, fill: float, keep_order: bool = False, middle: Sequence[int] = ()
) -> Hierarchy:
    """Contract a graph to at most `fill` arcs per edge, and cut the hierarchy; see :func:`lay_out`.

    With `keep_order`, the order of contraction is kept in the cache of compiled kernels, for any weights.
    Skipped if the hierarchy would have more arcs, or a row or a task more than slices can hold.
    """
    return lay_out(contract(graph, fill, keep_order), n_tasks, middle)


def lay_out(cch: Contraction, n_tasks: int, middle: Sequence[int] = ()) -> Hierarchy:
    """Cut a contracted graph into a first task, stages of `middle` tasks each, and `n_tasks`; see `build`."""
    up, parent = cch.up, cch.parent
    stages = np.cumsum([0, 1, *middle, n_tasks])
    task = _tasks(parent, np.diff(cch.offsets), stages)
    n_tasks = int(stages[-1])
    chain, place = _cut_into_chains(task, parent, CHAIN)
    level, n_levels, inside_degree, depth = _find_levels(cch.offsets, up, task, parent, chain, n_tasks)
    begins = _bounds(task, n_tasks)
    if np.diff(begins).max() > MAX_ROWS:
        raise Skipped(f"made for maps; a part would have {np.diff(begins).max()} vertices, over {MAX_ROWS}")
    task_levels = np.concatenate([[0], np.cumsum(n_levels)])
    group = task_levels[:-1][task] + level
    n_groups = int(task_levels[-1])
    by_degree = stable_order(inside_degree.max(initial=0) - inside_degree)
    by_position = by_degree[stable_order(group[by_degree])]
    position = inverse(by_position)
    row = position - begins[task]
    depths = depth[by_position]
    levels = _bounds(group, n_groups)
    with ThreadPoolExecutor() as pool:  # compiled functions release Python's lock
        chains = pool.submit(slice_chains, cch.offsets, up, cch.downward, chain, place, row, group, n_groups)
        gather = partial(_gather, by_position, cch.offsets, up, task, chain)
        own = pool.submit(_slice, gather, INSIDE, row, cch.downward, begins, levels)
        earlier = pool.submit(_slice, gather, OUTSIDE, position, cch.downward, begins, begins)
        upward = pool.submit(gather, ALL, depth, cch.upward)
        ancestors = pool.submit(_jumps, cch, by_position, position, int(depth.max(initial=0)))
        up_offsets, up_arcs = upward.result()
        return Hierarchy(
            cch.order[by_position].astype(np.uint32),
            stages.astype(np.uint32),
            begins.astype(np.uint32),
            (2 * task_levels).astype(np.uint32),
            alternate(own.result(), chains.result()),
            earlier.result(),
            up_offsets.astype(np.uint32),
            up_arcs,
            depths.astype(np.uint32),
            ancestors.result(),
        )


def _slice(gather: Any, kept: int, ends: Ints, weights: Words, begins: Ints, groups: Ints) -> Slices:
    offsets, arcs = gather(kept, ends, weights)
    return slice_rows(offsets, arcs, begins, groups)


def _bounds(group: Ints, n_groups: int) -> Ints:
    """Return where each group begins among items sorted by group."""
    return np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))])


def _tasks(parent: Ints, degrees: Ints, stages: Ints) -> Ints:
    """Return the task of each rank: 0 at the top, elsewhere that of its subtree, with balanced work."""
    task = np.zeros(len(parent), dtype=np.int64)
    work = degrees + WORK_PER_VERTEX
    size = _subtree_sizes(parent, work)
    n_last = stages[-1] - stages[-2]
    for subtrees in range(SUBTREES_PER_TASK, 0, -1):
        limit = work.sum() / (subtrees * n_last)
        if np.count_nonzero(size > limit) <= MAX_TOP:
            break
    _assign(task, parent, size, limit, range(stages[-2], stages[-1]))
    for stage in range(len(stages) - 3, 0, -1):  # cuts what is left above
        work[size <= limit] = 0
        size = _subtree_sizes(parent, work)
        limit = work.sum() / (SUBTREES_PER_MIDDLE_TASK * (stages[stage + 1] - stages[stage]))
        _assign(task, parent, size, limit, range(stages[stage], stages[stage + 1]))
    _inherit(parent, task)
    return task


def _assign(task: Ints, parent: Ints, size: Ints, limit: float, numbers: range) -> None:
    """Give the largest subtrees of at most `limit`, and of any work, to the tasks of the given numbers."""
    size_above = np.where(parent >= 0, size[parent], np.inf)
    roots = np.flatnonzero((size > 0) & (size <= limit) & (size_above > limit))
    loads = [(0, k) for k in numbers]
    for root in roots[np.argsort(-size[roots], kind="stable")]:
        load, k = heapq.heappop(loads)
        task[root] = k
        heapq.heappush(loads, (load + int(size[root]), k))


def _jumps(cch: Contraction, by_position: Ints, position: Ints, height: int) -> Words:
    """Return the ancestors 1, 2, 4, ... steps above each position."""
    above = np.where(cch.parent >= 0, cch.parent, np.arange(len(cch.parent)))
    return jumps(position[above[by_position]], height)


@njit(cache=True, nogil=True)
def _subtree_sizes(parent: Any, own: Any) -> Any:
    """Return the sums of `own` over the subtrees of an elimination tree."""
    size = own.copy()
    for r in range(len(parent)):
        if parent[r] >= 0:
            size[parent[r]] += size[r]
    return size


@njit(cache=True, nogil=True)
def _inherit(parent: Any, task: Any) -> None:
    """Give the task of a subtree's root to the whole subtree."""
    for r in range(len(parent) - 1, -1, -1):
        if task[r] == 0 and parent[r] >= 0:
            task[r] = task[parent[r]]


@njit(cache=True, nogil=True)
def _cut_into_chains(task: Any, parent: Any, longest: int) -> Any:
    """Return the chain of each rank, named by its highest member, and the rank's place in it.

    A chain continues with the child of the tallest subtree, within its task and up to `longest` vertices.
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
        if p >= 0 and tallest[p] == r and place[p] + 1 < longest:
            chain[r] = chain[p]
            place[r] = place[p] + 1
    return chain, place


@njit(cache=True, nogil=True)
def _find_levels(offsets: Any, up: Any, task: Any, parent: Any, chain: Any, n_tasks: int) -> Any:
    """Return each rank's level in its task, levels of tasks, arcs from higher ones, and depths."""
    n = len(task)
    level, inside, depth = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    n_levels = np.zeros(n_tasks, np.int64)
    for r in range(n - 1, -1, -1):
        if parent[r] >= 0:
            depth[r] = depth[parent[r]] + 1
            if task[parent[r]] == task[r]:
                level[r] = level[parent[r]] + (chain[parent[r]] != chain[r])
        n_levels[task[r]] = max(n_levels[task[r]], level[r] + 1)
        for i in range(offsets[r], offsets[r + 1]):
            inside[r] += task[up[i]] == task[r] and chain[up[i]] != chain[r]
    return level, n_levels, inside, depth


@njit(cache=True, nogil=True)
def _gather(
    order: Any, offsets: Any, up: Any, task: Any, chain: Any, kept: int, ends: Any, weights: Any
) -> Any:
    """Return the rows of kept arcs in the given order of the rows, as `ends` of their heads, and weights."""
    new_offsets = np.zeros(len(order) + 1, dtype=np.int64)
    arcs = np.empty((len(up), 2), dtype=np.uint32)
    size = 0
    for p in range(len(order)):
        r = order[p]
        for i in range(offsets[r], offsets[r + 1]):
            head = up[i]
            inside = task[head] == task[r]
            if (
                kept == ALL
                or (kept == OUTSIDE and not inside)
                or (kept == INSIDE and inside and chain[head] != chain[r])
            ):
                arcs[size, 0] = ends[head]
                arcs[size, 1] = weights[i]
                size += 1
        new_offsets[p + 1] = size
    return new_offsets, arcs[:size]
