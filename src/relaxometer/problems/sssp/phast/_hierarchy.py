"""Contraction hierarchies cut into tasks for blocks to sweep.

A separator becomes a path of the elimination tree, and each of its vertices needs nearly all above it. So the
tree is cut into short chains, the arcs within a chain are stored apart, and levels consist of chains, not of
vertices: there are fewer of them. (Sparse triangular solvers call these supernodes.)
"""

import heapq
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.graphs.graph import offsets_of
from relaxometer.problems.sssp.phast import _ranges
from relaxometer.problems.sssp.phast._cch import Contraction
from relaxometer.problems.sssp.phast._fill import subtree_sizes, subtrees
from relaxometer.problems.sssp.phast._slices import (
    AHEAD,
    CHAIN,
    MAX_ROWS,
    Cut,
    Slices,
    alternate,
    cut_chains,
    cut_rows,
    joined,
    stable_order,
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

PLACE_BIT = 16  # of the place in a chain in a word, above the number in a task


@dataclass(frozen=True)
class Hierarchy:
    """A hierarchy cut into stages of tasks, which are subtrees that need only earlier stages.

    The first stage is one task. The last has most of the vertices; what is above it is the top.

    Vertices are numbered by task, then level: a chain's level is one more than the highest of those that its
    vertices need in its own task. A level has two steps: arcs from above, then its chains.

    As heads are ancestors, a rank's arcs to its chain come first, then those to other chains of its task.
    """

    cch: Contraction  # what is cut
    stages: Words  # the first task of each stage, and the number of tasks
    task_begins: Words  # the first position of each task, and the number of vertices
    task_steps: Words  # the first step of each task, and their number; a step is a group of `inside`
    ranks: Small  # the rank at each position
    position: Words  # of each vertex of the graph
    places: Words  # of each rank: the number in its task and, from `PLACE_BIT` on, the place in its chain
    first_inside: Words  # of each rank: the first arc to another chain of its task
    first_outside: Words  # and to another task
    depth: Words  # number of ancestors of each rank in the elimination tree
    rows: Cut  # arcs between chains of a task, by level
    chains: Cut  # chains of several vertices, by level
    members: Small  # their ranks, chain by chain
    outside: Cut  # arcs between tasks, by task
    inside: Slices  # `rows` and `chains` in turn

    @property
    def top(self) -> int:
        """Number of vertices above the last stage."""
        return int(self.task_begins[self.stages[-2]])


class _Tree(NamedTuple):
    """What is known of each rank before the layout, for compiled functions."""

    order: Small
    offsets: Ints
    up: Small
    parent: Small


class _Lists(NamedTuple):
    """What the layout fills in; `ranks` by position, `position` by vertex, the others by rank."""

    ranks: Small
    task: Small
    chain: Small  # named by its highest member
    place: Small  # in the chain
    tallest: Small  # the child of the tallest subtree in the task, or -1
    level: Small
    position: Words
    places: Words
    first_inside: Words
    first_outside: Words


def lay_out(cch: Contraction, n_tasks: int, middle: Sequence[int], pool: Executor) -> Hierarchy:
    """Cut a contracted graph into a first task, stages of `middle` tasks each, and `n_tasks`.

    Skipped if a row or a task has more than slices can hold.
    """
    n, stages = len(cch.parent), np.cumsum([0, 1, *middle, n_tasks])
    measuring = pool.submit(_depths, cch.parent)
    spans = _tasks(cch, stages)
    tasks = _bounds(spans[:, 0], int(stages[-1]))
    begins = np.cumsum([0, *(spans[:, 2] - spans[:, 1])])[tasks]
    largest = int(np.diff(begins).max())
    if largest > MAX_ROWS:
        raise Skipped(f"made for maps; a part would have {largest} vertices, over {MAX_ROWS}")
    tree = _Tree(cch.order, cch.offsets, cch.up, cch.parent)
    lists = _Lists(*np.zeros((6, n), dtype=np.int32), *np.zeros((4, n), dtype=np.uint32))
    plan = spans, tasks, begins, CHAIN, AHEAD, PLACE_BIT
    cuts = _ranges.begin(pool, int(stages[-1]), _lay_out, tree, lists, *plan, least=1)
    levels, members, rows, chains, outside = zip(*(cut.result() for cut in cuts), strict=True)
    steps = 2 * offsets_of(np.concatenate(levels))
    in_rows, in_chains = joined(rows), joined(chains)
    return Hierarchy(
        cch=cch,
        stages=stages.astype(np.uint32),
        task_begins=begins.astype(np.uint32),
        task_steps=steps.astype(np.uint32),
        ranks=lists.ranks,
        position=lists.position,
        places=lists.places,
        first_inside=lists.first_inside,
        first_outside=lists.first_outside,
        depth=measuring.result(),
        rows=in_rows,
        chains=in_chains,
        members=np.concatenate(members),
        outside=joined(outside),
        inside=alternate(in_rows, in_chains),
    )


def _bounds(group: Ints, n_groups: int) -> Ints:
    """Return where each group begins among items sorted by group."""
    return offsets_of(np.bincount(group, minlength=n_groups))


def _tasks(cch: Contraction, stages: Ints) -> Ints:
    """Give each task, as balanced as possible, ranges of ranks; return tasks, begins and ends in order."""
    begins = stages.tolist()
    for per_task in range(SUBTREES_PER_TASK, 0, -1):
        n_subtrees = per_task * (begins[-1] - begins[-2])
        roots, above, dealt = _deal(cch.size, cch.offsets, n_subtrees, begins[-2], begins[-1])
        if len(above) <= MAX_TOP:
            break
    spans = [(dealt, roots + 1 - cch.size[roots], roots + 1)]
    for first, end in zip(begins[-3:0:-1], begins[-2:1:-1], strict=True):  # cuts what is left above
        parent, offsets = cch.parent[above], offsets_of(cch.offsets[above + 1] - cch.offsets[above])
        parent = np.where(parent >= 0, np.searchsorted(above, parent), -1)
        size = subtree_sizes(parent, np.ones(len(above), dtype=np.int32))
        n_subtrees = SUBTREES_PER_MIDDLE_TASK * (end - first)
        roots, left, dealt = _deal(size, offsets, n_subtrees, first, end)
        below = np.delete(above, left)
        spans.append((np.repeat(dealt, size[roots]), below, below + 1))
        above = above[left]
    spans.append((np.zeros_like(above), above, above + 1))
    listed = np.concatenate([np.stack(columns, axis=1) for columns in spans])
    return listed[np.lexsort((listed[:, 1], listed[:, 0]))]


def _deal(size: Small, offsets: Ints, n_subtrees: int, first: int, end: int) -> tuple[Ints, Ints, Ints]:
    """Deal about the `n_subtrees` largest subtrees to tasks; return roots, the ranks above, and the tasks."""
    limit = (offsets[-1] + WORK_PER_VERTEX * len(size)) / n_subtrees
    roots, above = subtrees(size, offsets, WORK_PER_VERTEX, limit)
    begins = offsets[roots + 1 - size[roots]]
    work = offsets[roots + 1] - begins + WORK_PER_VERTEX * size[roots]
    loads, dealt = [(0, k) for k in range(first, end)], np.empty_like(roots)
    for k in np.argsort(-work, kind="stable").tolist():
        load, task = loads[0]
        dealt[k] = task
        heapq.heapreplace(loads, (load + int(work[k]), task))
    return roots, above, dealt


@njit(cache=True, nogil=True)
def _depths(parent: Any) -> Any:
    """Return the number of ancestors of each rank."""
    depth = np.zeros(len(parent), dtype=np.uint32)
    for r in range(len(parent) - 1, -1, -1):
        if parent[r] >= 0:
            depth[r] = depth[parent[r]] + np.uint32(1)
    return depth


@njit(cache=True, nogil=True)
def _lay_out(
    tree: Any,
    lists: Any,
    spans: Any,
    tasks: Any,
    begins: Any,
    longest: int,
    ahead: int,
    place_bit: int,
    begin: int,
    end: int,
) -> Any:
    """Sort the ranks of a range of tasks by task, level and falling number of arcs, and cut their slices.

    Returns the levels of each task, the ranks in chains of several, and slices of rows, of these chains, and
    of arcs from other tasks.
    """
    first = begins[begin]
    firsts, ranks = begins[begin : end + 1] - first, lists.ranks[first : begins[end]]
    size = 0
    for s in range(tasks[begin], tasks[end]):
        for r in range(spans[s, 1], spans[s, 2]):
            ranks[size], lists.task[r] = r, spans[s, 0]
            size += 1
    cut_into_chains(ranks, tree.parent, lists.task, longest, lists.chain, lists.place, lists.tallest)
    n_levels = _find_levels(ranks, tree.parent, lists, begin, end)
    _split(ranks, tree, lists)
    members, chains = _slice_chains(ranks, lists, n_levels.sum())
    groups, degrees = _sort(ranks, tree.offsets, lists, n_levels.sum())
    for k in range(size):
        r = ranks[k]
        lists.position[tree.order[r]] = first + k
        lists.places[r] = k - firsts[lists.task[r] - begin] | lists.place[r] << place_bit
    rows = cut_rows(degrees[0], firsts, groups, ahead)
    return n_levels, members, rows, chains, cut_rows(degrees[1], firsts, firsts, ahead)


@njit(cache=True, nogil=True)
def cut_into_chains(
    ranks: Any, parent: Any, task: Any, longest: int, chain: Any, place: Any, tallest: Any
) -> None:
    """Fill in the chains of ascending ranks, each named by its highest member, and places in the chains.

    A chain continues with the child of the tallest subtree, which is filled in, too, within its task and up
    to `longest` vertices. Other threads may fill in what belongs to other tasks, so it is not compared.
    """
    for r in ranks:
        place[r], tallest[r] = 0, -1
    for r in ranks:
        p = parent[r]
        if p >= 0 and task[p] == task[r] and place[r] >= place[p]:  # the height, for now
            place[p], tallest[p] = place[r] + 1, r
    for r in ranks[::-1]:
        p = parent[r]
        chain[r], place[r] = r, 0
        if p >= 0 and task[p] == task[r] and tallest[p] == r and place[p] + 1 < longest:
            chain[r], place[r] = chain[p], place[p] + 1


@njit(cache=True, nogil=True)
def _find_levels(ranks: Any, parent: Any, lists: Any, begin: int, end: int) -> Any:
    """Fill in each rank's level, counted through all of a range of tasks; return the levels of each task."""
    task, chain, level = lists.task, lists.chain, lists.level
    n_levels = np.zeros(end - begin, dtype=np.int64)
    for r in ranks[::-1]:
        p = parent[r]
        level[r] = level[p] + (chain[p] != chain[r]) if p >= 0 and task[p] == task[r] else 0
        n_levels[task[r] - begin] = max(n_levels[task[r] - begin], level[r] + 1)
    firsts = np.cumsum(n_levels) - n_levels
    for r in ranks:
        level[r] += firsts[task[r] - begin]
    return n_levels


@njit(cache=True, nogil=True)
def _split(ranks: Any, tree: Any, lists: Any) -> None:
    """Find the first arcs of ranks to other chains of their task, and to other tasks."""
    offsets, up, task, chain = tree.offsets, tree.up, lists.task, lists.chain
    for r in ranks:
        i = offsets[r]
        while i < offsets[r + 1] and task[up[i]] == task[r] and chain[up[i]] == chain[r]:
            i += 1
        lists.first_inside[r] = i
        while i < offsets[r + 1] and task[up[i]] == task[r]:
            i += 1
        lists.first_outside[r] = i


@njit(cache=True, nogil=True)
def list_chains(ranks: Any, chain: Any, tallest: Any) -> Any:
    """Return the names and lengths of chains of several of some ranks."""
    names, lengths, size = np.empty(len(ranks), dtype=np.int32), np.zeros(len(ranks), dtype=np.int32), 0
    for name in ranks:
        if chain[name] == name and tallest[name] >= 0 and chain[tallest[name]] == name:
            names[size], r = name, name
            while r >= 0 and chain[r] == name:
                lengths[size] += 1
                r = tallest[r]
            size += 1
    return names[:size], lengths[:size]


@njit(cache=True, nogil=True)
def _slice_chains(ranks: Any, lists: Any, n_levels: int) -> Any:
    """Return the members of chains of several ranks, the longest of a level first, and their slices."""
    names, lengths = list_chains(ranks, lists.chain, lists.tallest)
    order = stable_order(lengths, True)
    order = order[stable_order(lists.level[names[order]], False)]
    names, lengths = names[order], lengths[order]
    members = np.empty(lengths.sum(), dtype=np.int32)
    size = 0
    for k in range(len(names)):
        r = names[k]
        for _ in range(lengths[k]):
            members[size] = r
            r = lists.tallest[r]
            size += 1
    return members, cut_chains(lengths, lists.level[names], n_levels)


@njit(cache=True, nogil=True)
def _sort(ranks: Any, offsets: Any, lists: Any, n_levels: int) -> Any:
    """Sort ranks by level and falling number of arcs in the task; return where levels begin, and degrees.

    These are the numbers of arcs in the task but those in chains, and to other tasks.
    """
    degree = np.empty(len(ranks), dtype=np.int32)
    for k in range(len(ranks)):
        degree[k] = lists.first_outside[ranks[k]] - lists.first_inside[ranks[k]]
    order = stable_order(degree, True)
    order = order[stable_order(lists.level[ranks[order]], False)]
    ranks[:] = ranks[order]
    groups, degrees = np.zeros(n_levels + 1, dtype=np.int64), np.empty((2, len(ranks)), dtype=np.int32)
    for k in range(len(ranks)):
        r = ranks[k]
        groups[lists.level[r] + 1] += 1
        degrees[0, k] = degree[order[k]]
        degrees[1, k] = offsets[r + 1] - lists.first_outside[r]
    return np.cumsum(groups), degrees
