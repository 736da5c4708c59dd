"""All graphs of a batch in one launch: one warp per small graph, one block per large graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from relaxometer.device.signature import read_source
from relaxometer.problems.dominators import _batch

LARGEST_OF_WARP = read_source(Path(__file__).with_name("batch_warp.cu")).constants["LARGEST_OF_WARP"]
"""Most vertices of a graph for a warp."""

SETS_BYTES = 8 * LARGEST_OF_WARP * _batch.THREADS // 32
"""Shared memory of a block for the predecessors of one small graph per warp."""


class Parameters(_batch.Parameters):
    """Streams and replay; see :class:`relaxometer.problems.dominators._batch.Parameters`."""


class Solver(_batch.BatchSolver):
    """Immediate dominators of a batch by bitmask fixed points in warps, and by trees in blocks.

    References
    ----------
    "GPUによる超高速Dominator計算 (1)", Qiita 2025, has the bitmasks. It leaves open many graphs, more than 32
    vertices, and load balance between uneven graphs.
    """

    file = "batch_warp.cu"

    def shared_bytes(self, sizes: npt.NDArray[np.int64]) -> int:
        """Return the dynamic shared memory of a block, in bytes, for graphs of these sizes."""
        return max(super().shared_bytes(sizes), SETS_BYTES)

    def sizes_argument(self, part: _batch._Part) -> tuple[np.uint32, ...]:
        """Return the number of graphs, and of those too large for a warp."""
        return np.uint32(part.n_graphs), np.uint32((part.sizes > LARGEST_OF_WARP).sum())
