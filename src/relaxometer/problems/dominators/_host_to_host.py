"""Batches from arrays in ordinary memory to dominators in host memory, prepared on the device."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.kernels import Module
from relaxometer.device.signature import read_source
from relaxometer.graphs.batch import Batch
from relaxometer.problems._page_locked import Mirrored
from relaxometer.problems.variants import Skipped

SOURCE = read_source(Path(__file__).with_name("_from_host.cu"))
SORTERS = SOURCE.constants["SIZES"]  # threads per block of the preparation
WIDENERS = SOURCE.constants["WIDENERS"]  # blocks that widen offsets
MOST_SHARED = SOURCE.constants["MOST_SHARED"]
"""The kernel reads batches of at most this many bytes from page-locked memory, without copies."""

_WARPS = read_source(Path(__file__).with_name("batch_warp.cu")).constants
LARGEST_OF_WARP, THREADS = _WARPS["LARGEST_OF_WARP"], _WARPS["THREADS"]
"""Most vertices of a graph for a warp, and threads per block."""

SETS_BYTES = 8 * LARGEST_OF_WARP * THREADS // 32
"""Shared memory of a block for the predecessors of one small graph per warp."""

LOOKS = 2000  # looks at a word before the host waits for the device; some 0.1 ms


def copied(device: Device, source: Any, target: Any) -> None:
    """Start a copy between page-locked memory and the device."""
    if device.kind != "cuda":
        np.copyto(target, source)
        return
    runtime, stream = device.xp.cuda.runtime, device.xp.cuda.get_current_stream()
    runtime.memcpyAsync(target.data.ptr, source.data.ptr, source.nbytes, runtime.memcpyDefault, stream.ptr)


class LargeBatches:
    """One upload, a kernel that sorts the graphs, one that solves them, and a download.

    Numbers travel in 32 bits. The arrays in page-locked memory hold one batch of the size of `batch`.
    """

    def __init__(self, device: Device, batch: Batch) -> None:
        if batch.n_arcs >= 2**32 or batch.n_vertices >= 2**32:
            raise Skipped(f"{batch.n_arcs:,} arcs; 32-bit numbers are uploaded")
        self._device = device
        xp, n, graphs = device.xp, batch.n_vertices, len(batch)
        self._numbers = graphs + n + 2
        self._staged = Mirrored(device, self._numbers + batch.n_arcs, np.uint32)
        self._uploaded = xp.empty(self._numbers + batch.n_arcs, dtype=np.uint32)
        self._wide = xp.empty(self._numbers, dtype=np.int64)
        self.largest_first = xp.empty(max(graphs, 1), dtype=np.uint32)
        self.queue = xp.empty(1, dtype=np.uint32)
        self.first_vertex, self.offsets = self._wide[: graphs + 1], self._wide[graphs + 1 :]
        self.targets = self._uploaded[self._numbers :]
        self._answer = Mirrored(device, n, np.uint32)
        self._prepare = device.module(SOURCE.path).get_function("prepare_batch")

    def upload(self, batch: Batch) -> None:
        """Upload and prepare a batch."""
        staged, graphs = self._staged.host, len(batch)
        staged[: graphs + 1] = batch.first_vertex
        staged[graphs + 1 : self._numbers] = batch.offsets
        staged[self._numbers :] = batch.targets
        copied(self._device, self._staged.device, self._uploaded)
        counts = np.uint32(graphs), np.uint32(batch.n_vertices)
        arrays = self._uploaded, self._wide, self.largest_first, self.queue
        self._prepare(1 + WIDENERS, SORTERS, (*counts, *arrays))

    def download(self, idom: DeviceArray) -> npt.NDArray[np.uint32]:
        """Return the answer, which the next one overwrites."""
        copied(self._device, idom, self._answer.device)
        self._device.synchronize()
        return self._answer.host


class SmallBatches:
    """One launch that reads a batch of small graphs from page-locked memory and writes the answer there."""

    def __init__(self, device: Device, batch: Batch, module: Module) -> None:
        self._device = device
        self._first_vertex = Mirrored(device, len(batch.first_vertex), np.int64)
        self._offsets = Mirrored(device, len(batch.offsets), np.int64)
        self._targets = Mirrored(device, batch.n_arcs, np.uint32)
        self._answer = Mirrored(device, batch.n_vertices, np.uint32)
        arrays = self._first_vertex, self._offsets, self._targets, self._answer
        arguments = np.uint32(len(batch)), *(array.device for array in arrays)
        blocks = -(-len(batch) // (THREADS // 32))
        kernel = module.get_function("few_graphs")
        self._launch = kernel.bind(blocks, THREADS, arguments, shared_mem=SETS_BYTES)

    def solve(self, batch: Batch) -> npt.NDArray[np.uint32]:
        """Return the answer, which the next one overwrites."""
        self._first_vertex.host[:] = batch.first_vertex
        self._offsets.host[:] = batch.offsets
        self._targets.host[:] = batch.targets
        self._launch()
        self._device.synchronize()
        return self._answer.host


class OneGraph:
    """The same for one graph, all of which the kernel reads at once.

    The kernel sets a word when the answer is in host memory: to look is faster than to wait for the device.
    """

    def __init__(self, device: Device, batch: Batch, module: Module) -> None:
        self._device = device
        self._offsets = Mirrored(device, len(batch.offsets), np.int64)
        self._targets = Mirrored(device, batch.n_arcs, np.uint32)
        self._answer = Mirrored(device, batch.n_vertices, np.uint32)
        self._done = Mirrored(device, 1, np.uint32)
        self._done.host[0] = 0
        arrays = (array.device for array in (self._offsets, self._targets, self._answer, self._done))
        arguments = np.uint32(batch.n_vertices), np.uint32(batch.n_arcs), *arrays
        self._launch = module.get_function("one_graph").bind(1, 32, arguments)

    def solve(self, batch: Batch) -> npt.NDArray[np.uint32]:
        """Return the answer, which the next one overwrites."""
        self._offsets.host[:] = batch.offsets
        self._targets.host[:] = batch.targets
        done = self._done.host
        done[0] = 0
        self._launch()
        for _ in range(LOOKS):
            if done[0]:
                return self._answer.host
        # It takes long, or has failed.
        self._device.synchronize()
        return self._answer.host
