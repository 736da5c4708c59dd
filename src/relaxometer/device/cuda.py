"""The CUDA device: kernels compiled by NVRTC and launched through CuPy, without CuPy's traps.

- Arguments are checked before every launch (`relaxometer.device.arguments`); CuPy checks nothing.
- CuPy shrinks a cooperative launch that does not fit, and turns an empty grid into one block: errors here.
- CuPy's cache of compiled kernels ignores edits of included files; here their text is part of the key.
- Dynamic shared memory beyond 48 KiB is requested as CUDA demands.
- Errors of the device become `KernelError` and `DeviceOutOfMemory`.

This module imports without CuPy.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import math
import shutil
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.core.checkout import PACKAGE, ROOT
from relaxometer.core.errors import UserError
from relaxometer.device import DeviceOutOfMemory, Dimensions, KernelError, Timer, compile_error
from relaxometer.device.arguments import Arguments
from relaxometer.device.counters import state_of
from relaxometer.device.kernels import Kernel, Module, Shape, launch_shape, loaded_once
from relaxometer.device.signature import Source
from relaxometer.device.transfers import LARGE, Staging

# Shared memory that a block has by default, static and dynamic together.
DEFAULT_SHARED_BYTES = 48 * 1024

PINNED_BYTES = 256

FLUSHED_BYTES = 1 << 28

ALIGNMENT = 512  # of arrays within one allocation, as of allocations

COMPUTE_CAPABILITY = 8  # that kernels need: warps reduce and blocks copy asynchronously in hardware

NO_DRIVER = "this machine has no NVIDIA driver"


def may_be_there() -> bool:
    """Return whether the system shows an NVIDIA GPU or its driver; opens nothing, so that one may fork."""
    signs = [*Path("/dev").glob("nvidia*"), *Path("/dev").glob("nvhost*"), *Path("/dev").glob("nvmap")]
    return bool(signs) or Path("/dev/dxg").exists() or Path("/proc/driver/nvidia").exists()


def missing(*, cupy: bool = True) -> str | None:
    """Return in one line what CUDA lacks here, a driver or `cupy` for this Python, or None; opens nothing."""
    if not may_be_there() and shutil.which("nvidia-smi") is None:
        return NO_DRIVER
    if not cupy or importlib.util.find_spec("cupy") is not None:
        return None
    python = Path(sys.executable)
    python = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    script = "workflow/envs/install_cupy.sh"
    way = f"sh {script} {python}" if (ROOT / script).exists() else "pip install 'relaxometer[cuda13]'"
    return f"CuPy is not installed; install it with: {way}"


def require(origin: str, *, cupy: bool = True) -> None:
    """Raise UserError if CUDA is :func:`missing` here; `origin` names the files that ask for it."""
    if lack := missing(cupy=cupy):
        advice = "; device: host emulates the kernels" if lack == NO_DRIVER else ""
        raise UserError(f"{origin}: device: cuda, but {lack}{advice}")


def obstacle() -> str | None:
    """Return in one line why there is no CUDA device, or None if there is one."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        if error.name == "cupy":
            return missing() or f"CuPy does not import: {error}"
        return f"CuPy does not import: {error}"
    runtime = cupy.cuda.runtime
    try:
        if runtime.getDeviceCount() == 0:
            return "CuPy sees no GPU"
        *major, minor = cupy.cuda.Device().compute_capability
    except runtime.CUDARuntimeError as error:
        return f"CuPy sees no GPU: {error}"
    if int("".join(major)) < COMPUTE_CAPABILITY:
        name = runtime.getDeviceProperties(runtime.getDevice())["name"].decode()
        found = f"{name} has compute capability {''.join(major)}.{minor}"
        return f"{found}; the kernels need {COMPUTE_CAPABILITY}.0 or higher"
    return None


class CudaKernel(Kernel):
    """A kernel of a `CudaModule`."""

    def __init__(
        self, name: str, raw_kernel: Any, arguments: Arguments, device: CudaDevice, *, cooperative: bool
    ) -> None:
        super().__init__(name, arguments)
        self._raw = raw_kernel
        self._address = raw_kernel.kernel.ptr
        self._device = device
        self._cooperative = cooperative
        driver = device.xp.cuda.driver
        self._launch = driver.launchCooperativeKernel if cooperative else driver.launchKernel
        self._extra = () if cooperative else (0,)
        self._shared_bytes_granted: int | None = None
        self.resident_blocks = functools.cache(self._resident_blocks)

    def _checked(self, shape: Shape, shared_mem: int) -> tuple[int, ...]:
        grid, block = shape
        try:
            self._grant(shared_mem)
            if self._cooperative:
                most = self.resident_blocks(math.prod(block), shared_mem)
                self._refuse_blocks(math.prod(grid), most)
        except self._device.errors as error:
            raise self._failed(error, (*grid, *block)) from error
        return (*grid, *block, shared_mem)

    def _start(self, shape: tuple[int, ...], arguments: Arguments, args: Sequence[Any]) -> None:
        """Have the driver launch the kernel with what is packed; without checks, which CuPy would repeat."""
        device = self._device
        device.last_launched = self.name
        launch = (self._address, *shape, device.current_stream().ptr, arguments.address, *self._extra)
        try:
            self._launch(*launch)
        except device.errors as error:
            if "INVALID_CONTEXT" not in str(error):
                raise self._failed(error, shape) from error
            # A thread's first call: unlike CUDA's runtime, its driver enters no context by itself.
            device.enter()
            self._launch(*launch)

    def _failed(self, error: Exception, shape: tuple[int, ...]) -> Exception:
        grid, block = shape[:3], shape[3:6]
        return self._device.translated(error, f"kernel {self.name}, {grid} blocks of {block} threads")

    def _grant(self, shared_mem: int) -> None:
        """Request dynamic shared memory beyond the default."""
        if not shared_mem:
            return
        if self._shared_bytes_granted is None:
            self._shared_bytes_granted = DEFAULT_SHARED_BYTES - self._raw.shared_size_bytes
        if shared_mem > self._shared_bytes_granted:
            self._raw.max_dynamic_shared_size_bytes = shared_mem
            self._shared_bytes_granted = shared_mem

    def _resident_blocks(self, threads: int, shared_mem: int) -> int:
        """Return the blocks that run at once on the device; 0 if one is too large."""
        occupancy = self._device.xp.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor
        try:
            self._grant(shared_mem)
        except self._device.errors:
            return 0
        per_multiprocessor = occupancy(self._address, threads, shared_mem)
        return int(per_multiprocessor) * self._device.multiprocessors


class CudaModule(Module):
    """The kernels of a ``.cu`` file, compiled for the current GPU."""

    def __init__(
        self,
        path: Path,
        device: CudaDevice,
        *,
        options: tuple[str, ...] = (),
        cooperative: bool = False,
        name_expressions: Sequence[str] = (),
    ) -> None:
        super().__init__(path, options, device.xp.ndarray)
        self._device = device
        self._cooperative = cooperative
        self._raw = device.xp.RawModule(
            code=numbered_source(self._source),
            options=compiler_options(self._source, options),
            name_expressions=tuple(name_expressions) or None,
            enable_cooperative_groups=cooperative,
        )
        compile_exception = importlib.import_module("cupy.cuda.compiler").CompileException
        try:
            self._raw.compile()
        except compile_exception as error:
            raise compile_error(self._source.path, "CUDA", str(error)) from error
        except device.errors as error:
            raise device.translated(error, str(self._source.path)) from error

    def _new_kernel(self, name: str, arguments: Arguments) -> CudaKernel:
        device = self._device
        try:
            raw_kernel = self._raw.get_function(name)
            return CudaKernel(name, raw_kernel, arguments, device, cooperative=self._cooperative)
        except device.errors as error:
            raise device.translated(error, f"{self._source.path}: kernel {name!r}") from error


class _Pinned(threading.local):
    """A little page-locked memory for each thread."""

    def __init__(self, xp: Any) -> None:
        self.memory = xp.cuda.alloc_pinned_memory(PINNED_BYTES)


class CudaDevice:
    """The current GPU; see `relaxometer.device.Device`."""

    def __init__(self, *, order_seed: int = 0) -> None:
        self.kind = "cuda"
        self.order_seed = order_seed
        self.xp: Any = importlib.import_module("cupy")
        runtime = self.xp.cuda.runtime
        self.errors = (runtime.CUDARuntimeError, self.xp.cuda.driver.CUDADriverError)
        self._number = runtime.getDevice()
        self._properties = runtime.getDeviceProperties(self._number)
        self.bus_id: str | None = str(runtime.deviceGetPCIBusId(self._number))
        self.name = self._properties["name"].decode()
        self.multiprocessors = int(self._properties["multiProcessorCount"])
        most = runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin
        self.shared_bytes = int(runtime.deviceGetAttribute(most, self._number))
        self.current_stream: Callable[[], Any] = self.xp.cuda.get_current_stream
        self.last_launched = ""
        self.module = loaded_once(functools.partial(CudaModule, device=self))
        self._fetching = _Pinned(self.xp)
        self._staging = _staging(self._number)
        _translate_allocations(self.xp)

    def enter(self) -> None:
        """Make the device the one of this thread."""
        self.xp.cuda.runtime.setDevice(self._number)

    @contextmanager
    def timer(self) -> Iterator[Timer]:
        """Time a ``with`` block between two events on the device."""
        timer = Timer()
        start = self.xp.cuda.Event()
        end = self.xp.cuda.Event()
        start.record()
        yield timer
        end.record()
        with self._late_errors():
            end.synchronize()
            timer.ms = float(self.xp.cuda.get_elapsed_time(start, end))

    def synchronize(self) -> None:
        """Wait until the device has finished all work."""
        with self._late_errors():
            self.xp.cuda.runtime.deviceSynchronize()

    def flush_cache(self) -> None:
        """Write memory that is several times as large as the second-level cache, of 50 MB on an H100."""
        memory = self.xp.cuda.Memory(FLUSHED_BYTES)  # not of the pool, whose size is a result
        self.xp.cuda.runtime.memset(memory.ptr, 0, FLUSHED_BYTES)
        self.synchronize()

    def asarray(self, array: Any) -> Any:
        """Copy an array to the device."""
        return self.asarrays(array)[0]

    def asarrays(self, *arrays: Any) -> list[Any]:
        """Copy arrays to the device; large ones by several threads."""
        with self._late_errors():
            if all(map(_is_plain, arrays)) and sum(one.nbytes for one in arrays) >= LARGE:
                return self._staging.upload(arrays)
            return [self.xp.ascontiguousarray(self.xp.asarray(one)) for one in arrays]

    def asnumpy(self, array: Any) -> Any:
        """Copy an array from the device."""
        return self.asnumpys(array)[0]

    def asnumpys(self, *arrays: Any) -> list[Any]:
        """Copy arrays from the device: large ones by several threads, a small one by pinned memory."""
        own = [one for one in arrays if isinstance(one, self.xp.ndarray) and one.flags.c_contiguous]
        total = sum(one.nbytes for one in own)
        if len(own) == len(arrays) == 1 and 0 < total <= PINNED_BYTES:
            (one,) = own
            return [self._fetched(one.data.ptr, one.dtype, one.size).copy().reshape(one.shape)]
        with self._late_errors():
            if len(own) == len(arrays) and total >= LARGE:
                return self._staging.download(arrays)
            return [self.xp.asnumpy(one) for one in arrays]

    def fetch(self, array: Any) -> Callable[[], Any]:
        """Start to copy a few elements; what is returned waits for an event after them."""
        cuda, stream, size = self.xp.cuda, self.current_stream(), array.nbytes
        memory, event, way = cuda.alloc_pinned_memory(size), cuda.Event(), cuda.runtime.memcpyDeviceToHost
        with self._late_errors():
            cuda.runtime.memcpyAsync(memory.ptr, array.data.ptr, size, way, stream.ptr)
            event.record(stream)
            _keep(memory, event)

        def arrived() -> Any:
            with self._late_errors():
                event.synchronize()
            return np.frombuffer(memory, array.dtype, array.size)

        return arrived

    def empty_arrays(self, *wanted: tuple[int | tuple[int, ...], Any]) -> list[Any]:
        """Make arrays by one allocation; see `relaxometer.device.Device`."""
        begins, end = [], 0
        for shape, dtype in wanted:
            begins.append(end)
            count = shape if isinstance(shape, int) else math.prod(shape)
            end += -(-count * np.dtype(dtype).itemsize // ALIGNMENT) * ALIGNMENT
        memory, new = self.xp.cuda.alloc(end), self.xp.ndarray
        return [
            new(shape, dtype, memory + begin) for begin, (shape, dtype) in zip(begins, wanted, strict=True)
        ]

    def refuse(self, size: int, what: str) -> None:
        """Raise DeviceOutOfMemory if there are not `size` bytes; see `relaxometer.device.Device`."""
        # What freed arrays left to the pool. To ask the driver for more takes longer.
        free = self.xp.get_default_memory_pool().free_bytes()
        if size > free:
            free += self.xp.cuda.runtime.memGetInfo()[0]
        if size > free:
            raise DeviceOutOfMemory(f"{what}: {size:,} bytes; {self.name} has {free:,} free")

    def item(self, array: Any, index: int = 0) -> Any:
        """Return one element as a Python number, by the fastest way: a copy into pinned memory."""
        place = range(array.size)[index]
        return self._fetched(array.data.ptr + place * array.dtype.itemsize, array.dtype, 1).item()

    def _fetched(self, address: int, dtype: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
        """Copy a few elements into pinned memory and wait; the thread's next call overwrites them."""
        runtime, pinned = self.xp.cuda.runtime, self._fetching.memory
        stream = self.current_stream().ptr
        size = count * dtype.itemsize
        try:
            runtime.memcpyAsync(pinned.ptr, address, size, runtime.memcpyDeviceToHost, stream)
            runtime.streamSynchronize(stream)
        except self.errors as error:
            raise self._late(error) from error
        return np.frombuffer(pinned, dtype, count)

    def max_cooperative_blocks(self, kernel: Kernel, block: Dimensions, shared_mem: int = 0) -> int:
        """Return the maximum number of blocks of a cooperative launch of this shape."""
        if not isinstance(kernel, CudaKernel):
            raise TypeError(f"wanted a kernel of this device, given {kernel!r}")
        _, (x, y, z) = launch_shape(kernel.name, 1, block)
        return kernel.resident_blocks(x * y * z, shared_mem)

    def context(self) -> dict[str, Any]:
        """Describe the GPU, its software, and its current clocks, temperature and power."""
        runtime = self.xp.cuda.runtime
        properties = self._properties
        return {
            "kind": self.kind,
            "name": self.name,
            "compute_capability": f"{properties['major']}.{properties['minor']}",
            "multiprocessors": self.multiprocessors,
            "memory_bytes": int(properties["totalGlobalMem"]),
            "l2_bytes": int(properties["l2CacheSize"]),
            "cuda_driver_api": _version(runtime.driverGetVersion()),
            "cuda_runtime": _version(runtime.runtimeGetVersion()),
            "cupy": self.xp.__version__,
            **state_of(self.bus_id),
        }

    @contextmanager
    def _late_errors(self) -> Iterator[None]:
        """Translate errors of earlier kernels, raised where the host waits for the device."""
        try:
            yield
        except self.errors as error:
            raise self._late(error) from error

    def _late(self, error: Exception) -> Exception:
        subject = f"kernel {self.last_launched} or one before it" if self.last_launched else "CUDA"
        return self.translated(error, subject)

    def translated(self, error: Exception, subject: str) -> Exception:
        """Return an error of CUDA as one of this package."""
        if "OUT_OF_MEMORY" in str(error).upper() or "MEMORYALLOCATION" in str(error).upper():
            return DeviceOutOfMemory(f"{subject}: {error}")
        return KernelError(f"{subject}: {error}")


_UNDER_WAY: deque[tuple[Any, Any]] = deque()
"""Page-locked memory into which copies go, with an event after each."""


def _keep(memory: Any, event: Any) -> None:
    """Keep memory until the event, also if nobody waits: it would go to others while the copy writes it."""
    _UNDER_WAY.append((memory, event))
    with suppress(IndexError):  # another thread took the last one
        for _ in range(len(_UNDER_WAY)):
            memory, event = _UNDER_WAY.popleft()
            if not event.done:
                _UNDER_WAY.append((memory, event))


@functools.cache
def _staging(number: int) -> Staging:
    """Return the buffers and threads of a GPU, which all devices of the process share."""
    return Staging(importlib.import_module("cupy"))


def _is_plain(array: Any) -> bool:
    """Return whether an array is NumPy's, with its bytes as a GPU takes them."""
    return (
        isinstance(array, np.ndarray)
        and array.flags.c_contiguous
        and array.dtype.kind in "biuf"
        and array.dtype.isnative
    )


def numbered_source(source: Source) -> str:
    """Return the source so that messages name its file, and with a digest of everything included."""
    digest = hashlib.sha256("\0".join(source.files.values()).encode()).hexdigest()
    return f'// with everything included: {digest}\n#line 1 "{source.path}"\n{source.text}'


def compiler_options(source: Source, options: tuple[str, ...]) -> tuple[str, ...]:
    """Return NVRTC's options: the language and the include folders."""
    return ("-std=c++17", f"-I{source.path.parent}", *options, f"-I{PACKAGE}")


def _translate_allocations(cupy: Any) -> None:
    allocate: Callable[[int], Any] = cupy.cuda.get_allocator()
    if getattr(allocate, "translates_errors", False):
        return

    def translating(size: int) -> Any:
        try:
            return allocate(size)
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise DeviceOutOfMemory(str(error)) from error

    translating.translates_errors = True  # type: ignore[attr-defined]
    cupy.cuda.set_allocator(translating)


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
