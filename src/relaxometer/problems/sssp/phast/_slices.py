"""Rows of arcs, and chains of the elimination tree, in slices that one warp reads at once.

Rows lie in sliced ELLPACK (Monakov, Lokhmotov and Avetisyan, 2010; see ``phast.cu``).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.device.signature import read_source
from relaxometer.graphs.graph import UNREACHED

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]
WARP = 32
# Compiled functions take these as arguments: numba's cache does not see a changed value.
AHEAD = read_source(Path(__file__).with_name("phast.cu")).constants["AHEAD"]
"""Arcs per lane, except for long rows: as many as the kernel reads ahead."""

CHAIN = 2 * AHEAD
"""Maximum vertices of a chain: a lane's row and the weights from all but the last take this many words."""

MAX_ROWS = 1 << 16  # rows of a task that a slice can number
MAX_ROW = 255 * WARP  # arcs of a row that a slice can hold


@dataclass(frozen=True)
class Slices:
    """Rows of arcs in slices, each for a warp to read at once.

    A slice holds 32, 16, ... or 1 rows, whose arcs are read by 1, 2, ... or 32 lanes each. The k-th arcs of
    all lanes are contiguous; missing ones are arcs from row 0 of weight `UNREACHED`. Its entry in the table
    is where its arcs begin, in multiples of 32; then, in one word: its first row (16 bits), number of rows
    less one (5), logarithm of the lanes per row (3), arcs per lane (8).

    A slice of chains has one lane per vertex and no rows. The first word of a lane is its row (16 bits) and
    the first lane of its chain (5). The others are the weights of the arcs from the first, second, ... vertex
    of its chain, `UNREACHED` if there is none. A lane without a vertex has all bits set.
    """

    table: Words  # shape (n_slices, 2)
    arcs: Words  # tail and weight; shape (n_places, 2)
    bounds: Ints  # the first slice of each group of rows, and their number: no slice has rows of two groups


class Arcs(NamedTuple):
    """The upward arcs of a contracted graph, by rank.

    As heads are ancestors, a rank's arcs to its chain come first, then those to other chains of its task.
    """

    offsets: Ints
    inside: Ints  # the first arc of each rank to another chain of its task
    outside: Ints  # and to another task
    up: Small
    weights: Words  # of the arcs downward


class Cut(NamedTuple):
    """Slices before their arcs are filled in."""

    table: Words
    bounds: Ints
    first: Ints  # the position of the first row of each slice, or its first member of a chain, and the end

    @property
    def n_places(self) -> int:
        """Number of places for arcs."""
        return WARP * int(sum(row[0] + (row[1] >> np.uint32(24)) for row in self.table[-1:]))


def cut_rows(degrees: Small, begins: Ints, groups: Ints) -> Cut:
    """Cut rows of arcs into slices; row numbers restart at each of `begins`, slices end at `groups`."""
    cut = Cut(*_cut_rows(degrees, begins, groups, AHEAD))
    _place(cut.table)
    return cut


def cut_chains(chain: Small, place: Small, group: Small, n_groups: int) -> tuple[Cut, Ints, Ints]:
    """Cut the chains of more than one vertex into slices, the longest of a group first.

    The arguments are the chain of each rank, its place in it, and its group. Also returns the ranks in these
    chains, chain by chain, and the lane of each, counted through all slices.
    """
    length = np.bincount(chain, minlength=len(chain))  # by the name of a chain
    chains = np.flatnonzero(length > 1)
    for key in (length.max(initial=0) - length, group):
        chains = chains[stable_order(key[chains])]
    members = _list_members(chains, length, chain, place)
    *parts, lanes = _cut_chains(members, length[chain], group, n_groups)
    cut = Cut(*parts)
    _place(cut.table)
    return cut, members, lanes


@njit(cache=True, nogil=True)
def stable_order(keys: Any) -> Any:
    """Return what `numpy.argsort` does, stable, for small keys from 0: a counting sort, which is faster."""
    largest = 0
    for k in range(len(keys)):
        largest = max(largest, keys[k])
    ends = np.zeros(largest + 2, dtype=np.int64)
    for k in range(len(keys)):
        ends[keys[k] + 1] += 1
    ends = np.cumsum(ends)
    order = np.empty(len(keys), dtype=np.int64)
    for k in range(len(keys)):
        order[ends[keys[k]]] = k
        ends[keys[k]] += 1
    return order


def alternate(first: Cut, second: Cut, arcs: Words) -> Slices:
    """Alternate the groups of two lists of slices; their arcs follow each other."""
    moved = second.table + np.array([first.n_places // WARP, 0], dtype=np.uint32)
    sizes = np.stack([np.diff(first.bounds), np.diff(second.bounds)])
    turn = 2 * np.arange(sizes.shape[1]) + np.array([[0], [1]])
    in_turn = np.argsort(np.repeat(turn.ravel(), sizes.ravel()), kind="stable")
    bounds = np.concatenate([[0], np.cumsum(sizes.T.ravel())])
    return Slices(np.concatenate([first.table, moved])[in_turn], arcs, bounds)


def _place(table: Words) -> None:
    """Fill in where each slice's arcs begin."""
    ends = np.cumsum(table[:, 1] >> np.uint32(24), dtype=np.int64)
    table[1:, 0] = ends[:-1]


@njit(cache=True, nogil=True)
def _cut_rows(degrees: Any, firsts: Any, groups: Any, ahead: int) -> Any:
    """Cut the rows of each group into slices of about `ahead` arcs per lane; leave out empty slices."""
    table = np.zeros((len(degrees), 2), dtype=np.uint32)
    begins = np.empty(len(degrees) + 1, dtype=np.int64)
    bounds = np.zeros(len(groups), dtype=np.int64)
    size, task = 0, 0
    for g in range(len(groups) - 1):
        row = groups[g]
        while firsts[task + 1] <= row < groups[g + 1]:
            task += 1
        while row < groups[g + 1]:
            longest, log_lanes = 0, 0
            for other in range(row, min(row + WARP, groups[g + 1])):
                longest = max(longest, degrees[other])
            while log_lanes < 5 and longest > ahead << log_lanes:
                log_lanes += 1
            rows = min(WARP >> log_lanes, groups[g + 1] - row)
            longest = 0
            for other in range(row, row + rows):
                longest = max(longest, degrees[other])
            if longest > 0:
                per_lane = (longest + (1 << log_lanes) - 1) >> log_lanes
                word = (row - firsts[task]) | (rows - 1) << 16 | log_lanes << 21 | per_lane << 24
                table[size, 1] = word
                begins[size] = row
                size += 1
            row += rows
        bounds[g + 1] = size
    begins[size] = len(degrees)
    return table[:size].copy(), bounds, begins[: size + 1].copy()


@njit(cache=True, nogil=True)
def fill_rows(cut: Any, rows: Any, placed: Any, begin: int, end: int) -> None:
    """Fill in the arcs of a range of slices, as what `heads` has for their heads, and weights.

    `rows` are the rank at each position; by rank, where arcs begin and end; their heads and weights; `heads`.
    """
    order, begins, ends, up, weights, heads = rows
    for s in range(begin, end):
        word = np.int64(cut.table[s, 1])
        lanes, first = 1 << ((word >> 21) & 7), np.int64(cut.table[s, 0]) * WARP
        for k in range(first, first + (word >> 24) * WARP):
            placed[k, 0], placed[k, 1] = 0, UNREACHED
        for k in range(((word >> 16) & 31) + 1):
            r = order[cut.first[s] + k]
            for i in range(begins[r], ends[r]):
                j = i - begins[r]
                at = first + j // lanes * WARP + k * lanes + j % lanes
                placed[at, 0], placed[at, 1] = heads[up[i]], weights[i]


@njit(cache=True, nogil=True)
def _list_members(chains: Any, length: Any, chain: Any, place: Any) -> Any:
    """Return the ranks of the given chains, chain by chain."""
    begin = np.full(len(chain), -1, dtype=np.int64)
    size = 0
    for name in chains:
        begin[name] = size
        size += length[name]
    members = np.empty(size, dtype=np.int64)
    for r in range(len(chain)):
        if begin[chain[r]] >= 0:
            members[begin[chain[r]] + place[r]] = r
    return members


@njit(cache=True, nogil=True)
def _cut_chains(members: Any, length: Any, group: Any, n_groups: int) -> Any:
    """Cut chains into slices as long as their longest chain, which comes first.

    Returns the slices, their bounds by group, the first member of each, and the lane of each member, counted
    through all slices.
    """
    table = np.zeros((len(members), 2), dtype=np.uint32)
    per_group = np.zeros(n_groups + 1, dtype=np.int64)
    begins = np.empty(len(members) + 1, dtype=np.int64)
    lanes = np.zeros(len(members), dtype=np.int64)
    size, lane, m = 0, WARP, 0
    while m < len(members):
        r = members[m]
        if lane + length[r] > WARP or group[r] != group[members[m - 1]]:
            table[size, 1] = ((length[r] + 1) // 2) << 24
            per_group[group[r] + 1] += 1
            begins[size] = m
            size += 1
            lane = 0
        for _ in range(length[r]):
            lanes[m] = WARP * (size - 1) + lane
            lane += 1
            m += 1
    begins[size] = len(members)
    return table[:size].copy(), np.cumsum(per_group), begins[: size + 1].copy(), lanes


@njit(cache=True, nogil=True)
def fill_chains(
    cut: Any, arcs: Any, members: Any, lanes: Any, place: Any, row: Any, placed: Any, begin: int, end: int
) -> None:
    """Fill in the rows and weights of a range of slices of chains."""
    for s in range(begin, end):
        first = np.int64(cut.table[s, 0]) * WARP
        placed[first : first + np.int64(cut.table[s, 1] >> np.uint32(24)) * WARP] = UNREACHED
        for m in range(cut.first[s], cut.first[s + 1]):
            r, lane = members[m], lanes[m] % WARP
            at = first + lane
            placed[at, 0] = row[r] | (lane - place[r]) << 16
            for i in range(arcs.offsets[r], arcs.inside[r]):
                word = 1 + place[arcs.up[i]]
                placed[at + word // 2 * WARP, word % 2] = arcs.weights[i]
