"""Checks the arguments of launches and packs them and their structs, for both devices.

CuPy checks neither count nor type nor layout of arguments: a Python int travels as eight bytes, a one-element
NumPy array by value, a strided array by the address of its first element. So both devices check every launch
here, against the parameter lists read from the source, and complain in the same words.

Arguments are packed into memory as the driver of CUDA takes them. A kernel packs those of one launch over
those of the one before, since the driver copies them; a `Launch` has memory of its own.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from relaxometer.device.signature import Layout, Parameter, Place

_ADDRESS = "L"
_WORD = 8  # bytes of an address, and of the largest scalar


class _Memory:
    """Bytes into which scalars and addresses are written by their places."""

    def __init__(self, size: int, array_type: type) -> None:
        self.bytes = bytearray(max(1, -(-size // _WORD)) * _WORD)
        self._words: memoryview[Any] = memoryview(self.bytes).cast(_ADDRESS)  # type: ignore[call-overload]
        self._views = {_ADDRESS: self._words}
        self._arrays = _arrays_of(array_type)

    @functools.cached_property
    def address(self) -> int:
        """Where the bytes lie."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))

    def write(self, place: Place, given: Any) -> str | None:
        """Check a value and write it; return what is wrong with it, None if it fits."""
        given_type, arrays = type(given), self._arrays
        if given_type is place.type:
            self._view(place.format)[place.index] = given
            return None
        if given_type is arrays.type:
            if place.is_pointer and (place.dtype is None or given.dtype is place.dtype):
                address = arrays.address(given, place.is_written)
                if address is not None:
                    self._words[place.index] = address
                    return None
        elif given is None and place.is_pointer:
            self._words[place.index] = 0
            return None
        return self._write_unusual(place, given)

    def _write_unusual(self, place: Place, given: Any) -> str | None:
        """Check a value of a type that is equal to the usual one, or of none that fits, and write it."""
        array_type = self._arrays.type
        misfit = _misfit(place.parameter, given, array_type)
        if misfit is None:
            value = self._arrays.address(given, False) if place.is_pointer else given
            self._view(place.format)[place.index] = value
        return misfit

    def write_bytes(self, offset: int, value: np.void) -> None:
        """Copy a structured scalar."""
        self.bytes[offset : offset + value.itemsize] = value.tobytes()

    def _view(self, letter: str) -> memoryview[Any]:
        view = self._views.get(letter)
        if view is None:
            plain = memoryview(self.bytes)
            view = self._views[letter] = plain.cast(letter)  # type: ignore[call-overload]
        return view


class Struct:
    """A struct passed by value, packed for many launches: its members are checked like arguments.

    It keeps its arrays alive.

    `array_type` is the class of the device's arrays, and `subject` the struct's name in messages. A struct
    within another lies in its `memory`, from `offset` on.
    """

    def __init__(
        self, layout: Layout, array_type: type, subject: str, memory: _Memory | None = None, offset: int = 0
    ) -> None:
        self.layout = layout
        self.memory = _Memory(layout.size, array_type) if memory is None else memory
        self._offset = offset
        self._array_type = array_type
        self._subject = subject
        self.given: dict[str, Any] = {}
        self._nested: dict[str, Struct] = {}

    def set(self, **members: Any) -> None:
        """Change members for the next launches; TypeError if one is unknown or its value does not fit."""
        usual = self.layout.usual if self._offset == 0 else {}
        write = self.memory.write
        for name, given in members.items():
            place = usual.get(name)
            if place is None:
                self._set_other(name, given)
            elif (misfit := write(place, given)) is not None:
                self._refuse(place.parameter, name, misfit)
            self.given[name] = given

    def check_complete(self) -> None:
        """Raise TypeError unless every member has been set."""
        if len(self.given) < len(self.layout.members):
            missing = ", ".join(name for name in self.layout.members if name not in self.given)
            raise TypeError(f"{self._subject}: missing members: {missing}")
        for nested in self._nested.values():
            nested.check_complete()

    def _set_other(self, name: str, given: Any) -> None:
        """Set an array member, a struct, or a member of a struct within another."""
        member = self.layout.members.get(name)
        if member is None:
            known = ", ".join(self.layout.members)
            raise TypeError(f"{self._subject}: unknown member {name!r}; there are: {known}")
        offset = self._offset + self.layout.offset(name)
        if member.count is None:
            self._store(member, offset, given, name)
        elif isinstance(given, Sequence | np.ndarray) and len(given) == member.count:
            assert member.passed is not None
            for k, item in enumerate(given):
                self._store(member, offset + k * member.passed.itemsize, item, f"{name}[{k}]")
        else:
            self._refuse(member, name, _describe(given), f"{member.count} values, each ")

    def _store(self, member: Parameter, offset: int, given: Any, path: str) -> None:
        if member.layout is None:
            misfit = self.memory.write(Place.of(member, offset), given)
        elif isinstance(given, Mapping):
            nested = self._nested.get(path)
            if nested is None:
                subject = f"{self._subject}, member {path}"
                nested = Struct(member.layout, self._array_type, subject, self.memory, offset)
                self._nested[path] = nested
            nested.set(**given)
            return
        elif isinstance(given, Struct):  # would be copied, and later changes lost
            misfit = _describe(given)
        else:
            misfit = _misfit(member, given, self._array_type)
            if misfit is None:
                self.memory.write_bytes(offset, given)
        if misfit is not None:
            self._refuse(member, path, misfit)

    def _refuse(self, member: Parameter, path: str, given: str, count: str = "") -> NoReturn:
        raise TypeError(
            f"{self._subject}, member {path} ({member.declaration}): "
            f"wanted {count}{member.wanted}, given {given}"
        )


class Arguments:
    """The arguments of a kernel, checked and packed; for the driver, their addresses lie at `address`."""

    def __init__(
        self,
        kernel: str,
        parameters: Sequence[Parameter],
        array_type: type,
        places: Sequence[Place | None] | None = None,
    ) -> None:
        self.kernel = kernel
        self.parameters = parameters
        self._array_type = array_type
        self._places = _places(parameters) if places is None else places
        count = len(parameters)
        self._values = _Memory(_WORD * count, array_type)
        self._addresses = (ctypes.c_void_p * max(1, count))(
            *range(self._values.address, self._values.address + _WORD * count, _WORD)
        )
        self._structs: dict[int, _Memory] = {}
        self.address = ctypes.addressof(self._addresses)

    def pack(self, args: Sequence[Any]) -> None:
        """Check and pack all arguments; TypeError unless they fit."""
        places = self._places
        if len(args) != len(places):
            names = ", ".join(parameter.name for parameter in self.parameters)
            wanted = f"{len(places)} arguments ({names})"
            raise TypeError(f"kernel {self.kernel}: wanted {wanted}, given {len(args)}")
        write = self._values.write
        position = 0
        for place, arg in zip(places, args):  # noqa: B905 - strict costs time
            if place is None:
                self._pack_struct(position, arg)
            elif (misfit := write(place, arg)) is not None:
                self._refuse(position, misfit)
            position += 1  # noqa: SIM113 - enumerate costs time

    def pack_one(self, position: int, arg: Any) -> None:
        """Check and pack one argument; TypeError unless it fits."""
        place = self._places[position]
        if place is None:
            self._pack_struct(position, arg)
        elif (misfit := self._values.write(place, arg)) is not None:
            self._refuse(position, misfit)

    def another(self) -> Arguments:
        """Return memory for other arguments of the same kernel."""
        return Arguments(self.kernel, self.parameters, self._array_type, self._places)

    def arrays(self, args: Sequence[Any]) -> dict[str, Any]:
        """Return the arrays of a launch by the names that the kernel's source gives them."""
        found: dict[str, Any] = {}
        for arg, parameter in zip(args, self.parameters, strict=True):
            given = arg.given if isinstance(arg, Struct) else {parameter.name: arg}
            _collect_arrays(given, self._array_type, found)
        return found

    def _pack_struct(self, position: int, arg: Any) -> None:
        layout = self.parameters[position].layout
        if layout is not None and isinstance(arg, Mapping):
            struct = Struct(layout, self._array_type, self._subject(position))
            struct.set(**arg)
        elif layout is not None and isinstance(arg, Struct):
            struct = arg
            if struct.layout is not layout and struct.layout != layout:
                self._refuse(position, f"a struct {struct.layout.name}")
        else:
            misfit = _misfit(self.parameters[position], arg, self._array_type)
            if misfit is not None:
                self._refuse(position, misfit)
            self._point(position, _Memory(arg.itemsize, self._array_type))
            self._structs[position].write_bytes(0, arg)
            return
        struct.check_complete()
        self._point(position, struct.memory)

    def _point(self, position: int, memory: _Memory) -> None:
        """Let an argument be what lies in this memory."""
        self._structs[position] = memory
        self._addresses[position] = memory.address

    def _subject(self, position: int) -> str:
        return f"kernel {self.kernel}, argument {position + 1} ({self.parameters[position].declaration})"

    def _refuse(self, position: int, given: str) -> NoReturn:
        raise TypeError(
            f"{self._subject(position)}: wanted {self.parameters[position].wanted}, given {given}"
        )


def _places(parameters: Sequence[Parameter]) -> list[Place | None]:
    """Return a word for each scalar and pointer, and None for each struct."""
    return [
        None if parameter.layout is not None or parameter.passed is None else Place.of(parameter, _WORD * k)
        for k, parameter in enumerate(parameters)
    ]


def _collect_arrays(given: Mapping[str, Any], array_type: type, found: dict[str, Any]) -> None:
    for name, value in given.items():
        if isinstance(value, array_type):
            found[name] = value
        elif isinstance(value, Mapping):
            _collect_arrays(value, array_type, found)
        elif isinstance(value, list | tuple):
            _collect_arrays({f"{name}[{k}]": item for k, item in enumerate(value)}, array_type, found)


def _misfit(parameter: Parameter, arg: Any, array_type: Any) -> str | None:
    """Describe an argument that does not fit; None if it fits."""
    if parameter.is_pointer:
        if arg is None:
            return None
        if not isinstance(arg, array_type):
            return _describe(arg)
        if parameter.dtype is not None and arg.dtype != parameter.dtype:
            return f"an array of {arg.dtype}"
        if not _arrays_of(array_type).is_contiguous(arg):
            return f"an array of {arg.dtype} that is not contiguous"
        is_read_only = isinstance(arg, np.ndarray) and not arg.flags.writeable
        return "a read-only array" if is_read_only and not parameter.is_const else None
    if parameter.layout is not None:
        if isinstance(arg, Mapping | Struct):
            return None
        if isinstance(arg, np.void) and arg.dtype.itemsize == parameter.layout.dtype.itemsize:
            return None
        return _describe(arg)
    if parameter.dtype is None:
        return None if isinstance(arg, np.void) else _describe(arg)
    return None if isinstance(arg, np.generic) and arg.dtype == parameter.dtype else _describe(arg)


class _NumPyArrays:
    """How to use the arrays of the host device."""

    type: Any = np.ndarray

    @staticmethod
    def is_contiguous(array: Any) -> bool:
        return bool(array.flags.c_contiguous)

    @staticmethod
    def address(array: Any, written: bool) -> int | None:
        """Return the address of a contiguous array, unless it is read-only but to be written."""
        flags = array.flags
        if not flags.c_contiguous or (written and not flags.writeable):
            return None
        address: int = array.__array_interface__["data"][0]  # faster than `ctypes.data`
        return address


class _CuPyArrays:
    """How to use the arrays of the CUDA device, which are never read-only."""

    def __init__(self, array_type: Any) -> None:
        self.type = array_type

    @staticmethod
    def is_contiguous(array: Any) -> bool:
        return bool(array._c_contiguous)  # CuPy creates the object `flags` at every access

    @staticmethod
    def address(array: Any, written: bool) -> int | None:
        """Return the address of a contiguous array."""
        address: int = array.data.ptr
        return address if array._c_contiguous else None


@functools.cache
def _arrays_of(array_type: type) -> _NumPyArrays | _CuPyArrays:
    return _NumPyArrays() if issubclass(array_type, np.ndarray) else _CuPyArrays(array_type)


def _describe(arg: Any) -> str:
    if isinstance(arg, Struct):
        return f"a struct {arg.layout.name}"
    module = type(arg).__module__.partition(".")[0]
    full_name = type(arg).__name__ if module == "builtins" else f"{module}.{type(arg).__name__}"
    if hasattr(arg, "dtype") and hasattr(arg, "shape") and not isinstance(arg, np.generic):
        return f"a {full_name} of {arg.dtype}"
    return f"the {full_name} {arg!r}"
