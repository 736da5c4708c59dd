"""Whether arrays on a device make a graph, in one pass at the speed of its memory."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import Device, blocks_for
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Kernel
from relaxometer.graphs.lengths import Lengths

BLOCK = 256


def is_sound(
    device: Device, offsets: DeviceArray, targets: DeviceArray, weights: Any, lengths: Lengths
) -> bool:
    """Return whether offsets ascend from 0 to the number of arcs, heads ascend, and weights are in range.

    Negative zeros are not: searches compare the bits of weights.

    Parameters
    ----------
    device : Device
    offsets : device array of shape (n_vertices + 1,), int64
    targets : device array of shape (n_arcs,), uint32
    weights : device array of shape (n_arcs,), of `lengths.weight_word`, or None
    lengths : Lengths
    """
    n, n_arcs, word = len(offsets) - 1, len(targets), lengths.weight_word
    if n == 0:
        return n_arcs == 0 and device.item(offsets) == 0
    found = device.xp.zeros(2, dtype=np.uint64)
    flip = ~np.array(1 << 31, word) if lengths.is_signed else np.zeros((), word)
    least_wrong = np.array(np.inf, lengths.dtype).view(word) if lengths.is_float else ~np.zeros((), word)
    arrays = offsets, targets, weights
    arguments = np.uint32(n), np.uint64(n_arcs), *arrays, word.type(flip), word.type(least_wrong), found
    _check_graph(device, lengths.weight_options)(blocks_for(device, max(n, n_arcs), BLOCK), BLOCK, arguments)
    return not device.asnumpy(found).any()


@functools.cache
def _check_graph(device: Device, options: tuple[str, ...]) -> Kernel:
    """Return the kernel for a device; to look whether a file has changed takes as long as a small graph."""
    return device.module(Path(__file__).with_suffix(".cu"), options=options).get_function("check_graph")
