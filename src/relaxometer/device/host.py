"""The host device: kernels run on this machine's processor, in an emulation of CUDA's execution model.

The emulation is deterministic and single-threaded. It reports errors with which a GPU would hang or silently
give wrong results: barriers that only some threads reach, warp operations whose lanes disagree, failed
assertions, accesses beyond arrays and shared memory. ``emulator/scheduler.h`` explains how it works,
``emulator/guards.h`` how arrays are guarded: every access past the end of an array is a fault, and so is one
far before it; a write less than a page before it is found when the launch ends, which then runs again under
the address sanitizer to learn the line.

Sanitizers find more, at several times the cost. All findings are a `KernelError` that names line and thread:

- ``"address"``: every access outside arrays and shared memory, also reads less than a page before an array.
- ``"thread"``: races between threads in arrays and shared memory, such as a missing barrier or atomic.
- ``"undefined"``: C++ whose behaviour is undefined: overflows, shifts, indices of local arrays.
"""

from __future__ import annotations

import ctypes
import functools
import math
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.core.checkout import PACKAGE
from relaxometer.core.environment import cpu_model, usable_cores
from relaxometer.core.errors import UserError
from relaxometer.device import Dimensions, KernelError, Timer, stopwatch
from relaxometer.device.arguments import Arguments
from relaxometer.device.guards import element_name, install_guards
from relaxometer.device.host_build import EMULATOR, SANITIZERS, build_library, find_compiler
from relaxometer.device.kernels import Kernel, Module, Shape, loaded_once

# Enough to test synchronization between blocks; each thread of a cooperative launch needs its own stack.
MAX_COOPERATIVE_BLOCKS = 8
# The limit of GPUs of compute capability 9.0 and 10.0.
MAX_SHARED_BYTES = 227 * 1024
_MESSAGE_BYTES = 16 * 1024
_DONE, _FAILED, _DAMAGED = range(3)  # `Outcome` in `emulator/launch.h`
_MARK = re.compile(r"\[(?P<kind>[+@])(?P<address>0x[0-9a-f]+)\]")
"""A line or an array's element in a message of ``emulator/messages.h``."""


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
        ("guards", ctypes.c_void_p),
    )


class HostKernel(Kernel):
    """A kernel in a library built by `relaxometer.device.host_build`."""

    def __init__(self, name: str, module: HostModule, number: int, arguments: Arguments) -> None:
        super().__init__(name, arguments)
        self._module = module
        self._function = module.library[f"emulator_launch_{number}"]
        self._cooperative = module.cooperative
        self._launching = threading.Lock()
        self._message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        self._configuration = _Configuration(
            cooperative=module.cooperative,
            order_seed=module.device.order_seed,
            message=ctypes.addressof(self._message),
            message_bytes=_MESSAGE_BYTES,
            guards=module.device.guards,
        )

    def _start(self, shape: tuple[int, ...], arguments: Arguments, args: Sequence[Any]) -> None:
        configuration = self._configuration
        with self._launching:
            configuration.grid, configuration.block = shape[:3], shape[3:6]
            configuration.shared_bytes = shape[6]
            outcome = self._function(ctypes.byref(configuration), ctypes.c_void_p(arguments.address))
            if outcome == _DONE:
                return
            message = self._message.value.decode(errors="replace")
        arrays = arguments.arrays(args)
        if outcome == _DAMAGED and self._module.sanitize != "address":
            # The same launch again, under checks that know line and thread.
            kernel = self._module.sanitized("address").get_function(self.name)
            kernel(shape[:3], shape[3:6], args, shared_mem=shape[6])
        raise KernelError(f"kernel {self.name}: {_readable(message, self._module.library_path, arrays)}")

    def _checked(self, shape: Shape, shared_mem: int) -> tuple[int, ...]:
        limit = self._module.device.shared_bytes
        if not 0 <= shared_mem <= limit:
            raise KernelError(
                f"kernel {self.name}: {shared_mem} bytes of dynamic shared memory; the limit is {limit}"
            )
        if self._cooperative:
            self._refuse_blocks(math.prod(shape[0]), MAX_COOPERATIVE_BLOCKS)
        return (*shape[0], *shape[1], shared_mem)


class HostModule(Module):
    """The kernels of a ``.cu`` file, built and loaded."""

    def __init__(
        self,
        path: Path,
        device: HostDevice,
        *,
        options: tuple[str, ...] = (),
        cooperative: bool = False,
        name_expressions: Sequence[str] = (),
        sanitize: str | None = None,
    ) -> None:
        super().__init__(path, options, np.ndarray)
        self.sanitize = sanitize
        how: Any = {"options": options, "cooperative": cooperative, "name_expressions": name_expressions}
        self.sanitized = functools.cache(lambda kind: HostModule(path, device, **how, sanitize=kind))
        self._expressions = [*name_expressions, *self._source.exported()]
        self.device = device
        self.cooperative = cooperative
        self.library_path = build_library(self._source, self._expressions, options=options, sanitize=sanitize)
        # PyDLL holds Python's lock during a launch: the scheduler runs one launch at a time.
        self.library = ctypes.PyDLL(str(self.library_path))

    def _new_kernel(self, name: str, arguments: Arguments) -> HostKernel:
        if name not in self._expressions:
            raise KernelError(f"{self._source.path}: {name!r} is a template; list it in name_expressions")
        return HostKernel(name, self, self._expressions.index(name), arguments)


class HostDevice:
    """The processor as a device; without `emulates`, that of CPU programs, which need no compiler."""

    def __init__(self, *, order_seed: int = 0, sanitize: str | None = None, emulates: bool = True) -> None:
        if sanitize is not None and sanitize not in SANITIZERS:
            raise UserError(f"unknown sanitizer {sanitize!r}; known: {', '.join(SANITIZERS)}")
        if not 0 <= order_seed < 2**32:
            raise UserError(f"order_seed: {order_seed} is not between 0 and 2^32 - 1")
        self.kind = "host"
        self.multiprocessors = 1
        self.shared_bytes = MAX_SHARED_BYTES
        self.bus_id: str | None = None
        self.xp: Any = np
        self.order_seed = order_seed
        self.sanitize = sanitize
        self.module = loaded_once(functools.partial(HostModule, device=self, sanitize=sanitize))
        self.emulates = emulates
        self.guards = install_guards() if emulates else None
        if self.guards is None and sanitize in ("address", "thread"):
            raise UserError(
                f"sanitize: {sanitize!r} needs 256 GiB of address space, which `ulimit -v` does not allow"
            )
        self.name = f"host emulation on {cpu_model()}"

    def timer(self) -> AbstractContextManager[Timer]:
        """Time a ``with`` block."""
        return stopwatch()

    def synchronize(self) -> None:
        """Return at once: launches end before they return."""

    def flush_cache(self) -> None:
        """Do nothing: emulated times say nothing of a GPU's caches."""

    def asarray(self, array: Any) -> Any:
        """Copy the array, as to a GPU."""
        return np.array(array, order="C")

    def asnumpy(self, array: Any) -> Any:
        """Copy the array, as from a GPU."""
        return np.array(array)

    def asarrays(self, *arrays: Any) -> list[Any]:
        """Copy arrays, as to a GPU."""
        return [self.asarray(one) for one in arrays]

    def asnumpys(self, *arrays: Any) -> list[Any]:
        """Copy arrays, as from a GPU."""
        return [self.asnumpy(one) for one in arrays]

    def fetch(self, array: Any) -> Callable[[], Any]:
        """Copy the array at once."""
        copy = np.array(array)
        return lambda: copy

    def empty_arrays(self, *wanted: tuple[int | tuple[int, ...], Any]) -> list[Any]:
        """Make arrays, each with red zones of its own."""
        return [np.empty(shape, dtype=dtype) for shape, dtype in wanted]

    def refuse(self, size: int, what: str) -> None:
        """Refuse nothing: the system knows better what it can give."""

    def item(self, array: Any, index: int = 0) -> Any:
        """Return one element as a Python number."""
        return array.item(index)

    def max_cooperative_blocks(self, kernel: Kernel, block: Dimensions, shared_mem: int = 0) -> int:
        """Return the fixed limit of the emulation; 0 if a block has less shared memory."""
        return MAX_COOPERATIVE_BLOCKS if shared_mem <= self.shared_bytes else 0

    def context(self) -> dict[str, Any]:
        """Describe the processor and the compiler."""
        return {
            "kind": self.kind,
            "name": self.name,
            "processor": cpu_model(),
            "cores": usable_cores(),
            "compiler": find_compiler().version.partition("\n")[0],
            "order_seed": self.order_seed,
            "sanitize": self.sanitize,
            "red_zones": self.guards is not None,
        }


opened = functools.cache(HostDevice)
"""Return the device of these settings: one for all callers, whose kernels are loaded once."""


def _readable(message: str, library: Path, arrays: dict[str, Any]) -> str:
    """Replace the marks of a message by lines of the source and elements of arrays."""

    def replaced(mark: re.Match[str]) -> str:
        if mark["kind"] == "@":
            return element_name(int(mark["address"], 16), arrays)
        return _line(int(mark["address"], 16) - 1, library) or mark[0]

    return _MARK.sub(replaced, message)


def _line(offset: int, library: Path) -> str | None:
    """Return file and line of an instruction, without the emulation's inlined functions, by addr2line."""
    program = shutil.which("addr2line")
    if program is None:
        return None
    command = [program, "-i", "-e", str(library), hex(offset)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line.partition(" (")[0] for line in result.stdout.splitlines()]
    inner = (str(EMULATOR), str(PACKAGE / "device/atomics.cuh"))
    return next((line for line in lines if "?" not in line and not line.startswith(inner)), None)
