"""All graphs of a batch in one launch, a block for each graph, taken from a queue."""

from __future__ import annotations

from relaxometer.problems.dominators import _batch


class Parameters(_batch.Parameters):
    """Streams and replay; see :class:`relaxometer.problems.dominators._batch.Parameters`."""


class Solver(_batch.BatchSolver):
    """Immediate dominators of a batch; blocks let the trees of graphs sink to their fixed points.

    Parameters
    ----------
    graph : ResidentBatch
    parameters : Parameters

    References
    ----------
    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", Rice University TR-06-33870, 2001.
    """

    file = "batch_block.cu"
