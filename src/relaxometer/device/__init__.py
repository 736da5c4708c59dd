"""One interface to the devices that run kernels: a GPU through CuPy, or this machine's processor.

The same ``.cu`` files and drivers run on both. NVRTC compiles a kernel for the GPU; g++ compiles it against
an emulation of CUDA's execution model (see ``emulator/``).
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from relaxometer.core.errors import UserError, escaped

if TYPE_CHECKING:
    # At run time, importing this module loads no NumPy.
    from relaxometer.device.arguments import Struct as Struct
    from relaxometer.device.kernels import Kernel as Kernel
    from relaxometer.device.kernels import Launch as Launch
    from relaxometer.device.kernels import Module as Module

Dimensions = int | tuple[int, ...]

_COMPILE_ERROR = re.compile(r"^\S.*?(?::\d+(?::\d+)?|\(\d+\)): (?:\w+ )?[Ee]rror\b.*", re.MULTILINE)
"""The first line of an error, as g++, Clang and NVRTC write it."""


class KernelError(RuntimeError):
    """A kernel did not compile, could not be launched, or failed; with file, line and threads if known."""


def compile_error(path: Path, target: str, messages: str) -> KernelError:
    """Return the error of `path` for `target`: a line with the compiler's first error, then all messages."""
    found = _COMPILE_ERROR.search(messages)
    first = found[0] if found else next(filter(str.strip, messages.splitlines()), "no message")
    first = escaped(first.strip().removeprefix(f"{path.parent}/"))
    return KernelError(f"{path} does not compile for {target}: {first}\n{messages.strip()}")


class DeviceOutOfMemory(MemoryError):  # noqa: N818 - like MemoryError
    """The device has not enough memory for an array or a launch."""


@dataclass
class Timer:
    """The milliseconds that a ``with`` block took; set at its end."""

    ms: float = math.nan


@contextmanager
def stopwatch() -> Iterator[Timer]:
    """Time a ``with`` block on the host's clock."""
    timer = Timer()
    start = time.perf_counter()
    yield timer
    timer.ms = (time.perf_counter() - start) * 1e3


class Device(Protocol):
    """Where kernels run and arrays live; kernels take only arrays made with `xp` or `asarray`."""

    kind: str  # "cuda" or "host"; their times must not be compared
    name: str  # the GPU's name, or the processor's after "host emulation on"
    xp: Any  # the array module: CuPy or NumPy
    multiprocessors: int  # of the GPU; 1 of the emulation
    shared_bytes: int  # maximum shared memory of a block, static and dynamic together
    bus_id: str | None  # the GPU's on the PCI bus, such as "0000:1b:00.0"
    order_seed: int  # permutes the order in which the emulation starts blocks and threads, unless 0

    def __hash__(self) -> int:
        """Hash the object: each device is its own."""

    def module(
        self,
        path: Path,
        *,
        options: tuple[str, ...] = (),
        cooperative: bool = False,
        name_expressions: Sequence[str] = (),
    ) -> Module:
        """Compile a ``.cu`` file, or load it from the cache; KernelError with file and line if it cannot be.

        Quoted includes are found in its folder and in the package ``relaxometer``, so
        ``#include "device/atomics.cuh"`` works everywhere. Further `options` are those of the compiler:
        ``-D`` and ``-I``. If `cooperative`, all blocks of a launch run at once, so that kernels may call
        ``grid.sync()``. `name_expressions` are instantiations of templated kernels, such as
        ``"scale<float, 3>"``.
        """

    def timer(self) -> AbstractContextManager[Timer]:
        """Time the device's work in a ``with`` block, between two events on a GPU."""

    def synchronize(self) -> None:
        """Wait until the device has finished all work."""

    def flush_cache(self) -> None:
        """Have a GPU's second-level cache hold nothing that kernels have read."""

    def asarray(self, array: Any) -> Any:
        """Copy a NumPy array to the device, unless it is there already."""

    def asnumpy(self, array: Any) -> Any:
        """Copy a device array to NumPy, unless it is a NumPy array already."""

    def asarrays(self, *arrays: Any) -> list[Any]:
        """Copy arrays as `asarray` does, together, which is faster than one after the other."""

    def asnumpys(self, *arrays: Any) -> list[Any]:
        """Copy arrays as `asnumpy` does, together."""

    def fetch(self, array: Any) -> Callable[[], Any]:
        """Start to copy a few elements to NumPy; what is returned waits for them, not for later work."""

    def empty_arrays(self, *wanted: tuple[int | tuple[int, ...], Any]) -> list[Any]:
        """Make arrays of these shapes and dtypes by one allocation, which is freed with the last of them."""

    def refuse(self, size: int, what: str) -> None:
        """Raise DeviceOutOfMemory in one line that begins with `what` if this many bytes are not free."""

    def item(self, array: Any, index: int = 0) -> Any:
        """Return one element of a contiguous array as a Python number; wait for the kernels that write it.

        A negative `index` counts from the end; IndexError beyond either end.
        """

    def max_cooperative_blocks(self, kernel: Kernel, block: Dimensions, shared_mem: int = 0) -> int:
        """Return the maximum number of blocks of a cooperative launch of this shape."""

    def context(self) -> dict[str, Any]:
        """Describe hardware, drivers and compilers and their current state, for a run's record."""


def blocks_for(device: Device, items: int, block: int) -> int:
    """Return the blocks of a launch whose threads take several items each: at most 8 per multiprocessor."""
    return min(8 * device.multiprocessors, -(-items // block))


def get_device(kind: str = "auto", *, order_seed: int = 0, sanitize: str | None = None) -> Device:
    """Open a device; UserError if it is missing or its kind unknown.

    `kind` is ``"cuda"``, ``"host"``, or ``"auto"``: CUDA if CuPy is installed and sees a GPU, else the host.

    The others are of the host. `order_seed` permutes the order in which blocks and threads start; 0 keeps it
    ascending. Kernels are built with a sanitizer of the compiler, if given: ``"undefined"``, ``"address"`` or
    ``"thread"``. The last two need 256 GiB of address space (see `relaxometer.device.host`).
    """
    if kind not in ("auto", "cuda", "host"):
        raise UserError(f"unknown device {kind!r}; known: auto, cuda, host")
    if kind == "auto" and sanitize is not None:
        kind = "host"
    if kind != "host":
        from relaxometer.device import cuda

        obstacle = cuda.obstacle()
        if obstacle is None:
            if sanitize is not None:
                raise UserError(f"device cuda has no sanitizer {sanitize!r}; use device host")
            return cuda.CudaDevice(order_seed=order_seed)
        if kind == "cuda":
            raise UserError(f"device cuda: {obstacle}")
    from relaxometer.device.host import opened

    return opened(order_seed=order_seed, sanitize=sanitize)
