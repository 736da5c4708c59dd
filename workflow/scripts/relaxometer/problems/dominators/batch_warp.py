"""All graphs of a batch in one launch: a warp for each small graph, a block for each large one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relaxometer.problems.dominators import _batch

LARGEST_OF_WARP = 64
"""Vertices whose sets a warp can hold: words of 64 bits, two of them in each lane."""

SETS_BYTES = 8 * LARGEST_OF_WARP * _batch.THREADS // 32
"""Shared memory of a block for the predecessors of one small graph in each warp."""


class Parameters(_batch.Parameters):
    """Streams and replay; see :class:`relaxometer.problems.dominators._batch.Parameters`."""


class Solver(_batch.BatchSolver):
    """Immediate dominators of a batch by bitmask fixed points in warps, and by trees in blocks.

    Parameters
    ----------
    graph : ResidentBatch
    parameters : Parameters

    References
    ----------
    The source of the bitmasks: "GPUによる超高速Dominator計算 (1)", Qiita 2025;
    many graphs, more than 32
    vertices, and balance between uneven graphs are what it leaves open.
    """

    file = "batch_warp.cu"

    def shared_bytes(self, sizes: npt.NDArray[np.int64]) -> int:
        """Return the dynamic shared memory of a block for graphs of these sizes."""
        return max(super().shared_bytes(sizes), SETS_BYTES)

    def sizes_argument(self, part: _batch._Part) -> tuple[np.uint32, ...]:
        """Return the numbers of graphs that the kernel begins with: all, and those too large for a warp."""
        return np.uint32(part.n_graphs), np.uint32((part.sizes > LARGEST_OF_WARP).sum())
