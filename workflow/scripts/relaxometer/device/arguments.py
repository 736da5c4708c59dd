"""Checks the arguments of launches and packs structs, for both devices.

CuPy checks neither count nor type nor layout of arguments: a Python int travels as eight bytes, a one-element
NumPy array by value, a strided array by the address of its first element. So both devices check every launch
here, against the parameter lists read from the source, and complain in the same words.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from relaxometer.device import Dimensions, KernelError
from relaxometer.device.signature import Layout, Parameter

MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_THREADS = 1024


class Struct:
    """A struct passed by value: members are checked like arguments, packed, and their arrays kept alive.

    `array_type` is the class of the device's arrays, `subject` the struct's name in messages, and `value` a
    zero-dimensional array of the layout's dtype to pack into.
    """

    def __init__(
        self, layout: Layout, array_type: type, subject: str, value: np.ndarray[Any, Any] | None = None
    ) -> None:
        self.layout = layout
        self.value = np.zeros((), layout.dtype) if value is None else value
        # CuPy asks an argument for its array interface, which takes NumPy 15 us for a struct of 20 members.
        self.packed = self.value.view(f"V{layout.dtype.itemsize}")
        self._array_type: Any = array_type
        self._is_contiguous = _is_contiguous(array_type)
        self._address_of = _address_of(array_type)
        self._may_be_read_only = issubclass(array_type, np.ndarray)
        self._subject = subject
        self._fields = {name: self.value[name] for name in layout.members}
        self.given: dict[str, Any] = {}
        self._nested: dict[str, Struct] = {}

    def set(self, **members: Any) -> None:
        """Set members; see `relaxometer.device.Struct`."""
        known_members = self.layout.members
        for name, given in members.items():
            member = known_members.get(name)
            if member is None:
                known = ", ".join(known_members)
                raise TypeError(f"{self._subject}: unknown member {name!r}; there are: {known}")
            field = self._fields[name]
            if member.count is None:
                if not self._store_usual(member, field, given):
                    self._store(member, field, given, name)
            elif isinstance(given, Sequence | np.ndarray) and len(given) == member.count:
                for k, item in enumerate(given):
                    self._store(member, field[k : k + 1].reshape(()), item, f"{name}[{k}]")
            else:
                self._refuse(member, name, _describe(given), f"{member.count} values, each ")
            self.given[name] = given

    def check_complete(self) -> None:
        """Raise TypeError unless every member has been set."""
        if len(self.given) < len(self._fields):
            missing = ", ".join(name for name in self._fields if name not in self.given)
            raise TypeError(f"{self._subject}: missing members: {missing}")
        for nested in self._nested.values():
            nested.check_complete()

    def _store_usual(self, member: Parameter, field: np.ndarray[Any, Any], given: Any) -> bool:
        """Write an array or NumPy scalar of exactly the type wanted, quickly; return whether it was one."""
        if type(given) is self._array_type:
            dtype = member.dtype
            if not member.is_pointer or not (dtype is None or given.dtype is dtype):
                return False
            if not self._is_contiguous(given) or (self._may_be_read_only and _read_only(member, given)):
                return False
            field[...] = self._address_of(given)
            return True
        if member.is_pointer or member.dtype is None or type(given) is not member.dtype.type:
            return False
        field[...] = given
        return True

    def _store(self, member: Parameter, field: np.ndarray[Any, Any], given: Any, path: str) -> None:
        """Check one value and write it to its place."""
        if member.layout is not None and isinstance(given, Mapping):
            nested = self._nested.get(path)
            if nested is None:
                subject = f"{self._subject}, member {path}"
                nested = self._nested[path] = Struct(member.layout, self._array_type, subject, field)
            nested.set(**given)
            return
        if isinstance(given, Struct):  # would be copied, and later changes lost
            self._refuse(member, path, _describe(given))
        misfit = _misfit(member, given, self._array_type) or _read_only(member, given)
        if misfit is not None:
            self._refuse(member, path, misfit)
        if member.is_pointer:
            given = 0 if given is None else self._address_of(given)
        field[...] = given

    def _refuse(self, member: Parameter, path: str, given: str, count: str = "") -> NoReturn:
        raise TypeError(
            f"{self._subject}, member {path} ({member.declaration}): "
            f"wanted {count}{member.wanted}, given {given}"
        )


class ArgumentCheck:
    """Checks the arguments of one kernel's launches, quickly if they fit."""

    def __init__(self, kernel: str, parameters: Sequence[Parameter], array_type: type) -> None:
        self.kernel = kernel
        self.parameters = parameters
        self._array_type: Any = array_type
        self._is_contiguous = _is_contiguous(array_type)
        self._expected = [_expected(parameter, array_type) for parameter in parameters]
        self._structs = [k for k, p in enumerate(parameters) if not p.is_pointer and p.dtype is None]

    def __call__(self, args: Sequence[Any]) -> Sequence[Any]:
        """Return the arguments with every struct as a zero-dimensional array; TypeError unless they fit."""
        if len(args) != len(self._expected):
            names = ", ".join(parameter.name for parameter in self.parameters)
            wanted = f"{len(self.parameters)} arguments ({names})"
            raise TypeError(f"kernel {self.kernel}: wanted {wanted}, given {len(args)}")
        position = 0
        for arg, (expected_type, dtype) in zip(args, self._expected):  # noqa: B905 - strict costs time
            if type(arg) is not expected_type or (
                dtype is not None and (arg.dtype is not dtype or not self._is_contiguous(arg))
            ):
                misfit = _misfit(self.parameters[position], arg, self._array_type)
                if misfit is not None:
                    self._refuse(position, misfit)
            position += 1  # noqa: SIM113 - enumerate costs time
        return self._packed(args) if self._structs else args

    def check_writable(self, args: Sequence[Any]) -> None:
        """Raise TypeError if an array is read-only whose pointer is not const."""
        for position, (arg, parameter) in enumerate(zip(args, self.parameters, strict=True)):
            misfit = _read_only(parameter, arg)
            if misfit is not None:
                self._refuse(position, misfit)

    def arrays(self, args: Sequence[Any]) -> dict[str, Any]:
        """Return the arrays of a launch by the names that the kernel's source gives them."""
        found: dict[str, Any] = {}
        for arg, parameter in zip(args, self.parameters, strict=True):
            given = arg.given if isinstance(arg, Struct) else {parameter.name: arg}
            _collect_arrays(given, self._array_type, found)
        return found

    def _packed(self, args: Sequence[Any]) -> Sequence[Any]:
        """Replace the structs among the arguments by zero-dimensional arrays."""
        packed = list(args)
        for position in self._structs:
            arg, layout = args[position], self.parameters[position].layout
            if layout is None or isinstance(arg, np.void):
                packed[position] = np.asarray(arg)
                continue
            if isinstance(arg, Mapping):
                struct = Struct(layout, self._array_type, self._subject(position))
                struct.set(**arg)
            else:
                struct = arg
                if struct.layout is not layout and struct.layout != layout:
                    self._refuse(position, f"a struct {struct.layout.name}")
            struct.check_complete()
            packed[position] = struct.packed
        return packed

    def _subject(self, position: int) -> str:
        return f"kernel {self.kernel}, argument {position + 1} ({self.parameters[position].declaration})"

    def _refuse(self, position: int, given: str) -> NoReturn:
        raise TypeError(
            f"{self._subject(position)}: wanted {self.parameters[position].wanted}, given {given}"
        )


def _collect_arrays(given: Mapping[str, Any], array_type: type, found: dict[str, Any]) -> None:
    for name, value in given.items():
        if isinstance(value, array_type):
            found[name] = value
        elif isinstance(value, Mapping):
            _collect_arrays(value, array_type, found)
        elif isinstance(value, list | tuple):
            _collect_arrays({f"{name}[{k}]": item for k, item in enumerate(value)}, array_type, found)


def _expected(parameter: Parameter, array_type: type) -> tuple[Any, np.dtype[Any] | None]:
    """Return the type of a usual argument, and for an array its dtype."""
    if parameter.is_pointer:
        return array_type, parameter.dtype
    if parameter.layout is not None:
        return Struct, None
    return np.void if parameter.dtype is None else parameter.dtype.type, None


def _misfit(parameter: Parameter, arg: Any, array_type: Any) -> str | None:
    """Describe an argument that does not fit; None if it fits."""
    if parameter.is_pointer:
        if arg is None:
            return None
        if not isinstance(arg, array_type):
            return _describe(arg)
        if parameter.dtype is not None and arg.dtype != parameter.dtype:
            return f"an array of {arg.dtype}"
        if not _is_contiguous(array_type)(arg):
            return f"an array of {arg.dtype} that is not contiguous"
        return None
    if parameter.layout is not None:
        if isinstance(arg, Mapping | Struct):
            return None
        if isinstance(arg, np.void) and arg.dtype.itemsize == parameter.layout.dtype.itemsize:
            return None
        return _describe(arg)
    if parameter.dtype is None:
        return None if isinstance(arg, np.void) else _describe(arg)
    return None if isinstance(arg, np.generic) and arg.dtype == parameter.dtype else _describe(arg)


def _read_only(parameter: Parameter, arg: Any) -> str | None:
    """Describe a read-only NumPy array that the kernel may write to."""
    is_written = parameter.is_pointer and not parameter.is_const
    is_read_only = isinstance(arg, np.ndarray) and not arg.flags.writeable
    return "a read-only array" if is_written and is_read_only else None


@functools.cache
def _is_contiguous(array_type: type) -> Callable[[Any], bool]:
    # CuPy creates the object `flags` at every access; the private attribute is faster.
    return operator.attrgetter(
        "_c_contiguous" if hasattr(array_type, "_c_contiguous") else "flags.c_contiguous"
    )


@functools.cache
def _address_of(array_type: type) -> Callable[[Any], int]:
    return operator.attrgetter("ctypes.data" if issubclass(array_type, np.ndarray) else "data.ptr")


def _describe(arg: Any) -> str:
    if isinstance(arg, Struct):
        return f"a struct {arg.layout.name}"
    module = type(arg).__module__.partition(".")[0]
    full_name = type(arg).__name__ if module == "builtins" else f"{module}.{type(arg).__name__}"
    if hasattr(arg, "dtype") and hasattr(arg, "shape") and not isinstance(arg, np.generic):
        return f"a {full_name} of {arg.dtype}"
    return f"the {full_name} {arg!r}"


@functools.lru_cache(maxsize=4096)
def launch_shape(kernel: str, grid: Dimensions, block: Dimensions) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Complete a launch's dimensions to three each; KernelError if CUDA does not allow them."""
    shape = _three(grid), _three(block)
    fits = _within(shape[0], MAX_GRID) and _within(shape[1], MAX_BLOCK)
    if not fits or math.prod(shape[1]) > MAX_THREADS:
        raise KernelError(
            f"kernel {kernel}: a grid of {grid} blocks of {block} threads is impossible: give one to three "
            f"dimensions of at least 1; a block has at most {MAX_THREADS} threads, {MAX_BLOCK} by dimension, "
            f"a grid at most {MAX_GRID} blocks"
        )
    return shape


def _three(dimensions: Dimensions) -> tuple[int, ...]:
    """Append ones, up to three dimensions."""
    if isinstance(dimensions, tuple):
        return (*map(int, dimensions), *(1,) * (3 - len(dimensions))) if dimensions else ()
    return (int(dimensions), 1, 1)


def _within(dimensions: tuple[int, ...], limits: tuple[int, ...]) -> bool:
    fits = (1 <= size <= limit for size, limit in zip(dimensions, limits, strict=False))
    return len(dimensions) == len(limits) and all(fits)
