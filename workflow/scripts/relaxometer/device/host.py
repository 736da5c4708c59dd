"""The host device: kernels run on this machine's processor, in an emulation of CUDA's execution model.

The emulation is deterministic and single-threaded. It reports errors with which a GPU would hang or silently
give wrong results: barriers that only some threads reach, warp operations whose lanes disagree, failed
assertions. ``emulator/scheduler.h`` explains how it works.

Sanitizers find more. ``"undefined"`` works anywhere and turns its findings into `KernelError`. ``"address"``
(accesses beyond arrays and shared memory) and ``"thread"`` (races between CUDA threads, missing barriers)
need run-time libraries that must be loaded before Python::

    LD_PRELOAD=$(g++ -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 python ...
    LD_PRELOAD=$(g++ -print-file-name=libtsan.so) setarch -R python ...
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.core.environment import cpu_model
from relaxometer.core.errors import UserError
from relaxometer.device import Dimensions, Kernel, KernelError, Timer, stopwatch
from relaxometer.device.arguments import ArgumentCheck, Struct, launch_shape
from relaxometer.device.host_build import SANITIZERS, build_library, find_compiler
from relaxometer.device.signature import PACKAGE, Parameter, read_source

# Enough to test synchronization between blocks; each thread of a cooperative launch needs its own stack.
MAX_COOPERATIVE_BLOCKS = 8
# The limit of GPUs of compute capability 9.0 and 10.0.
MAX_SHARED_BYTES = 227 * 1024
_MESSAGE_BYTES = 16 * 1024
_PRELOADED = {"address": "asan", "thread": "tsan"}


class _Configuration(ctypes.Structure):
    """Mirrors ``emulator::Configuration`` in ``emulator/launch.h``."""

    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_uint64),
        ("cooperative", ctypes.c_uint32),
        ("order_seed", ctypes.c_uint32),
        ("message", ctypes.c_char_p),
        ("message_bytes", ctypes.c_uint64),
    )


class HostKernel:
    """A kernel in a library built by `relaxometer.device.host_build`."""

    def __init__(self, name: str, module: HostModule, number: int, check: ArgumentCheck) -> None:
        self.name = name
        self._library = module.library_path
        self._function = module.library[f"emulator_launch_{number}"]
        self._check = check
        self._cooperative = module.cooperative
        self._message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        self._configuration = _Configuration(
            cooperative=module.cooperative,
            order_seed=module.device.order_seed,
            message=ctypes.addressof(self._message),
            message_bytes=_MESSAGE_BYTES,
        )

    def __call__(
        self, grid: Dimensions, block: Dimensions, args: Sequence[Any], *, shared_mem: int = 0
    ) -> None:
        """Run the kernel; see `relaxometer.device.Kernel`."""
        full_grid, full_block = launch_shape(self.name, grid, block)
        args = self._check(args)
        self._check.check_writable(args)
        self._check_limits(full_grid, shared_mem)
        values = [_value(arg, parameter) for arg, parameter in zip(args, self._check.parameters, strict=True)]
        addresses = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        configuration = self._configuration
        configuration.grid = full_grid
        configuration.block = full_block
        configuration.shared_bytes = shared_mem
        if self._function(ctypes.byref(configuration), addresses) != 0:
            message = self._message.value.decode(errors="replace")
            raise KernelError(f"kernel {self.name}: {_with_line(message, self._library)}")

    def _check_limits(self, grid: tuple[int, ...], shared_mem: int) -> None:
        if not 0 <= shared_mem <= MAX_SHARED_BYTES:
            raise KernelError(
                f"kernel {self.name}: {shared_mem} bytes of dynamic shared memory; "
                f"a block has at most {MAX_SHARED_BYTES}"
            )
        blocks = grid[0] * grid[1] * grid[2]
        if self._cooperative and blocks > MAX_COOPERATIVE_BLOCKS:
            raise KernelError(
                f"kernel {self.name}: a cooperative launch of {blocks} blocks; "
                f"at most {MAX_COOPERATIVE_BLOCKS} run at once"
            )


class HostModule:
    """The kernels of a ``.cu`` file, built and loaded."""

    def __init__(
        self,
        path: Path,
        device: HostDevice,
        *,
        options: tuple[str, ...] = (),
        cooperative: bool = False,
        name_expressions: Sequence[str] = (),
    ) -> None:
        include_folders = [Path(option[2:]) for option in options if option.startswith("-I")] + [PACKAGE]
        self._source = read_source(path, include_folders)
        self._expressions = [*name_expressions, *self._source.exported()]
        self.device = device
        self.cooperative = cooperative
        self.library_path = build_library(
            self._source, self._expressions, options=options, sanitize=device.sanitize
        )
        # PyDLL holds Python's lock during a launch: the scheduler runs one launch at a time.
        self.library = ctypes.PyDLL(str(self.library_path))

    def struct(self, name: str, /, **members: Any) -> Struct:
        """Pack a struct; see `relaxometer.device.Module`."""
        struct = Struct(self._source.layout(name), np.ndarray, f"struct {name}")
        struct.set(**members)
        return struct

    def get_function(self, name: str) -> HostKernel:
        """Return the kernel of this name or name expression."""
        parameters = self._source.parameters(name)
        if name not in self._expressions:
            raise KernelError(f"{self._source.path}: {name!r} is a template; list it in name_expressions")
        check = ArgumentCheck(name, parameters, np.ndarray)
        return HostKernel(name, self, self._expressions.index(name), check)


class HostDevice:
    """The processor as a device; see `relaxometer.device.Device`."""

    def __init__(self, *, order_seed: int = 0, sanitize: str | None = None) -> None:
        if sanitize is not None:
            _check_sanitizer(sanitize)
        if not 0 <= order_seed < 2**32:
            raise UserError(f"order_seed: {order_seed} is not between 0 and 2^32 - 1")
        self.kind = "host"
        self.xp: Any = np
        self.order_seed = order_seed
        self.sanitize = sanitize
        self.name = f"host emulation on {cpu_model()}"

    def module(self, path: Path, **options: Any) -> HostModule:
        """Build a ``.cu`` file; see `relaxometer.device.Device`."""
        return HostModule(path, self, **options)

    def timer(self) -> AbstractContextManager[Timer]:
        """Time a ``with`` block."""
        return stopwatch()

    def synchronize(self) -> None:
        """Return at once: launches end before they return."""

    def asarray(self, array: Any) -> Any:
        """Copy the array, as to a GPU."""
        return np.array(array, order="C")

    def asnumpy(self, array: Any) -> Any:
        """Copy the array, as from a GPU."""
        return np.array(array)

    def item(self, array: Any, index: int = 0) -> Any:
        """Return one element as a Python number."""
        return array.item(index)

    def max_cooperative_blocks(self, kernel: Kernel, block: Dimensions, shared_mem: int = 0) -> int:
        """Return the fixed limit of the emulation."""
        return MAX_COOPERATIVE_BLOCKS

    def context(self) -> dict[str, Any]:
        """Describe the processor and the compiler."""
        return {
            "kind": self.kind,
            "name": self.name,
            "processor": cpu_model(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "compiler": find_compiler().version.partition("\n")[0],
            "order_seed": self.order_seed,
            "sanitize": self.sanitize,
        }


def _value(arg: Any, parameter: Parameter) -> Any:
    """Return a ctypes object that holds the argument as the kernel takes it."""
    if parameter.is_pointer:
        return ctypes.c_void_p(0 if arg is None else arg.ctypes.data)
    return ctypes.create_string_buffer(arg.tobytes(), arg.dtype.itemsize)


def _with_line(message: str, library: Path) -> str:
    """Replace the offset of the failed instruction with its line, if binutils' addr2line finds it."""
    found = re.match(r"\[\+(0x[0-9a-f]+)\]", message)
    program = shutil.which("addr2line")
    if found is None or program is None:
        return message
    result = subprocess.run([program, "-e", library, found[1]], capture_output=True, text=True, check=False)
    line = result.stdout.strip().partition(" (")[0]
    return line + message[found.end() :] if line and "?" not in line else message


def _check_sanitizer(sanitize: str) -> None:
    if sanitize not in SANITIZERS:
        raise UserError(f"sanitize: {sanitize!r} is none of {', '.join(SANITIZERS)}")
    library = _PRELOADED.get(sanitize)
    if library is not None and not hasattr(ctypes.CDLL(None), f"__{library}_init"):
        raise UserError(
            f"sanitize={sanitize!r} must be loaded before Python: "
            f"set LD_PRELOAD=$({find_compiler().command[0]} -print-file-name=lib{library}.so)"
        )
