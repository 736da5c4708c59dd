"""How many blocks ExtractMin is launched with."""

from __future__ import annotations

THREADS = (128, 256, 512, 1024)
"""Threads a block that the survey's table 1 compares."""

VALUES_A_THREAD = 8
"""Values that a thread looks through on its own before the tree begins."""

MOST_BLOCKS = 1024
"""So many blocks fill every GPU, and one block reduces their minima in one go."""


def blocks_for(values: int, threads: int) -> int:
    """Return the number of blocks of `threads` threads for so many values."""
    per_block = threads * VALUES_A_THREAD
    return max(1, min((values + per_block - 1) // per_block, MOST_BLOCKS))
