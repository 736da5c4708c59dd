"""Common to the variants for batches: one launch, or parts uploaded and solved in streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import NonNegativeInt, model_validator

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems import variants
from relaxometer.problems._page_locked import page_locked
from relaxometer.problems.dominators import Answer
from relaxometer.problems.phases import Phase

_CONSTANTS = read_source(Path(__file__).with_name("_batch.cuh")).constants
THREADS = _CONSTANTS["THREADS"]  # threads per block
TREE_WORDS = _CONSTANTS["TREE_WORDS"]
"""Words of shared memory for a tree; larger trees are built in the array of the answer."""


class Parameters(variants.Parameters):
    """How a batch is moved and launched."""

    streams: NonNegativeInt = 0
    """0 solves the resident batch in one launch. Otherwise the batch is cut into this many parts; each is
    uploaded, solved and downloaded in a stream of its own, and the parts overlap. The time then includes the
    transfers, and the answer is in host memory, where the next one overwrites it. A device without streams
    takes the parts in order."""
    replay: bool = False
    """Record the launch once as a CUDA graph and replay it. A device without CUDA graphs launches as
    usual."""

    @model_validator(mode="after")
    def _are_not_combined(self) -> Parameters:
        if self.streams and self.replay:
            raise ValueError("streams and replay exclude each other")
        return self


class BatchSolver(variants.SolverBase):
    """All graphs of a resident batch in one launch of persistent blocks."""

    takes: ClassVar[Literal["batch"]] = "batch"
    file: ClassVar[str]  # the file of the kernel

    def __init__(self, graph: ResidentBatch, parameters: Parameters) -> None:
        super().__init__(graph, parameters)
        self._batch = graph
        module = self._device.module(Path(__file__).with_name(self.file))
        self._kernel = module.get_function("batch_dominators")
        self._idom = self._device.xp.empty(graph.n_vertices, dtype=np.uint32)
        parts = _parts(graph.host, max(parameters.streams, 1))
        self._shared_bytes = self.shared_bytes(graph.host.sizes)
        self._parts = [_Part(self._device, graph.host, first, last) for first, last in parts]
        self._streams = _Streams(self._device, graph.host, len(self._parts)) if parameters.streams else None
        self._recorded = _Recorded(self._device, self._launch) if parameters.replay else None

    def shared_bytes(self, sizes: npt.NDArray[np.int64]) -> int:
        """Return the dynamic shared memory of a block, in bytes, for graphs of these sizes."""
        return 4 * int(min(sizes.max(initial=1), TREE_WORDS))

    def sizes_argument(self, part: _Part) -> tuple[np.uint32, ...]:
        """Return the first arguments of the kernel: numbers of graphs."""
        return (np.uint32(part.n_graphs),)

    def solve(self, root: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators of all graphs."""
        if self._streams:
            self._overlap(self._streams)
        elif self._recorded:
            self._recorded.replay()
        else:
            self._launch()
        if phases is not None:
            with self._device.timer() as timer:
                self._launch()
            phases.append(Phase("batch", self._batch.n_vertices, self._batch.n_arcs, timer.ms))
        return Answer(self._streams.answer if self._streams else self._idom.copy(), None)

    def _launch(self) -> None:
        for part in self._parts:
            self._solve(part, self._batch.first_vertex, self._batch.offsets, self._batch.targets)

    def _solve(
        self, part: _Part, first_vertex: DeviceArray, offsets: DeviceArray, targets: DeviceArray
    ) -> None:
        part.queue.fill(0)
        arrays = (part.largest_first, first_vertex, offsets, targets)
        capacity = np.uint32(self._shared_bytes // 4)
        most = self._device.max_cooperative_blocks(self._kernel, THREADS, self._shared_bytes)
        grid = max(1, min(most, part.n_graphs))
        arguments = (*self.sizes_argument(part), *arrays, capacity, self._idom, part.queue)
        self._kernel(grid, THREADS, arguments, shared_mem=self._shared_bytes)

    def _overlap(self, streams: _Streams) -> None:
        with streams.all_begin_and_end():
            for part, stream in zip(self._parts, streams, strict=True):
                with stream:
                    moved = streams.upload(part)
                    self._solve(part, *moved)
                    streams.download(self._idom, *part.vertices)
        self._device.synchronize()


class _Part:
    """Graphs `first` to `last` - 1 of a batch."""

    def __init__(self, device: Device, batch: Batch, first: int, last: int) -> None:
        sizes = batch.sizes[first:last]
        order = first + np.argsort(-sizes, kind="stable")
        self.sizes = sizes
        self.n_graphs = last - first
        self.graphs = first, last
        self.vertices = int(batch.first_vertex[first]), int(batch.first_vertex[last])
        self.arcs = int(batch.offsets[self.vertices[0]]), int(batch.offsets[self.vertices[1]])
        self.largest_first = device.asarray(order.astype(np.uint32))
        self.queue = device.xp.zeros(1, dtype=np.uint32)


def _parts(batch: Batch, count: int) -> Sequence[tuple[int, int]]:
    """Cut a batch into at most `count` runs of graphs with similar numbers of arcs."""
    wanted = np.linspace(0, batch.n_arcs, count + 1)[1:-1]
    cuts = np.searchsorted(batch.first_arc, wanted)
    bounds = np.unique(np.concatenate([[0], cuts, [len(batch)]])).tolist()
    return list(pairwise(bounds))


class _Streams:
    """One stream per part, the batch and its `answer` in pinned memory, and arrays to upload to."""

    def __init__(self, device: Device, batch: Batch, count: int) -> None:
        self._device = device
        self._on_gpu = device.kind == "cuda"
        self._pinned = [
            self._host_copy(array) for array in (batch.first_vertex, batch.offsets, batch.targets)
        ]
        self._arrays = [device.xp.empty(len(array), dtype=array.dtype) for array in self._pinned]
        self.answer = page_locked(device, batch.n_vertices, np.uint32)
        cuda = device.xp.cuda if self._on_gpu else None
        self._streams: list[Any] = [
            cuda.Stream(non_blocking=True) if cuda else nullcontext() for _ in range(count)
        ]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._streams)

    def _host_copy(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        copy = page_locked(self._device, len(values), values.dtype)
        copy[:] = values
        return copy

    @contextmanager
    def all_begin_and_end(self) -> Iterator[None]:
        """Start the streams after the caller's earlier work; its later work waits for all of them."""
        if not self._on_gpu:
            yield
            return
        main = self._device.xp.cuda.get_current_stream()
        begin = main.record()
        for stream in self._streams:
            stream.wait_event(begin)
        yield
        for stream in self._streams:
            main.wait_event(stream.record())

    def upload(self, part: _Part) -> list[Any]:
        """Upload a part into the arrays of first vertices, offsets and targets; return these."""
        (first, last), (first_vertex, end_vertex) = part.graphs, part.vertices
        bounds = ((first, last + 1), (first_vertex, end_vertex + 1), part.arcs)
        for array, pinned, (begin, end) in zip(self._arrays, self._pinned, bounds, strict=True):
            if self._on_gpu:
                array[begin:end].set(pinned[begin:end], stream=self._device.xp.cuda.get_current_stream())
            else:
                array[begin:end] = pinned[begin:end]
        return self._arrays

    def download(self, values: Any, begin: int, end: int) -> None:
        if self._on_gpu:
            values[begin:end].get(out=self.answer[begin:end], blocking=False)
        else:
            self.answer[begin:end] = values[begin:end]


class _Recorded:
    """A launch recorded as a CUDA graph; on the host, the launch itself."""

    def __init__(self, device: Device, launch: Any) -> None:
        self._launch = launch
        self._graph: Any = None
        if device.kind == "cuda":
            # Compilation and allocation must not be recorded.
            launch()
            device.synchronize()
            stream = device.xp.cuda.Stream(non_blocking=True)
            with stream:
                stream.begin_capture()
                launch()
                self._graph = stream.end_capture()

    def replay(self) -> None:
        if self._graph is None:
            self._launch()
        else:
            self._graph.launch()
