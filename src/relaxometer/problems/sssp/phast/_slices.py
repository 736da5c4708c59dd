"""Rows of arcs, and chains of the elimination tree, in slices that one warp reads at once.

Rows lie in sliced ELLPACK (Monakov, Lokhmotov and Avetisyan, 2010; see ``phast.cu``).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.device.signature import read_source
from relaxometer.graphs.graph import UNREACHED

Ints = npt.NDArray[np.int64]
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


def slice_rows(offsets: Ints, arcs: Words, begins: Ints, groups: Ints) -> Slices:
    """Put rows of arcs into slices; row numbers restart at each of `begins`, slices end at `groups`."""
    first = np.repeat(begins[:-1], np.diff(begins))
    table, bounds = _cut_rows(np.diff(offsets), first, groups, AHEAD)
    n_places = _place(table)
    return Slices(table, _fill_rows(table, offsets, arcs, first, groups, bounds, n_places), bounds)


def slice_chains(
    offsets: Ints, up: Ints, downward: Words, chain: Ints, place: Ints, row: Ints, group: Ints, n_groups: int
) -> Slices:
    """Put the chains of more than one vertex into slices, the longest of a group first.

    The arguments are the upper neighbours of each rank and the weights of the arcs from them; then the chain
    of each rank, its place in it, its row in its task, and its group.
    """
    length = np.bincount(chain, minlength=len(chain))  # by the name of a chain
    chains = np.flatnonzero(length > 1)
    for key in (length.max(initial=0) - length, group):
        chains = chains[stable_order(key[chains])]
    members = _list_members(chains, length, chain, place)
    length = length[chain]
    table, bounds, lanes = _cut_chains(members, length, group, n_groups)
    n_places = _place(table)
    placed = _fill_chains(table, lanes, members, place, row, offsets, up, downward, chain, n_places)
    return Slices(table, placed, bounds)


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


def alternate(first: Slices, second: Slices) -> Slices:
    """Alternate the groups of two lists of slices."""
    moved = second.table + np.array([len(first.arcs) // WARP, 0], dtype=np.uint32)
    sizes = np.stack([np.diff(first.bounds), np.diff(second.bounds)])
    turn = 2 * np.arange(sizes.shape[1]) + np.array([[0], [1]])
    in_turn = np.argsort(np.repeat(turn.ravel(), sizes.ravel()), kind="stable")
    return Slices(
        np.concatenate([first.table, moved])[in_turn],
        np.concatenate([first.arcs, second.arcs]),
        np.concatenate([[0], np.cumsum(sizes.T.ravel())]),
    )


def _place(table: Words) -> int:
    """Fill in where each slice's arcs begin; return the number of places."""
    begins = np.concatenate([[0], np.cumsum(table[:, 1] >> np.uint32(24), dtype=np.int64)])
    table[:, 0] = begins[:-1]
    return WARP * int(begins[-1])


@njit(cache=True, nogil=True)
def _cut_rows(degrees: Any, first: Any, groups: Any, ahead: int) -> Any:
    """Cut the rows of each group into slices of about `ahead` arcs per lane; leave out empty slices."""
    table = np.zeros((len(degrees), 2), dtype=np.uint32)
    bounds = np.zeros(len(groups), dtype=np.int64)
    size = 0
    for g in range(len(groups) - 1):
        row = groups[g]
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
                word = (row - first[row]) | (rows - 1) << 16 | log_lanes << 21 | per_lane << 24
                table[size, 1] = word
                size += 1
            row += rows
        bounds[g + 1] = size
    return table[:size].copy(), bounds


@njit(cache=True, nogil=True)
def _fill_rows(
    table: Any, offsets: Any, arcs: Any, first: Any, groups: Any, bounds: Any, n_places: int
) -> Any:
    placed = np.empty((n_places, 2), dtype=np.uint32)
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

    Returns the slices, their bounds by group, and the lane of each member, counted through all slices.
    """
    table = np.zeros((len(members), 2), dtype=np.uint32)
    per_group = np.zeros(n_groups + 1, dtype=np.int64)
    lanes = np.zeros(len(members), dtype=np.int64)
    size, lane, m = 0, WARP, 0
    while m < len(members):
        r = members[m]
        if lane + length[r] > WARP or group[r] != group[members[m - 1]]:
            table[size, 1] = ((length[r] + 1) // 2) << 24
            per_group[group[r] + 1] += 1
            size += 1
            lane = 0
        for _ in range(length[r]):
            lanes[m] = WARP * (size - 1) + lane
            lane += 1
            m += 1
    return table[:size].copy(), np.cumsum(per_group), lanes


@njit(cache=True, nogil=True)
def _fill_chains(
    table: Any,
    lanes: Any,
    members: Any,
    place: Any,
    row: Any,
    offsets: Any,
    up: Any,
    downward: Any,
    chain: Any,
    n_places: int,
) -> Any:
    placed = np.full((n_places, 2), UNREACHED, dtype=np.uint32)
    for m in range(len(members)):
        r, lane = members[m], lanes[m] % WARP
        at = np.int64(table[lanes[m] // WARP, 0]) * WARP + lane
        placed[at, 0] = row[r] | (lane - place[r]) << 16
        for i in range(offsets[r], offsets[r + 1]):
            if chain[up[i]] == chain[r]:
                word = 1 + place[up[i]]
                placed[at + word // 2 * WARP, word % 2] = downward[i]
    return placed
