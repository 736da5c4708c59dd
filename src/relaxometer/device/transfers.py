"""Copies of large arrays between ordinary host memory and a GPU, by several threads at once.

CUDA copies ordinary memory with one thread, which is slower than the bus. Here several threads, each with a
stream and two page-locked buffers, copy pieces: while the GPU reads one buffer, the thread fills the other.
Downloads also spread the page faults of a new array over the threads; answers of moderate size lie in
page-locked memory, which the GPU writes at the speed of the bus.
"""

import math
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import cycle
from queue import SimpleQueue
from threading import Barrier, Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.environment import usable_cores

LARGE = 1 << 22  # bytes from which on copies by pieces pay
WORKERS = 8  # maximum number of threads: with more, the bus is not faster

PIECE = 1 << 21
"""Bytes of a buffer: few calls of CUDA per MB, and little to page-lock, which takes 0.2 to 0.3 ms per MB."""

PER_THREAD = 3 << 20  # bytes that keep a thread busy for longer than it takes to wake it up

LEAST_PIECE = 1 << 18
"""Minimum bytes of a piece: a smaller one is copied in less time than the calls of CUDA take."""

LENT = 1 << 27  # maximum bytes of page-locked memory that answers may occupy
LEAST_LENT = 1 << 18  # minimum bytes of an array that lies there: a smaller one is copied as fast

PAGE = 1 << 12

Pair = tuple[Any, npt.NDArray[Any]]  # an array on the device, and one on the host

Bytes = npt.NDArray[np.uint8]
Pieces = deque[tuple[int, Bytes]]  # pieces left to copy: address on the device, bytes on the host


class Lane:
    """A stream and two page-locked buffers, each with an event for the end of its last copy."""

    def __init__(self, cuda: Any, buffers: npt.NDArray[np.uint8]) -> None:
        self._runtime = cuda.runtime
        self._stream = cuda.Stream(non_blocking=True)
        self._events = [cuda.Event(disable_timing=True) for _ in buffers]
        self._turns = [
            (buffer, buffer.ctypes.data, event.ptr)
            for buffer, event in zip(buffers, self._events, strict=True)
        ]

    def wait(self) -> None:
        """Wait until all copies have ended."""
        self._stream.synchronize()

    def send(self, pieces: Pieces, ready: int) -> int | None:
        """Copy pieces to the device, after the event `ready`; return the event of the last copy, if any."""
        runtime, stream, last = self._runtime, self._stream.ptr, None
        runtime.streamWaitEvent(stream, ready)
        for buffer, staged, free in cycle(self._turns):
            piece = _next(pieces)
            if piece is None:
                break
            address, content = piece
            runtime.eventSynchronize(free)
            np.copyto(buffer[: len(content)], content)
            runtime.memcpyAsync(address, staged, len(content), runtime.memcpyHostToDevice, stream)
            runtime.eventRecord(free, stream)
            last = free
        return last

    def receive(self, pieces: Pieces, ready: int) -> None:
        """Copy pieces from the device, after the event `ready`, and wait for them."""
        runtime, stream = self._runtime, self._stream.ptr
        runtime.streamWaitEvent(stream, ready)
        begun: tuple[Bytes, Bytes, int] | None = None
        for buffer, staged, done in cycle(self._turns):
            piece = _next(pieces)
            if piece is not None:
                size = len(piece[1])
                runtime.memcpyAsync(staged, piece[0], size, runtime.memcpyDeviceToHost, stream)
                runtime.eventRecord(done, stream)
            if begun is not None:
                content, source, arrived = begun
                runtime.eventSynchronize(arrived)
                np.copyto(content, source)
            if piece is None:
                break
            begun = piece[1], buffer[:size], done


class Loans:
    """Page-locked memory for arrays that a caller keeps; it comes back when the last view of one is freed.

    It takes longer to page-lock memory than to copy from it, so it is kept for the next array of its size.
    """

    def __init__(self, cuda: Any) -> None:
        self._cuda, self._total, self._lock = cuda, 0, Lock()
        # Finalizers append to it at any time, even while this thread holds the lock.
        self._idle: deque[tuple[int, Any]] = deque()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
        """Return a new array, or None where too much memory is lent already."""
        size = math.prod(shape) * dtype.itemsize
        with self._lock:
            memory = self._kept(size) or self._new(size)
        if memory is None:
            return None
        whole = np.frombuffer(memory, dtype, size // dtype.itemsize)
        weakref.finalize(whole, self._idle.append, (size, memory)).atexit = False
        return whole.reshape(shape)

    def _kept(self, size: int) -> Any:
        for _ in range(len(self._idle)):
            known, memory = self._idle.popleft()
            if known == size:
                return memory
            self._idle.append((known, memory))
        return None

    def _new(self, size: int) -> Any:
        while self._idle and self._total + size > LENT:
            self._total -= self._idle.popleft()[0]
        if self._total + size > LENT:
            return None
        self._total += size
        return self._cuda.PinnedMemoryPointer(self._cuda.PinnedMemory(size), 0)


class Staging:
    """Copies arrays of all of a process to and from one GPU; any thread may use it.

    Copies are ordered after the work that the caller's current stream has, and before what it gets later.
    There are at most `WORKERS` threads, by default one per core, each with two buffers of `piece` bytes.
    """

    def __init__(self, xp: Any, workers: int | None = None, piece: int = PIECE) -> None:
        self._xp, self._cuda, self._piece = xp, xp.cuda, piece
        self._workers = workers or min(WORKERS, usable_cores())
        self._memory = self._cuda.alloc_pinned_memory(self._workers * 2 * piece)
        buffers = np.frombuffer(self._memory, np.uint8, self._workers * 2 * piece)
        self._loans = Loans(xp.cuda)
        self._lanes: SimpleQueue[Lane] = SimpleQueue()
        for pair in buffers.reshape(self._workers, 2, piece):
            self._lanes.put(Lane(self._cuda, pair))
        number = self._cuda.runtime.getDevice()
        self._pool = ThreadPoolExecutor(
            self._workers, "transfer", initializer=self._cuda.runtime.setDevice, initargs=(number,)
        )
        # All threads start now, since the first copy would wait for them.
        together = Barrier(self._workers)
        wait([self._pool.submit(together.wait) for _ in range(self._workers)])

    def upload(self, arrays: Sequence[npt.NDArray[Any]]) -> list[Any]:
        """Return copies on the device; the caller may change the arrays at once."""
        made = [self._xp.empty(one.shape, one.dtype) for one in arrays]
        pairs: dict[bool, list[Pair]] = {True: [], False: []}
        runtime, stream = self._cuda.runtime, self._cuda.get_current_stream().ptr
        for pair in zip(made, arrays, strict=True):
            # No thread need touch memory that CUDA knows, which is page-locked.
            is_known = bool(runtime.pointerGetAttributes(pair[1].ctypes.data).devicePointer)
            pairs[is_known].append(pair)
        ends = self._copy(Lane.send, pairs[False])
        for event in ends:
            runtime.streamWaitEvent(stream, event)
        for on_device, array in pairs[True]:
            address, kind = array.ctypes.data, runtime.memcpyHostToDevice
            runtime.memcpyAsync(on_device.data.ptr, address, array.nbytes, kind, stream)
        if pairs[True]:
            runtime.streamSynchronize(stream)
        return made

    def download(self, arrays: Sequence[Any]) -> list[npt.NDArray[Any]]:
        """Return copies in host memory."""
        runtime, stream = self._cuda.runtime, self._cuda.get_current_stream().ptr
        made: list[npt.NDArray[Any]] = []
        staged: list[Pair] = []
        for one in arrays:
            on_host = self._loans.empty(one.shape, one.dtype) if one.nbytes >= LEAST_LENT else None
            if on_host is None:
                on_host = np.empty(one.shape, one.dtype)
                staged.append((one, on_host))
            else:
                target, way = on_host.ctypes.data, runtime.memcpyDeviceToHost
                runtime.memcpyAsync(target, one.data.ptr, one.nbytes, way, stream)
            made.append(on_host)
        if staged:
            self._copy(Lane.receive, staged)
        runtime.streamSynchronize(stream)
        return made

    def _copy(self, way: Callable[[Lane, Pieces, int], int | None], pairs: Sequence[Pair]) -> list[int]:
        """Have the threads copy arrays; return the events of the last copies."""
        total = sum(on_host.nbytes for _, on_host in pairs)
        threads = max(1, min(self._workers, total // PER_THREAD))
        pieces = self._cut(pairs, total // (2 * threads))
        ready = self._cuda.Event(disable_timing=True)
        ready.record()

        used: list[Lane] = []

        def work() -> int | None:
            lane = self._lanes.get()
            used.append(lane)
            try:
                return way(lane, pieces, ready.ptr)
            finally:
                self._lanes.put(lane)

        # The caller copies too, and begins before the others have woken up.
        others = [self._pool.submit(work) for _ in range(threads - 1)]
        try:
            events = [work()]
            events += [one.result() for one in others if not one.cancel()]
        except BaseException:  # the caller frees the arrays
            pieces.clear()
            wait(one for one in others if not one.cancel())
            for lane in used:
                lane.wait()
            raise
        return [event for event in events if event is not None]

    def _cut(self, pairs: Sequence[Pair], wanted: int) -> Pieces:
        """Cut arrays into pieces of about the size that is wanted, as buffers hold them."""
        size = min(self._piece, max(LEAST_PIECE, -(-wanted // PAGE) * PAGE))
        pieces: Pieces = deque()
        for on_device, on_host in pairs:
            content = on_host.reshape(-1).view(np.uint8)
            for begin in range(0, len(content), size):
                pieces.append((on_device.data.ptr + begin, content[begin : begin + size]))
        return pieces


def _next(pieces: Pieces) -> tuple[int, Bytes] | None:
    """Take the next piece, or None if another thread took the last."""
    try:
        return pieces.popleft()
    except IndexError:
        return None
