"""Kernels, their modules and launches: what both devices have in common."""

import functools
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from relaxometer.core.checkout import PACKAGE
from relaxometer.device import Dimensions, KernelError
from relaxometer.device.arguments import Arguments, Struct
from relaxometer.device.signature import read_source

MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_THREADS = 1024

Shape = tuple[tuple[int, ...], tuple[int, ...]]
"""Blocks of the grid and threads of a block, in three dimensions each."""


class Launch:
    """A launch whose `arguments` are checked and packed once; it keeps its arrays alive."""

    def __init__(
        self, arguments: Arguments, args: Sequence[Any], start: Callable[[Sequence[Any]], None]
    ) -> None:
        arguments.pack(args)
        self._pack = arguments.pack_one
        self._kernel = arguments.kernel
        self._positions = {parameter.name: k for k, parameter in enumerate(arguments.parameters)}
        self._given = list(args)
        self._start = start

    def set(self, **changed: Any) -> None:
        """Change arguments, by the names of the kernel's parameters; TypeError if one does not fit."""
        for name, arg in changed.items():
            position = self._positions.get(name)
            if position is None:
                known = ", ".join(self._positions)
                raise TypeError(f"kernel {self._kernel}: unknown argument {name!r}; there are: {known}")
            self._pack(position, arg)
            self._given[position] = arg

    def __call__(self, **changed: Any) -> None:
        """Launch the kernel, with other values for the arguments named, from now on."""
        if changed:
            self.set(**changed)
        self._start(self._given)


class Kernel(ABC):
    """A compiled ``__global__`` function of either device."""

    def __init__(self, name: str, arguments: Arguments) -> None:
        self.name = name
        self._arguments = arguments
        # Between packing and launch, no other thread may pack.
        self._packing = threading.Lock()

    def __call__(
        self, grid: Dimensions, block: Dimensions, args: Sequence[Any], *, shared_mem: int = 0
    ) -> None:
        """Launch the kernel; on a GPU, return before it ends.

        Blocks in the grid and threads per block are in one to three dimensions, and `shared_mem` is the bytes
        of dynamic shared memory per block. An argument is, for a pointer, a device array of exactly its type,
        or None; for a scalar, a NumPy scalar of exactly its type; for a plain struct, a mapping of its
        members or one packed by `Module.struct`. A structured NumPy scalar fits a struct of its size.

        TypeError if an argument does not fit its parameter. KernelError if the launch is impossible or the
        kernel fails; a GPU reports the latter at the next synchronization.
        """
        shape = launch_shape(self.name, grid, block)
        with self._packing:
            self._arguments.pack(args)
            self._start(self._checked(shape, shared_mem), self._arguments, args)

    def bind(
        self, grid: Dimensions, block: Dimensions, args: Sequence[Any], *, shared_mem: int = 0
    ) -> Launch:
        """Prepare a launch for repetition: everything is checked and packed once.

        Parameters and errors are those of a call. Where an argument is a struct packed by `Module.struct`,
        each launch takes it as it is then.
        """
        shape = launch_shape(self.name, grid, block)
        arguments = self._arguments.another()
        start = functools.partial(self._start, self._checked(shape, shared_mem), arguments)
        return Launch(arguments, args, start)

    @abstractmethod
    def _checked(self, shape: Shape, shared_mem: int) -> tuple[int, ...]:
        """Return grid, block and shared memory, seven numbers; KernelError if they do not fit the device."""

    @abstractmethod
    def _start(self, shape: tuple[int, ...], arguments: Arguments, args: Sequence[Any]) -> None:
        """Run the kernel with what is packed of `args`."""

    def _refuse_blocks(self, blocks: int, most: int) -> None:
        if blocks > most:
            raise KernelError(
                f"kernel {self.name}: a cooperative launch of {blocks} blocks; at most {most} run at once"
            )


class Module(ABC):
    """The kernels of one compiled ``.cu`` file, on either device."""

    def __init__(self, path: Path, options: tuple[str, ...], array_type: type) -> None:
        include_folders = [Path(option[2:]) for option in options if option.startswith("-I")] + [PACKAGE]
        self._source = read_source(path, include_folders, options)
        self.files = tuple(self._source.files)
        self._array_type = array_type
        self._kernels: dict[str, Kernel] = {}

    def struct(self, name: str, /, **members: Any) -> Struct:
        """Pack a plain struct that the file or a quoted include defines.

        Its members are scalars, pointers, plain structs, and arrays of these. Values are given as arguments
        are: a mapping for a nested struct, a sequence for an array. Members left out here must be set before
        a launch. Kernels of any module that defines an equal struct take it. KernelError if the struct is
        unknown; TypeError if a member is unknown or its value does not fit.
        """
        struct = Struct(self._source.layout(name), self._array_type, f"struct {name}")
        struct.set(**members)
        return struct

    def get_function(self, name: str) -> Kernel:
        """Return the kernel of this name, or of this name expression for an instantiated template."""
        if name not in self._kernels:
            arguments = Arguments(name, self._source.parameters(name), self._array_type)
            self._kernels[name] = self._new_kernel(name, arguments)
        return self._kernels[name]

    @abstractmethod
    def _new_kernel(self, name: str, arguments: Arguments) -> Kernel:
        """Return the device's kernel of this name."""


def loaded_once(make: Callable[..., Module]) -> Callable[..., Module]:
    """Keep the modules that `make` returns, each until one of the files that it was made from changes."""
    kept: dict[Any, tuple[Module, _Stamps]] = {}

    def load(
        path: Path,
        *,
        options: Sequence[str] = (),
        cooperative: bool = False,
        name_expressions: Sequence[str] = (),
    ) -> Module:
        how = {
            "options": tuple(options),
            "cooperative": cooperative,
            "name_expressions": tuple(name_expressions),
        }
        request = path.absolute(), *how.values()
        module, stamps = kept.get(request, (None, {}))
        if module is None or stamps != _stamps(stamps):
            module = make(path, **how)
            kept[request] = module, _stamps(module.files)
        return module

    return load


_Stamps = dict[Path, tuple[int, int]]  # time of change in nanoseconds and size of each file


def _stamps(files: Iterable[Path]) -> _Stamps:
    """Return the state of files; one that is gone has none."""
    found: _Stamps = {}
    for file in files:
        with suppress(OSError):
            status = file.stat()
            found[file] = status.st_mtime_ns, status.st_size
    return found


@functools.lru_cache(maxsize=4096)
def launch_shape(kernel: str, grid: Dimensions, block: Dimensions) -> Shape:
    """Complete a launch's dimensions to three each; KernelError if CUDA does not allow them."""
    shape = _three(grid), _three(block)
    if any(len(one) != 3 or min(one) < 1 for one in shape):
        wanted = "give each one to three whole numbers of at least 1"
    elif not _within(shape[1], MAX_BLOCK) or math.prod(shape[1]) > MAX_THREADS:
        wanted = f"a block has at most {MAX_THREADS} threads, {MAX_BLOCK} by dimension"
    elif not _within(shape[0], MAX_GRID):
        wanted = f"a grid has at most {MAX_GRID} blocks"
    else:
        return shape
    raise KernelError(f"kernel {kernel}: a grid of {grid} blocks of {block} threads is impossible: {wanted}")


def _three(dimensions: Dimensions) -> tuple[int, ...]:
    """Complete dimensions to three; a number that is not whole counts as 0."""
    given = dimensions if isinstance(dimensions, tuple) else (dimensions,)
    whole = [int(size) if size == int(size) else 0 for size in given]
    return (*whole, *(1,) * (3 - len(whole))) if whole else ()


def _within(dimensions: tuple[int, ...], limits: tuple[int, ...]) -> bool:
    return all(size <= limit for size, limit in zip(dimensions, limits, strict=True))
