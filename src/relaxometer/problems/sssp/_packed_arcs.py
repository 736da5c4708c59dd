"""A layout of arcs that needs few dependent reads, made by kernels on the device."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import Device, blocks_for
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.graphs.lengths import LENGTHS, Lengths, deviation_of, mean_weight
from relaxometer.problems.variants import Skipped

_KERNELS = Path(__file__).with_name("_packed_arcs.cu")
_CONSTANTS = read_source(_KERNELS.with_suffix(".cuh")).constants
FIRST, NO_ARC, MORE_ARCS = (_CONSTANTS[name] for name in ("FIRST", "NO_ARC", "MORE_ARCS"))
BLOCK = 256
MAX_ARCS = 2**32 - 2**10
"""Arcs that kernels number with 32 bits: the step of a block from the last one must not wrap to the first."""


class PackedArcs:
    """The arcs of a graph, given as the device arrays of its CSR and the type of its weights.

    The constructor does not wait for the device. `rows`, of shape (n_vertices, 2), uint32, are where a
    vertex's arcs begin and end, in 8 bytes. `arcs`, of shape (n_arcs, 2), uint32 or uint64, are head and bits
    of the weight, in 8 or 16 bytes. Skipped if the graph has more than `MAX_ARCS` arcs.
    """

    def __init__(
        self,
        device: Device,
        offsets: DeviceArray,
        targets: DeviceArray,
        weights: DeviceArray,
        lengths: Lengths = LENGTHS["uint32"],
    ) -> None:
        n, n_arcs, xp = len(offsets) - 1, len(targets), device.xp
        if n_arcs > MAX_ARCS:
            raise Skipped(f"{n_arcs:,} arcs; the kernels number at most {MAX_ARCS:,}")
        self._device, self._lengths = device, lengths
        self._module = device.module(_KERNELS, options=lengths.weight_options)
        self.rows = xp.empty((n, 2), dtype=xp.uint32)
        self.arcs = xp.empty((n_arcs, 2), dtype=lengths.weight_word)
        self._sums = xp.zeros(3, dtype=xp.uint64)
        self._floats = weights.view(lengths.dtype) if lengths.dtype != np.uint32 else None
        self._launch("pack_arcs", n_arcs, (np.uint64(n_arcs), targets, weights, self.arcs, self._sums))
        self._launch("pack_rows", n, (np.uint32(n), offsets.astype(xp.int64, copy=False), self.rows))

    def first(self) -> Any:
        """Return the first four arcs of every vertex, device array of shape (n_vertices, 4, 2), as `arcs`.

        The vertex's number gives their address, so kernels read them without looking up the row. `NO_ARC`
        replaces missing heads, and `MORE_ARCS` the fourth if the vertex has more arcs.
        """
        n, xp = len(self.rows), self._device.xp
        first = xp.empty((n, FIRST, 2), dtype=self.arcs.dtype)
        self._launch("pack_first", n, (np.uint32(n), self.rows, self.arcs, first))
        return first

    def weight_statistics(self) -> tuple[float, float]:
        """Return mean and standard deviation of all weights, exact but for rounding; 0 without arcs."""
        n_arcs = len(self.arcs)
        if n_arcs == 0:
            return 0.0, 0.0
        if self._floats is not None:
            # Contiguous, unlike those in `arcs`, which CuPy would reduce with a single block.
            return mean_weight(self._floats), deviation_of(self._floats)
        total, low, high = self._device.asnumpy(self._sums).tolist()
        squares = low + (high << 32)
        return total / n_arcs, math.sqrt(n_arcs * squares - total**2) / n_arcs

    def _launch(self, kernel: str, items: int, arguments: tuple[Any, ...]) -> None:
        blocks = blocks_for(self._device, items, BLOCK)
        if blocks:
            self._module.get_function(kernel)(blocks, BLOCK, arguments)
