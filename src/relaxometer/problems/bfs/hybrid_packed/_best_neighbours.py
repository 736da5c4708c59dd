"""The best neighbours of every vertex, which a bottom-up search probes first."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.problems.bfs._levels import WARP, filling
from relaxometer.problems.bfs._prepare import ALL_ARCS

KERNELS = Path(__file__).with_name("_best_neighbours.cu")
_CONSTANTS = read_source(KERNELS).constants
MAX_VERTICES = _CONSTANTS["PACKED_ID"] + 1  # vertices that a packed entry can name
OTHERS = _CONSTANTS["OTHERS"]  # neighbours packed in addition to the best one
LANES = 8  # that take a row together
FEW_ID_BITS = 24  # of vertices that are ranked by keys of 32 bits
MOST_DIGITS = (127 + 31 << 3) + 6  # of a float32 of 2**31; 255 less are those of 0
BEST_OF = 32  # arcs of a row among which the best neighbours are chosen; simulated in docs/performance/bfs.md


@dataclass(frozen=True)
class BestNeighbours:
    """The neighbours of lowest rank of each vertex, packed as in ``_best_neighbours.cuh``, uint32."""

    rank: DeviceArray  # place of each vertex by falling number of incoming arcs
    ids: Any  # the vertex of each rank
    best: Any  # the best neighbour of each vertex, packed
    best_ids: Any  # and its id
    others: Any  # the next four


def best_neighbours(
    device: Device,
    rows: tuple[Any, Any],
    n_hubs: int,
    most: int | None = BEST_OF,
    *,
    degrees: Any = None,
    first: int = 0,
) -> BestNeighbours:
    """Rank the vertices, and pack the best neighbours of each among the first `most` arcs of its row, or all.

    `rows` are offsets and tails of the incoming arcs. Entries name `n_hubs` vertices by their rank. If rows
    are only those of the vertices from `first` on, `degrees` has the incoming arcs of all, integers.
    """
    xp, n = device.xp, len(rows[0]) - 1
    ids = _by_falling_degree(xp, xp.diff(rows[0]) if degrees is None else degrees)
    rank = xp.empty(len(ids), dtype=xp.uint32)
    rank[ids] = xp.arange(len(ids), dtype=xp.uint32)
    best, best_ids = xp.empty(n, dtype=xp.uint32), xp.empty(n, dtype=xp.uint32)
    others = xp.empty(OTHERS * n, dtype=xp.uint32)
    pack = device.module(KERNELS).get_function("pack_neighbours")
    lanes = LANES if most else WARP  # a whole warp for the rows of hubs
    limits = np.uint32(n_hubs), np.uint32(most or ALL_ARCS), np.uint32(lanes)
    pack(
        *filling(device, pack),
        (np.uint32(n), np.uint32(first), *rows, rank, ids, *limits, best, best_ids, others),
    )
    return BestNeighbours(rank, ids, best, best_ids, others)


def _by_falling_degree(xp: Any, degrees: DeviceArray) -> Any:
    """Return the vertices by falling degree.

    In graphs of at most 2**24 vertices by its first four binary digits only, so that keys have 32 bits.
    """
    id_bits = max(1, (len(degrees) - 1).bit_length())
    if id_bits <= FEW_ID_BITS:
        digits = degrees.astype(xp.float32).view(xp.uint32) >> xp.uint32(20)  # exponent and three more
        classes = xp.uint32(MOST_DIGITS) - xp.clip(digits, MOST_DIGITS - 255, MOST_DIGITS)
        keys = classes << xp.uint32(id_bits) | xp.arange(len(degrees), dtype=xp.uint32)
        keys.sort()
        return keys & xp.uint32((1 << id_bits) - 1)
    most, half = xp.uint64(2**32 - 1), xp.uint64(32)
    keys = (most - xp.minimum(degrees.astype(xp.uint64), most)) << half
    keys |= xp.arange(len(degrees), dtype=xp.uint64)
    keys.sort()
    return keys.astype(xp.uint32)
