"""Retained sizes: sums of sizes over the subtrees of a dominator tree."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.device import Device
from relaxometer.device.kernels import Kernel
from relaxometer.problems.dominators import NO_DOMINATOR

THREADS = 512


def sum_of(sizes: Any) -> int:
    """Return the sum of sizes of type uint64; UserError if it does not fit 64 bits."""
    low = int((sizes & np.uint64(2**32 - 1)).sum())
    total = (int((sizes >> np.uint64(32)).sum()) << 32) + low
    if total >= 2**64:
        raise UserError(f"sizes: their sum {total} does not fit 64 bits")
    return total


def retained_sizes(device: Device, idom: Any, sizes: Any, root: int) -> Any:
    """Return the size of each vertex and all that it dominates, 0 if it is not reached; device array, uint64.

    `idom` is as in :class:`relaxometer.problems.dominators.Answer`. UserError if their sum exceeds 64 bits.
    """
    xp, n = device.xp, len(idom)
    sums = xp.where(idom == NO_DOMINATOR, np.uint64(0), sizes)
    total = sum_of(sums)
    if getattr(device, "emulates", True):
        kernel = _kernel(device)
        others, near, far = xp.empty(n, np.uint64), xp.empty(n, np.uint32), xp.empty(n, np.uint32)
        words = xp.zeros(4, np.uint32)
        blocks = max(1, min(device.max_cooperative_blocks(kernel, THREADS), -(-n // THREADS)))
        arrays = (idom, sums, others, near, far, words[:3], words[3:])
        kernel(blocks, THREADS, (np.uint32(n), np.uint32(root), *arrays))
        sums = others if int(device.item(words, 3)) % 2 else sums
    else:
        _climb_from_leaves()(idom, sums, root)
    sums[root] = total
    return sums


@cache
def _kernel(device: Device) -> Kernel:
    module = device.module(Path(__file__).with_suffix(".cu"), cooperative=True)
    return module.get_function("retain")


@cache
def _climb_from_leaves() -> Any:
    from relaxometer.core.compiled import njit

    @njit(cache=True)
    def climb(idom: npt.NDArray[np.uint32], sums: npt.NDArray[np.uint64], root: int) -> None:
        children = np.zeros(len(idom), np.uint32)
        for v in range(len(idom)):
            if v != root and idom[v] != NO_DOMINATOR:
                children[idom[v]] += 1
        is_leaf = children == 0
        for leaf in range(len(idom)):
            v = leaf
            while is_leaf[leaf] and v != root and idom[v] != NO_DOMINATOR:
                above = idom[v]
                sums[above] += sums[v]
                children[above] -= 1
                if children[above]:
                    break
                v = above

    return climb


def unproven(
    idom: npt.NDArray[np.uint32], sizes: npt.NDArray[np.uint64], sums: npt.NDArray[np.uint64]
) -> Any:
    """Return the vertices whose sum is not their size plus their children's sums; none if right."""
    reached = idom != NO_DOMINATOR
    expected = np.where(reached, sizes, np.uint64(0))
    sum_of(expected)
    below = np.flatnonzero(reached & (idom != np.arange(len(idom))))
    np.add.at(expected, idom[below], sums[below])
    return np.flatnonzero(expected != sums)
