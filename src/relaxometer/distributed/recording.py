"""Work that a rank repeats, recorded as a CUDA graph; and words that kernels tell the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relaxometer.device import Device
from relaxometer.distributed.comm import Ranks


class Recording:
    """Kernels and exchanges without a decision of the host, launched as one CUDA graph where possible.

    A launch of a graph costs the host a few microseconds, whatever it holds. On the host device, and where
    messages go through host memory, each launch does the work itself, which makes no new arrays.
    """

    def __init__(self, ranks: Ranks, work: Callable[[], None]) -> None:
        self._ranks, self._work, self._graph = ranks, work, None
        self._records = ranks.device.kind == "cuda" and (ranks.size == 1 or ranks.transport == "nccl")
        self._launches = 0

    @property
    def kind(self) -> str:
        """``"graph"`` or ``"kernels"``."""
        return "graph" if self._graph is not None else "kernels"

    def launch(self) -> None:
        """Do the work; the second launch records it, since the first one may load and connect."""
        self._launches += 1
        if self._records and self._graph is None and self._launches > 1:
            self._record()
        if self._graph is None:
            self._work()
        else:
            self._graph.launch(stream=self._ranks.device.xp.cuda.get_current_stream())

    def _record(self) -> None:
        cuda = self._ranks.device.xp.cuda
        stream = cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            self._work()
            self._graph = stream.end_capture()


def words_on_host(device: Device, count: int) -> tuple[Any, Any]:
    """Return 64-bit zeros in host memory, as arrays of the host and of the device, which may be lost."""
    if device.kind == "host":
        words = np.zeros(count, dtype=np.uint64)
        return words, words
    cupy = device.xp
    pinned = cupy.cuda.alloc_pinned_memory(8 * count)
    on_host = np.frombuffer(pinned, dtype=np.uint64, count=count)
    on_host[:] = 0
    memory = cupy.cuda.UnownedMemory(pinned.ptr, 8 * count, pinned, cupy.cuda.runtime.getDevice())
    return on_host, cupy.ndarray((count,), dtype=np.uint64, memptr=cupy.cuda.MemoryPointer(memory, 0))
