"""All graphs of a batch in one launch, one block per graph."""

from relaxometer.problems.dominators import _batch

Parameters = _batch.Parameters


class Solver(_batch.BatchSolver):
    """Immediate dominators of a batch; blocks take graphs from a queue and move vertices up their trees.

    References
    ----------
    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", Rice University TR-06-33870, 2001.
    """

    file = "batch_block.cu"
