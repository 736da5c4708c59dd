"""The number of blocks of ExtractMin."""

THREADS = (128, 256, 512, 1024)  # threads per block in table 1 of the survey
VALUES_PER_THREAD = 8  # values that a thread reduces alone before the tree begins
MAX_BLOCKS = 1024  # this many blocks fill every GPU, and one block can reduce their minima


def blocks_for(values: int, threads: int) -> int:
    """Return the number of blocks of `threads` threads for this many values."""
    per_block = threads * VALUES_PER_THREAD
    return max(1, min((values + per_block - 1) // per_block, MAX_BLOCKS))
