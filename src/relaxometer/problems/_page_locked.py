"""Arrays in page-locked memory, which a GPU copies while the host computes."""

from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.device import Device


def page_locked(device: Device, n: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an uninitialized array in host memory, page-locked for a GPU."""
    if device.kind != "cuda":
        return np.empty(n, dtype=dtype)
    memory = device.xp.cuda.alloc_pinned_memory(max(n, 1) * np.dtype(dtype).itemsize)
    return np.frombuffer(memory, dtype, n)


class Mirrored:
    """An array in page-locked memory, as seen by the host and by the device."""

    def __init__(self, device: Device, n: int, dtype: npt.DTypeLike) -> None:
        self.host = self.device = page_locked(device, n, dtype)
        if device.kind == "cuda":
            cuda, address, size = device.xp.cuda, self.host.ctypes.data, max(self.host.nbytes, 1)
            unowned = cuda.UnownedMemory(address, size, self.host, cuda.runtime.getDevice())
            self.device = device.xp.ndarray((n,), dtype, cuda.MemoryPointer(unowned, 0))
