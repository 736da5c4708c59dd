"""One interface to the devices that run kernels: a GPU through CuPy, or this machine's processor.

The same ``.cu`` files and drivers run on both. NVRTC compiles a kernel for the GPU; g++ compiles it against
an emulation of CUDA's execution model (see ``emulator/``).
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from relaxometer.core.errors import UserError, escaped

Dimensions = int | tuple[int, ...]

_COMPILE_ERROR = re.compile(r"^\S.*?(?::\d+(?::\d+)?|\(\d+\)): (?:\w+ )?[Ee]rror\b.*", re.MULTILINE)
"""The first line of an error, as g++, Clang and NVRTC write it."""


class KernelError(RuntimeError):
    """A kernel did not compile, could not be launched, or failed.

    The message names the kernel and, where known, file, line and threads.
    """


def compile_error(path: Path, target: str, messages: str) -> KernelError:
    """Return the error that `path` does not compile for `target`.

    Its first line holds the compiler's first error with the number of the line; all messages follow.
    """
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


class Kernel(Protocol):
    """A compiled ``__global__`` function."""

    name: str

    def __call__(
        self, grid: Dimensions, block: Dimensions, args: Sequence[Any], *, shared_mem: int = 0
    ) -> None:
        """Launch the kernel; on a GPU, return before it ends.

        Parameters
        ----------
        grid, block
            Blocks in the grid and threads per block, in one to three dimensions.
        args
            One per parameter: for a pointer, a device array of exactly its type, or None; for a scalar, a
            NumPy scalar of exactly its type; for a plain struct, a mapping of its members or one packed by
            `Module.struct`. A structured NumPy scalar fits a struct of its size.
        shared_mem
            Bytes of dynamic shared memory per block.

        Raises
        ------
        TypeError
            If an argument does not fit its parameter.
        KernelError
            If the launch is impossible or the kernel fails; a GPU reports the latter at the next
            synchronization.
        """

    def bind(
        self, grid: Dimensions, block: Dimensions, args: Sequence[Any], *, shared_mem: int = 0
    ) -> Launch:
        """Prepare a launch that is to be repeated: all is checked and packed once.

        Parameters and errors are those of a call. Where an argument is a struct packed by `Module.struct`,
        each launch takes it as it is then.
        """


class Launch(Protocol):
    """A prepared launch; it keeps its arrays alive."""

    def __call__(self, **changed: Any) -> None:
        """Launch the kernel, with other values for the arguments named, from now on."""

    def set(self, **changed: Any) -> None:
        """Change arguments, by the names of the kernel's parameters.

        Raises
        ------
        TypeError
            If one is unknown or its value does not fit.
        """


class Struct(Protocol):
    """A struct that kernels take by value, packed once for many launches; it keeps its arrays alive."""

    def set(self, **members: Any) -> None:
        """Change members for the next launches; TypeError if one is unknown or its value does not fit."""


class Module(Protocol):
    """The kernels of one compiled ``.cu`` file."""

    def struct(self, name: str, /, **members: Any) -> Struct:
        """Pack a plain struct that the file or a quoted include defines.

        Its members are scalars, pointers, plain structs, and arrays of these. Values are given as arguments
        are: a mapping for a nested struct, a sequence for an array. Members left out here must be set before
        a launch. Kernels of any module that defines an equal struct take it.

        Raises
        ------
        KernelError
            If the struct is unknown.
        TypeError
            If a member is unknown or its value does not fit.
        """

    def get_function(self, name: str) -> Kernel:
        """Return the kernel of this name, or of this name expression for an instantiated template."""


class Device(Protocol):
    """Where kernels run and arrays live.

    Kernels take only arrays made with `xp` or `asarray`.
    """

    kind: str
    """``"cuda"`` or ``"host"``; their times must not be compared."""
    name: str
    """The GPU's name, or the processor's after "host emulation on"."""
    xp: Any
    """The array module: CuPy or NumPy."""
    multiprocessors: int
    """Multiprocessors of the GPU; 1 of the emulation."""
    order_seed: int
    """Permutes the order in which the emulation starts blocks and threads; 0 keeps it ascending."""

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
        """Compile a ``.cu`` file, or load it from the cache.

        Parameters
        ----------
        path
            Quoted includes are found in its folder and in the package ``relaxometer``, so
            ``#include "device/atomics.cuh"`` works everywhere.
        options
            Further compiler options: ``-D`` and ``-I``.
        cooperative
            Run all blocks of a launch at once, so that kernels may call ``grid.sync()``.
        name_expressions
            Instantiations of templated kernels, such as ``"scale<float, 3>"``.

        Raises
        ------
        KernelError
            If the file does not compile; the message names file and line.
        """

    def timer(self) -> AbstractContextManager[Timer]:
        """Time the device's work in a ``with`` block, between two events on a GPU."""

    def synchronize(self) -> None:
        """Wait until the device has finished all work."""

    def asarray(self, array: Any) -> Any:
        """Copy a NumPy array to the device, unless it is there already."""

    def asnumpy(self, array: Any) -> Any:
        """Copy a device array to NumPy, unless it is a NumPy array already."""

    def empty_arrays(self, *wanted: tuple[int | tuple[int, ...], Any]) -> list[Any]:
        """Make arrays of these shapes and dtypes by one allocation, which is freed with the last of them."""

    def item(self, array: Any, index: int = 0) -> Any:
        """Return one element of an array as a Python number, after waiting for the kernels that write it."""

    def max_cooperative_blocks(self, kernel: Kernel, block: Dimensions, shared_mem: int = 0) -> int:
        """Return the maximum number of blocks of a cooperative launch of this shape."""

    def context(self) -> dict[str, Any]:
        """Describe hardware, drivers and compilers and their current state, for a run's record."""


def blocks_for(device: Device, items: int, block: int) -> int:
    """Return the blocks of a launch whose threads take several items each: at most 8 per multiprocessor."""
    return min(8 * device.multiprocessors, -(-items // block))


def get_device(kind: str = "auto", *, order_seed: int = 0, sanitize: str | None = None) -> Device:
    """Open a device.

    Parameters
    ----------
    kind
        ``"cuda"``, ``"host"``, or ``"auto"``: CUDA if CuPy is installed and sees a GPU, else the host.
    order_seed
        On the host, permutes the order in which blocks and threads start; 0 keeps it ascending. A GPU
        ignores it.
    sanitize
        On the host, build kernels with a sanitizer of the compiler: ``"undefined"``, ``"address"`` or
        ``"thread"``. The last two need 256 GiB of address space (see `relaxometer.device.host`).

    Raises
    ------
    UserError
        If the device is missing or the kind unknown.
    """
    if kind not in ("auto", "cuda", "host"):
        raise UserError(f"device: {kind!r} is none of auto, cuda, host")
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
    from relaxometer.device.host import HostDevice

    return HostDevice(order_seed=order_seed, sanitize=sanitize)
