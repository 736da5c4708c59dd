"""Whether arrays on a device make a graph, in one pass at the speed of its memory."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import Device, blocks_for
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Kernel
from relaxometer.graphs.lengths import Lengths

BLOCK = 256


def check(
    device: Device, offsets: DeviceArray, targets: DeviceArray, weights: Any, lengths: Lengths, *, mend: bool
) -> Callable[[], bool]:
    """Start a check that offsets ascend from 0 to the number of arcs, heads ascend, and weights are in range.

    Negative zeros are not: searches compare the bits of weights, which may be None. `mend` overwrites arrays
    that are not sound by those of some graph, so that kernels may be launched at once. The callable that is
    returned waits for the check, though not for later work, and returns whether the arrays are sound.
    """
    n, n_arcs, word = len(offsets) - 1, len(targets), lengths.weight_word
    if n == 0:
        is_sound = n_arcs == 0 and device.item(offsets) == 0
        return lambda: is_sound
    found = device.xp.zeros(2, dtype=np.uint64)
    flip = ~np.array(1 << 31, word) if lengths.is_signed else np.zeros((), word)
    least_wrong = np.array(np.inf, lengths.dtype).view(word) if lengths.is_float else ~np.zeros((), word)
    sizes, arrays = (np.uint32(n), np.uint64(n_arcs)), (offsets, targets, weights)
    check_graph, mend_graph = _kernels(device, lengths.weight_options)
    blocks = blocks_for(device, max(n, n_arcs), BLOCK)
    check_graph(blocks, BLOCK, (*sizes, *arrays, word.type(flip), word.type(least_wrong), found))
    if mend:
        mend_graph(blocks, BLOCK, (*sizes, *arrays, found))
    arrived = device.fetch(found)
    return lambda: not arrived().any()


@functools.cache
def _kernels(device: Device, options: tuple[str, ...]) -> tuple[Kernel, Kernel]:
    """Return the kernels for a device; to look whether a file has changed takes as long as a small graph."""
    module = device.module(Path(__file__).with_suffix(".cu"), options=options)
    return module.get_function("check_graph"), module.get_function("mend_graph")
