"""The CPU's part of a rank's level, compiled with Numba: rows of the block in host memory.

Bottom-up is that of one process, `bfs/_cpu.py`; top-down there counts arcs that leave what it finds, which a
block does not hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange

from relaxometer.distributed.partition import WORD, Block
from relaxometer.problems.bfs._cpu import (
    CHUNK,
    EXAMINED,
    FOUND,
    HELD,
    _bit,
    _fetch_add,
    _fetch_or,
    bottom_up,
    list_bitmap,
)


@njit(parallel=True, cache=True)
def top_down(
    offsets: np.ndarray,
    targets: np.ndarray,
    frontier: np.ndarray,
    size: int,
    closed: np.ndarray,
    parent: np.ndarray,
    found: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Search from the first `size` tails of the list `frontier`; list and close the heads that are found."""
    counts[:] = 0
    for chunk in prange((size + CHUNK - 1) // CHUNK):
        held, examined = 0, 0
        buffer = np.empty(HELD, dtype=np.uint32)
        for k in range(chunk * CHUNK, min((chunk + 1) * CHUNK, size)):
            u = frontier[k]
            examined += offsets[u + 1] - offsets[u]
            for i in range(offsets[u], offsets[u + 1]):
                v = targets[i]
                if closed[v >> 5] & _bit(v) or _fetch_or(closed, v >> 5, _bit(v)) & _bit(v):
                    continue
                parent[v] = u
                buffer[held] = v
                held += 1
                if held == HELD:
                    at = _fetch_add(counts, FOUND, HELD)
                    found[at : at + HELD] = buffer
                    held = 0
        at = _fetch_add(counts, FOUND, held)
        found[at : at + held] = buffer[:held]
        _fetch_add(counts, EXAMINED, examined)


class CpuSearch:
    """A rank's CPU: searches the heads, or from the tails, that stand first.

    Parameters
    ----------
    block : Block
        Is copied to host memory.
    share : float
        Of the heads and tails, by their number.
    """

    def __init__(self, block: Block, share: float) -> None:
        asnumpy = block.device.asnumpy
        self._out = asnumpy(block.out.offsets), asnumpy(block.out.targets)
        self._into = asnumpy(block.into.offsets), asnumpy(block.into.targets)
        self.head_words = _cut(block.heads.size, share)
        self.tail_words = _cut(block.tails.size, share)
        self._parent = np.empty(block.heads.size, dtype=np.uint32)
        self._unused = np.empty(block.heads.size, dtype=np.uint32)
        self._following = np.zeros(block.heads.size // WORD, dtype=np.uint32)
        self._listed = np.empty(block.tails.size, dtype=np.uint32)
        self._found = np.empty(block.heads.size, dtype=np.uint32)
        self._counts = np.zeros(3, dtype=np.int64)
        self.examined = 0

    def run(self, direction: str, frontier: np.ndarray, closed: np.ndarray) -> tuple[Any, Any]:
        """Search a level; return the heads found and the tails that found them, shape (n_found,), uint32.

        Parameters
        ----------
        direction : {"top-down", "bottom-up"}
        frontier, closed : ndarray of uint32
            Bitmaps of tails and heads; `closed` is changed.
        """
        if direction == "top-down":
            list_bitmap(frontier, 0, self.tail_words, self._listed, self._counts)
            size = int(self._counts[FOUND])
            top_down(*self._out, self._listed, size, closed, self._parent, self._found, self._counts)
            self.examined += int(self._counts[EXAMINED])
        else:
            answer = self._unused, self._parent, self._following
            bottom_up(*self._into, 0, self.head_words, frontier, 0, closed, *answer, self._counts)
            self.examined += int(self._counts[EXAMINED])
            list_bitmap(self._following, 0, self.head_words, self._found, self._counts)
        heads = self._found[: int(self._counts[FOUND])].copy()
        return heads, self._parent[heads]


def _cut(size: int, share: float) -> int:
    """Return how many words the CPU takes: whole groups of what a warp scans."""
    words = size // WORD
    return min(words, round(share * words / 4) * 4)
