"""Contraction hierarchies cut into tasks for blocks to sweep.

A separator becomes a path of the elimination tree, and each of its vertices needs nearly all above it. So the
tree is cut into short chains, the arcs within a chain are stored apart, and levels consist of chains, not of
vertices: there are fewer of them. (Sparse triangular solvers call these supernodes.)
"""

import heapq
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import get_num_threads, njit
from relaxometer.graphs.graph import offsets_of
from relaxometer.problems.sssp.phast import _ranges
from relaxometer.problems.sssp.phast._cch import Contraction
from relaxometer.problems.sssp.phast._fill import subtree_sizes
from relaxometer.problems.sssp.phast._slices import (
    CHAIN,
    MAX_ROWS,
    Arcs,
    Slices,
    alternate,
    cut_chains,
    cut_rows,
    fill_chains,
    fill_rows,
)
from relaxometer.problems.variants import Skipped

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
SUBTREES_PER_TASK = 4
"""Average number in the last stage; more balance the tasks better, but the top becomes larger."""

SUBTREES_PER_MIDDLE_TASK = 2  # the same for the stages before
WORK_PER_VERTEX = 4  # of a task, in arcs; their slices are padded
MAX_TOP = 1 << 15
"""Take fewer subtrees per task if the top has more vertices: one block sweeps it in shared memory."""

SLICES = 1 << 8  # for which a call is worth its overhead


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
    parent: Words  # the position of the parent of each, or its own if it is a root

    @property
    def top(self) -> int:
        """Number of vertices above the last stage."""
        return int(self.task_begins[self.stages[-2]])


def lay_out(cch: Contraction, n_tasks: int, middle: Sequence[int] = ()) -> Hierarchy:
    """Cut a contracted graph into a first task, stages of `middle` tasks each, and `n_tasks`.

    Skipped if a row or a task has more than slices can hold.
    """
    stages = np.cumsum([0, 1, *middle, n_tasks])
    task = _tasks(cch.parent, np.diff(cch.offsets), stages)
    chain, place = _cut_into_chains(task, cch.parent, CHAIN)
    with ThreadPoolExecutor(get_num_threads()) as pool:  # compiled functions release Python's lock
        arcs, numbers = _number(cch, task, chain, int(stages[-1]), pool)
        lists, counts = _ranges.table(3, len(task), np.uint32), _ranges.table(3, len(task), np.int32)
        _ranges.call(pool, len(task), _list, cch.order, cch.parent, arcs, numbers, lists, counts)
        up_offsets = offsets_of(counts[2])
        up_arcs = np.empty((len(cch.up), 2), dtype=np.uint32)
        gathered = arcs, numbers.by_position, cch.upward, numbers.depth, up_offsets, up_arcs
        gathering = _ranges.begin(pool, len(task), _gather, *gathered)
        cutting = pool.submit(cut_chains, chain, place, numbers.group, int(numbers.task_levels[-1]))
        row = numbers.position - numbers.begins.astype(np.int32)[task]
        inside, outside = _slice(arcs, numbers, counts, row, place, cutting, pool)
        for one in gathering:
            one.result()
    order, depth, parent = lists
    return Hierarchy(
        order,
        stages.astype(np.uint32),
        numbers.begins.astype(np.uint32),
        (2 * numbers.task_levels).astype(np.uint32),
        inside,
        outside,
        up_offsets.astype(np.uint32),
        up_arcs,
        depth,
        parent,
    )


class _Numbers(NamedTuple):
    """Where the ranks of a hierarchy go."""

    by_position: Small  # the rank at each position
    position: Small  # and the position of each rank
    begins: Ints  # the first position of each task, and the number of vertices
    task_levels: Ints  # the first level of each task, counted through all, and their number
    group: Small  # the level of each rank
    depth: Small


def _number(
    cch: Contraction, task: Small, chain: Small, n_tasks: int, pool: Executor
) -> tuple[Arcs, _Numbers]:
    """Sort the ranks by task, then level, then falling number of arcs within it; also return all arcs."""
    begins = _bounds(task, n_tasks)
    if np.diff(begins).max() > MAX_ROWS:
        raise Skipped(f"made for maps; a part would have {np.diff(begins).max()} vertices, over {MAX_ROWS}")
    inside, outside = _ranges.table(2, len(task), np.int64)
    splitting = _ranges.begin(pool, len(task), _split, cch.offsets, cch.up, task, chain, inside, outside)
    level, n_levels, depth = _find_levels(task, cch.parent, chain, n_tasks)
    task_levels = np.concatenate([[0], np.cumsum(n_levels)])
    for one in splitting:
        one.result()
    by_position, position, group = _sort(task, level, task_levels, inside, outside)
    arcs = Arcs(cch.offsets, inside, outside, cch.up, cch.downward)
    return arcs, _Numbers(by_position, position, begins, task_levels, group, depth)


def _slice(
    arcs: Arcs,
    numbers: _Numbers,
    counts: Sequence[Small],
    row: Small,
    place: Small,
    cutting: Future[Any],
    pool: Executor,
) -> tuple[Slices, Slices]:
    """Return the slices of arcs within tasks, and of those from other tasks.

    `counts` are the numbers of both by position, `row` and `place` those in the task and the chain by rank.
    """
    begins, order = numbers.begins, numbers.by_position
    own = cut_rows(counts[0], begins, _bounds(numbers.group, int(numbers.task_levels[-1])))
    other = cut_rows(counts[1], begins, begins)
    outer = np.empty((other.n_places, 2), dtype=np.uint32)
    rows = order, arcs.outside, arcs.offsets[1:], arcs.up, arcs.weights, numbers.position
    begun = _ranges.begin(pool, len(other.table), fill_rows, other, rows, outer, least=SLICES)
    chains, *members = cutting.result()
    inner = np.empty((own.n_places + chains.n_places, 2), dtype=np.uint32)
    rows = order, arcs.inside, arcs.outside, arcs.up, arcs.weights, row
    begun += _ranges.begin(pool, len(own.table), fill_rows, own, rows, inner[: own.n_places], least=SLICES)
    lanes = arcs, *members, place, row, inner[own.n_places :]
    begun += _ranges.begin(pool, len(chains.table), fill_chains, chains, *lanes, least=SLICES)
    for one in begun:
        one.result()
    return alternate(own, chains, inner), Slices(other.table, outer, other.bounds)


def _bounds(group: Small, n_groups: int) -> Ints:
    """Return where each group begins among items sorted by group."""
    return np.concatenate([[0], np.cumsum(np.bincount(group, minlength=n_groups))])


def _tasks(parent: Ints, degrees: Ints, stages: Ints) -> Small:
    """Return the task of each rank: 0 at the top, elsewhere that of its subtree, with balanced work."""
    task = np.zeros(len(parent), dtype=np.int32)
    work = degrees + WORK_PER_VERTEX
    total, n_last = int(work.sum()), int(stages[-1] - stages[-2])
    size = subtree_sizes(parent, work)
    for subtrees in range(SUBTREES_PER_TASK, 0, -1):
        limit = total / (subtrees * n_last)
        above = np.flatnonzero(size > limit)
        if len(above) <= MAX_TOP:
            break
    roots, numbers = _deal(parent, size, limit, range(stages[-2], stages[-1]))
    task[roots] = numbers
    for stage in range(len(stages) - 3, 0, -1):  # cuts what is left above
        parent_above = np.where(parent[above] >= 0, np.searchsorted(above, parent[above]), -1)
        size = subtree_sizes(parent_above, work[above])
        limit = work[above].sum() / (SUBTREES_PER_MIDDLE_TASK * (stages[stage + 1] - stages[stage]))
        roots, numbers = _deal(parent_above, size, limit, range(stages[stage], stages[stage + 1]))
        task[above[roots]] = numbers
        above = above[size > limit]
    _inherit(parent, task)
    return task


def _deal(parent: Ints, size: Ints, limit: float, numbers: range) -> tuple[Ints, list[int]]:
    """Deal the largest subtrees of at most `limit` to the tasks of these numbers; return roots and tasks."""
    roots = np.flatnonzero((size <= limit) & ((parent < 0) | (size[parent] > limit)))
    roots = roots[np.argsort(-size[roots], kind="stable")]
    loads, dealt = [(0, k) for k in numbers], []
    for weight in size[roots].tolist():
        load, k = loads[0]
        dealt.append(k)
        heapq.heapreplace(loads, (load + weight, k))
    return roots, dealt


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
    height, tallest = np.zeros(n, np.int32), np.full(n, -1, np.int32)
    for r in range(n):
        p = parent[r]
        if p >= 0 and task[p] == task[r] and height[r] >= height[p]:
            height[p] = height[r] + 1
            tallest[p] = r
    chain, place = np.arange(n).astype(np.int32), np.zeros(n, np.int32)
    for r in range(n - 1, -1, -1):
        p = parent[r]
        if p >= 0 and tallest[p] == r and place[p] + 1 < longest:
            chain[r] = chain[p]
            place[r] = place[p] + 1
    return chain, place


@njit(cache=True, nogil=True)
def _find_levels(task: Any, parent: Any, chain: Any, n_tasks: int) -> Any:
    """Return each rank's level in its task, levels of tasks, and depths."""
    n = len(task)
    level, depth, n_levels = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n_tasks, np.int64)
    for r in range(n - 1, -1, -1):
        if parent[r] >= 0:
            depth[r] = depth[parent[r]] + 1
            if task[parent[r]] == task[r]:
                level[r] = level[parent[r]] + (chain[parent[r]] != chain[r])
        n_levels[task[r]] = max(n_levels[task[r]], level[r] + 1)
    return level, n_levels, depth


@njit(cache=True, nogil=True)
def _split(
    offsets: Any, up: Any, task: Any, chain: Any, inside: Any, outside: Any, begin: int, end: int
) -> None:
    """Find the first arcs of a range of ranks to other chains of their task, and to other tasks."""
    for r in range(begin, end):
        i = offsets[r]
        while i < offsets[r + 1] and chain[up[i]] == chain[r]:
            i += 1
        inside[r] = i
        while i < offsets[r + 1] and task[up[i]] == task[r]:
            i += 1
        outside[r] = i


@njit(cache=True, nogil=True)
def _sort(task: Any, level: Any, task_levels: Any, inside: Any, outside: Any) -> Any:
    """Return the rank at each position, the position of each rank, and its level among those of all tasks."""
    n, degree, most = len(task), np.empty(len(task), dtype=np.int32), 0
    for r in range(n):
        degree[r] = outside[r] - inside[r]
        most = max(most, degree[r])
    ends = np.zeros(most + 2, dtype=np.int32)
    group, firsts = np.empty(n, dtype=np.int32), np.zeros(task_levels[-1] + 1, dtype=np.int32)
    for r in range(n):
        group[r] = task_levels[task[r]] + level[r]
        firsts[group[r] + 1] += 1
        ends[most - degree[r] + 1] += 1
    ends, firsts = np.cumsum(ends), np.cumsum(firsts)
    by_degree = np.empty(n, dtype=np.int32)
    for r in range(n):
        by_degree[ends[most - degree[r]]] = r
        ends[most - degree[r]] += 1
    by_position, position = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    for rank in by_degree:
        position[rank] = firsts[group[rank]]
        by_position[position[rank]] = rank
        firsts[group[rank]] += 1
    return by_position, position, group


@njit(cache=True, nogil=True)
def _list(
    vertices: Any, parents: Any, arcs: Any, numbers: Any, lists: Any, counts: Any, begin: int, end: int
) -> None:
    """Fill in vertices, depths, parents and counts of arcs of a range of positions; a root is its parent."""
    (order, depth, parent), (n_inside, n_outside, n_arcs) = lists, counts
    for p in range(begin, end):
        r = numbers.by_position[p]
        order[p], depth[p] = vertices[r], numbers.depth[r]
        parent[p] = numbers.position[parents[r]] if parents[r] >= 0 else p
        n_inside[p], n_outside[p] = arcs.outside[r] - arcs.inside[r], arcs.offsets[r + 1] - arcs.outside[r]
        n_arcs[p] = arcs.offsets[r + 1] - arcs.offsets[r]


@njit(cache=True, nogil=True)
def _gather(
    arcs: Any, order: Any, weights: Any, ends: Any, new_offsets: Any, gathered: Any, begin: int, end: int
) -> None:
    """Fill in the arcs of a range of positions, as `ends` of their heads and weights."""
    for p in range(begin, end):
        at = new_offsets[p]
        for i in range(arcs.offsets[order[p]], arcs.offsets[order[p] + 1]):
            gathered[at, 0], gathered[at, 1] = ends[arcs.up[i]], weights[i]
            at += 1
