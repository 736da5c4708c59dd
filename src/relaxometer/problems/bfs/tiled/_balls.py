"""Balls: what lies within a few hops of a vertex, so that a search advances several levels per phase."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Module
from relaxometer.device.signature import read_source
from relaxometer.problems.sssp._cooperative import threads_per_block
from relaxometer.problems.sssp.tiled._device_tiles import DeviceTiling
from relaxometer.problems.variants import Skipped

SOURCE = read_source(Path(__file__).with_name("_balls.cu"))
RIM, NO_ENTRY = (SOURCE.constants[name] for name in ("RIM", "NO_ENTRY"))
WORD_BITS = 16
ENTRY_BYTES = 2
MAX_INDICES = RIM - 1  # balls of a tile and arcs that leave it, together; one index is left for `NO_ENTRY`
BLOCK = 256  # threads per block that fill balls, as in the kernel's launch bounds


@dataclass(frozen=True)
class Balls:
    """The vertices within a few hops of each vertex of a tiling, in balls of equal size.

    A ball holds the vertices within some number of hops of its own vertex: the largest number for which they
    fit. Paths end where they leave the tile. Of the heads in the tile, those of the most hops are the rim:
    all arcs out of the others lead to heads of the ball with at most one hop more. A vertex with more arcs
    than a ball holds has further balls, to which the last entry of each leads.

    An entry, uint16, is `RIM` or 0, hops - 1 in the next bits, and an index in the lowest `index_bits`. An
    index below `capacity` is a vertex of the tile, one of the next `outside` an arc that leaves the tile,
    else, less `outside`, a ball. `NO_ENTRY` fills up. Ball v is of the tile's vertex v; others follow.
    """

    entries: DeviceArray  # shape (n_tiles, n_balls, size)
    slots: DeviceArray  # mail slots of the heads of arcs that leave a tile; shape (n_tiles, outside)
    capacity: int  # vertices of the largest tile, rounded up to a multiple of four
    index_bits: int
    reach: int  # largest number of hops


class Needs(NamedTuple):
    """Maximum memory of a tile for balls of one size."""

    outside: int  # arcs that leave a tile
    n_balls: int  # balls per tile, rounded up so that their bytes are a multiple of 16


class Filler:
    """Fills the balls of a tiling's vertices on the device."""

    def __init__(self, device: Device, tiling: DeviceTiling, n_tiles: int) -> None:
        self._device, self._n_tiles, self._n = device, n_tiles, len(tiling.order)
        self.capacity = -(-tiling.largest // 4) * 4
        self._module = _module(device)
        self._map = self._module.struct(
            "Map", begins=tiling.begins, rows=tiling.rows, first=tiling.first, arcs=tiling.arcs
        )
        self._before, self._totals = device.empty_arrays(
            *(((count, 2), np.uint32) for count in (self._n, n_tiles))
        )

    def needs(self, size: int) -> Needs:
        """Return what balls of `size` entries need; waits for the device."""
        most = self._device.xp.zeros(2, dtype=np.uint32)
        arguments = self._map, np.uint32(size), self._before, self._totals, most
        threads = threads_per_block(self._device, 1024)
        self._module.get_function("number_needs")(self._n_tiles, threads, arguments)
        outside, further = self._device.asnumpy(most).tolist()
        return Needs(outside, -(-(self.capacity + further) // 8) * 8)

    def fill(self, size: int, reach: int, needs: Needs) -> Balls:
        """Fill balls of `size` entries with heads of at most `reach` hops; `needs` is that of the same size.

        Skipped if the indices of a tile need more than 15 bits.
        """
        indices = needs.n_balls + needs.outside
        if indices > MAX_INDICES:
            raise Skipped(
                f"a tile has {needs.n_balls} balls and {needs.outside} arcs that leave it; made for maps"
            )
        bits = indices.bit_length()
        reach = min(reach, 1 << WORD_BITS - 1 - bits)
        entries, slots = self._device.empty_arrays(
            ((self._n_tiles, needs.n_balls, size), np.uint16),
            ((self._n_tiles, max(1, needs.outside)), np.uint32),
        )
        threads = threads_per_block(self._device, BLOCK)
        per_tile = -(-max(needs.n_balls, needs.outside) // threads)
        balls = self._module.struct(
            "Balls",
            before=self._before,
            totals=self._totals,
            entries=entries,
            slots=slots,
            capacity=np.uint32(self.capacity),
            outside=np.uint32(needs.outside),
            n_balls=np.uint32(needs.n_balls),
            size=np.uint32(size),
            index_bits=np.uint32(bits),
            reach=np.uint32(reach),
            per_tile=np.uint32(per_tile),
        )
        shared_bytes = ENTRY_BYTES * size * (threads + 2)
        kernel = self._module.get_function("fill_balls")
        kernel(self._n_tiles * per_tile, threads, (self._map, balls), shared_mem=shared_bytes)
        return Balls(entries, slots[:, : needs.outside], self.capacity, bits, reach)


@functools.cache
def _module(device: Device) -> Module:
    return device.module(SOURCE.path)
