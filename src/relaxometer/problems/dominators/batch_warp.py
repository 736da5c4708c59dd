"""All graphs of a batch in one launch: one warp per small graph, one block per large graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from relaxometer.graphs.batch import Batch
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems.dominators import Answer, _batch
from relaxometer.problems.dominators._host_to_host import (
    LARGEST_OF_WARP,
    MOST_SHARED,
    SETS_BYTES,
    LargeBatches,
    OneGraph,
    SmallBatches,
)
from relaxometer.problems.phases import Phase


def is_small(batch: Batch) -> bool:
    """Return whether a kernel reads the batch from page-locked memory, with a warp for each graph."""
    bytes_shared = batch.first_vertex.nbytes + batch.offsets.nbytes + batch.targets.nbytes
    return bytes_shared <= MOST_SHARED and int(batch.sizes.max(initial=0)) <= LARGEST_OF_WARP


class Parameters(_batch.Parameters):
    """How a batch is moved and launched; see also :class:`_batch.Parameters`."""

    host_to_host: bool = False
    """Every search starts from arrays in ordinary memory and ends with the answer in host memory, where the
    next one overwrites it. Graphs are sorted on the device. The time includes all of it."""

    @model_validator(mode="after")
    def _move_once(self) -> Parameters:
        if self.host_to_host and (self.streams or self.replay):
            raise ValueError("host_to_host excludes streams and replay")
        return self


class Solver(_batch.BatchSolver):
    """Immediate dominators of a batch by bitmask fixed points in warps, and by trees in blocks.

    References
    ----------
    "GPUによる超高速Dominator計算 (1)", Qiita 2025, has the bitmasks. It leaves open many graphs, more than 32
    vertices, and load balance between uneven graphs.
    """

    file = "batch_warp.cu"

    def __init__(self, graph: ResidentBatch, parameters: Parameters) -> None:
        super().__init__(graph, parameters)
        self.ends_on_host = parameters.host_to_host
        self._large: LargeBatches | None = None
        self._small: OneGraph | SmallBatches | None = None
        if not parameters.host_to_host:
            return
        host = graph.host
        if is_small(host):
            module = self._device.module(Path(__file__).with_name(self.file))
            # Parallel arcs could be too many for the kernel's shared memory.
            is_one = len(host) == 1 and host.n_arcs <= LARGEST_OF_WARP**2
            self._small = (OneGraph if is_one else SmallBatches)(self._device, host, module)
        else:
            self._large = LargeBatches(self._device, host)

    def solve(self, root: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators of all graphs."""
        if phases is not None or not (self._large or self._small):
            return super().solve(root, phases)
        batch = self._batch.host
        if self._small:
            return Answer(self._small.solve(batch), None)
        assert self._large is not None
        self._large.upload(batch)
        self._solve_uploaded(self._large, batch.sizes)
        return Answer(self._large.download(self._idom), None)

    def _solve_uploaded(self, uploaded: LargeBatches, sizes: npt.NDArray[np.int64]) -> None:
        shared_bytes = self.shared_bytes(sizes)
        most = self._device.max_cooperative_blocks(self._kernel, _batch.THREADS, shared_bytes)
        large = np.uint32(np.count_nonzero(sizes > LARGEST_OF_WARP))
        arrays: tuple[Any, ...] = (uploaded.first_vertex, uploaded.offsets, uploaded.targets)
        capacity = np.uint32(shared_bytes // 4)
        arguments = (np.uint32(len(sizes)), large, uploaded.largest_first, *arrays, capacity, self._idom)
        grid = max(1, min(most, len(sizes)))
        self._kernel(grid, _batch.THREADS, (*arguments, uploaded.queue), shared_mem=shared_bytes)

    def shared_bytes(self, sizes: npt.NDArray[np.int64]) -> int:
        """Return the dynamic shared memory of a block, in bytes, for graphs of these sizes."""
        return max(super().shared_bytes(sizes), SETS_BYTES)

    def sizes_argument(self, part: _batch._Part) -> tuple[np.uint32, ...]:
        """Return the number of graphs, and of those too large for a warp."""
        return np.uint32(part.n_graphs), np.uint32((part.sizes > LARGEST_OF_WARP).sum())
