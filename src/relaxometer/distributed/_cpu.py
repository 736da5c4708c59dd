"""The CPU's part of a rank's level: a search of rows in host memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from relaxometer.distributed.partition import Block
from relaxometer.problems.bfs._cpu import EXAMINED, FOUND, Found, Rows, bottom_up, list_bitmap, top_down
from relaxometer.problems.bfs._levels import GROUP_VERTICES, WORD


class CpuSearch:
    """Searches the first heads or tails of a copy of a block; `share` is their share of all."""

    def __init__(self, block: Block, share: float) -> None:
        self._out, self._into = (
            Rows(block.device.asnumpy(rows.offsets), block.device.asnumpy(rows.targets))
            for rows in (block.out, block.into)
        )
        self.head_words = _cut(block.heads.size, share)
        self.tail_words = _cut(block.tails.size, share)
        self._level, self._parent, self._found = (
            np.empty(block.heads.size, dtype=np.uint32) for _ in range(3)
        )
        self._following = np.zeros(block.heads.size // WORD, dtype=np.uint32)
        self._listed = np.empty(block.tails.size, dtype=np.uint32)
        self._counts = np.zeros(3, dtype=np.int64)
        self.examined = 0

    def run(self, direction: str, frontier: np.ndarray, closed: np.ndarray) -> tuple[Any, Any]:
        """Search a level; return the heads found and the tails that found them, shape (n_found,), uint32.

        `frontier` and `closed` are bitmaps of tails and heads, uint32; `closed` is changed.
        """
        counts, state = self._counts, Found(closed, self._level, self._parent)
        if direction == "top-down":
            list_bitmap(frontier, 0, self.tail_words, self._listed, counts)
            # Arcs that leave the heads are not counted: the block does not hold them.
            top_down(self._out, self._listed, int(counts[FOUND]), 0, state, None, self._found, counts)
            self.examined += int(counts[EXAMINED])
        else:
            bottom_up(self._into, 0, self.head_words, frontier, 0, state, self._following, counts)
            self.examined += int(counts[EXAMINED])
            list_bitmap(self._following, 0, self.head_words, self._found, counts)
        heads = self._found[: int(counts[FOUND])].copy()
        return heads, self._parent[heads]


def _cut(size: int, share: float) -> int:
    """Return the CPU's number of words, in whole groups of a warp."""
    words, of_group = size // WORD, GROUP_VERTICES // WORD
    return min(words, round(share * words / of_group) * of_group)
