"""Rows of arcs, and chains of the elimination tree, in slices that one warp reads at once.

Rows lie in sliced ELLPACK (Monakov, Lokhmotov and Avetisyan, 2010; see ``phast.cu``).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.device.signature import read_source
from relaxometer.graphs.graph import offsets_of

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


class Slices(NamedTuple):
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
    bounds: Ints  # the first slice of each group of rows, and their number: no slice has rows of two groups


class Cut(NamedTuple):
    """Slices of one kind, and what they hold."""

    table: Words
    bounds: Ints
    first: Ints  # the position of the first row of each slice, or its first member of a chain, and the end

    @property
    def n_places(self) -> int:
        """Number of places for arcs."""
        return WARP * int(sum(row[0] + (row[1] >> np.uint32(24)) for row in self.table[-1:]))


def joined(cuts: Sequence[tuple[Words, Ints, Ints]]) -> Cut:
    """Return slices that were cut in parts, and fill in where their arcs begin: all follow each other."""
    tables, bounds, firsts = zip(*cuts, strict=True)
    table = np.concatenate(tables)
    table[1:, 0] = np.cumsum(table[:, 1] >> np.uint32(24), dtype=np.int64)[:-1]
    sizes = np.concatenate([np.diff(one) for one in bounds])
    begins = np.cumsum([0, *(one[-1] for one in firsts)])
    first = [one[:-1] + begin for one, begin in zip(firsts, begins, strict=False)]
    return Cut(table, offsets_of(sizes), np.concatenate([*first, begins[-1:]]))


def alternate(first: Cut, second: Cut) -> Slices:
    """Alternate the groups of two lists of slices; the arcs of the second follow those of the first."""
    moved = second.table + np.array([first.n_places // WARP, 0], dtype=np.uint32)
    sizes = np.stack([np.diff(first.bounds), np.diff(second.bounds)])
    turn = 2 * np.arange(sizes.shape[1]) + np.array([[0], [1]])
    in_turn = np.argsort(np.repeat(turn.ravel(), sizes.ravel()), kind="stable")
    return Slices(np.concatenate([first.table, moved])[in_turn], offsets_of(sizes.T.ravel()))


@njit(cache=True, nogil=True)
def stable_order(keys: Any, falls: bool) -> Any:
    """Return the stable order of small keys from 0, the largest first if it `falls`: a counting sort."""
    largest = 0
    for k in range(len(keys)):
        largest = max(largest, keys[k])
    ends = np.zeros(largest + 2, dtype=np.int64)
    for k in range(len(keys)):
        ends[(largest - keys[k] if falls else keys[k]) + 1] += 1
    ends = np.cumsum(ends)
    order = np.empty(len(keys), dtype=np.int64)
    for k in range(len(keys)):
        key = largest - keys[k] if falls else keys[k]
        order[ends[key]] = k
        ends[key] += 1
    return order


@njit(cache=True, nogil=True)
def cut_rows(degrees: Any, firsts: Any, groups: Any, ahead: int) -> Any:
    """Cut rows of arcs into slices of about `ahead` arcs per lane; leave out empty slices.

    Row numbers restart at each of `firsts`, slices end at `groups`. Where their arcs begin is left 0.
    """
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
def cut_chains(lengths: Any, groups: Any, n_groups: int) -> Any:
    """Cut chains, sorted by group, into slices as long as their longest chain, which comes first."""
    table = np.zeros((len(lengths), 2), dtype=np.uint32)
    bounds = np.zeros(n_groups + 1, dtype=np.int64)
    begins = np.empty(len(lengths) + 1, dtype=np.int64)
    size, lane, members = 0, WARP, 0
    for k in range(len(lengths)):
        if lane + lengths[k] > WARP or groups[k] != groups[k - 1]:
            table[size, 1] = ((lengths[k] + 1) // 2) << 24
            bounds[groups[k] + 1] += 1
            begins[size] = members
            size += 1
            lane = 0
        lane += lengths[k]
        members += lengths[k]
    begins[size] = members
    return table[:size].copy(), np.cumsum(bounds), begins[: size + 1].copy()
