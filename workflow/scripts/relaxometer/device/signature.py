"""What a kernel's parameters are, read out of its source, and whether a launch's arguments fit them.

CuPy checks neither count nor type nor layout of arguments: a Python int travels as eight bytes, a one-element
NumPy array by value, a strided array by the address of its first element. So both devices check every launch
here, against the parameter lists in the ``.cu`` text, and complain in the same words.

The reader understands what kernels here are made of: comments, quoted includes, ``typedef``, ``using`` and
object-like ``#define`` of scalar types, templates over types and numbers. It does not evaluate ``#if``.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from relaxometer.device import Dimensions, KernelError

# On every platform that CUDA 12 and later know, except that Windows has a 32-bit long.
_SCALARS = {
    "bool": "?",
    "char": "i1",
    "signed char": "i1",
    "unsigned char": "u1",
    "short": "i2",
    "unsigned short": "u2",
    "int": "i4",
    "unsigned int": "u4",
    "long": "i8",
    "unsigned long": "u8",
    "long long": "i8",
    "unsigned long long": "u8",
    "float": "f4",
    "double": "f8",
    "size_t": "u8",
    "ptrdiff_t": "i8",
    **{f"int{bits}_t": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"u{bits // 8}" for bits in (8, 16, 32, 64)},
}
_INTEGER_WORDS = {"unsigned", "signed", "short", "long", "int", "char"}

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_ALIASES = (
    re.compile(r"\btypedef\s+(?P<type>[\w:\s]+?)\s+(?P<name>\w+)\s*;"),
    re.compile(r"\busing\s+(?P<name>\w+)\s*=\s*(?P<type>[\w:\s]+?)\s*;"),
    re.compile(
        r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+(?P<type>[A-Za-z_][\w: \t]*?)[ \t]*$", re.MULTILINE
    ),
)
_KERNEL = re.compile(
    r"(?:\btemplate\s*<(?P<template>[^<>]*)>\s*)?"
    r'(?:extern\s*"C"\s*)?(?:\bstatic\s+)?__global__\s+void\s+'
    r"(?:__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*)?"
    r"(?P<name>\w+)\s*\((?P<parameters>[^()]*(?:\([^()]*\)[^()]*)*)\)"
)
_DECORATION = re.compile(
    r"\b(?:const|volatile|struct|enum|__restrict__|__restrict|__grid_constant__)\b|\b(?:cuda::)?std::"
)

MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_THREADS = 1024


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    `dtype` is None where it is no scalar: any array fits a pointer to such a type, and a structured NumPy
    scalar is passed by value.
    """

    name: str
    declaration: str
    dtype: np.dtype[Any] | None
    is_pointer: bool
    is_const: bool

    @property
    def wanted(self) -> str:
        """What fits this parameter, in words."""
        if self.is_pointer:
            return "a contiguous " + (f"{self.dtype} " if self.dtype else "") + "device array or None"
        if self.dtype is None:
            return "a structured NumPy scalar"
        return f"a NumPy scalar numpy.{self.dtype.type.__name__}"


@dataclass(frozen=True)
class Declaration:
    """A kernel as it stands in the source."""

    name: str
    template: str
    parameters: str


@dataclass(frozen=True)
class Source:
    """A ``.cu`` file with all its own includes, and the kernels declared there."""

    path: Path
    files: Mapping[Path, str]
    aliases: Mapping[str, str]
    kernels: Mapping[str, Declaration]

    @property
    def text(self) -> str:
        """The file's own text."""
        return self.files[self.path]

    def exported(self) -> list[str]:
        """Name the kernels that are no templates."""
        return [name for name, kernel in self.kernels.items() if not kernel.template]

    def parameters(self, expression: str) -> tuple[Parameter, ...]:
        """Read the parameters of a kernel, given by its name or as an instantiation ``name<arguments>``."""
        name, _, arguments = expression.partition("<")
        declaration = self.kernels.get(name.strip())
        if declaration is None:
            known = ", ".join(self.kernels) or "none"
            raise KernelError(f"{self.path}: no kernel {expression!r}; there are: {known}")
        aliases = dict(self.aliases)
        if declaration.template:
            aliases |= _bind(declaration.template, arguments.rstrip().removesuffix(">"))
        listed = declaration.parameters.strip()
        if listed in ("", "void"):
            return ()
        return tuple(_parameter(text, aliases) for text in _split(listed))


def read_source(path: Path, include_folders: Sequence[Path]) -> Source:
    """Read a ``.cu`` file and the files that it includes.

    Includes are looked for beside the including file, then in `include_folders`; those found nowhere belong
    to the compiler.
    """
    files: dict[Path, str] = {}
    _read_into(files, path.resolve(), include_folders)
    aliases: dict[str, str] = {}
    kernels: dict[str, Declaration] = {}
    for text in files.values():
        code = _COMMENT.sub(lambda found: found[1] or " ", text)
        for pattern in _ALIASES:
            aliases |= {found["name"]: found["type"] for found in pattern.finditer(code)}
        for found in _KERNEL.finditer(code):
            kernels[found["name"]] = Declaration(found["name"], found["template"] or "", found["parameters"])
    return Source(path.resolve(), files, aliases, kernels)


def _read_into(files: dict[Path, str], path: Path, include_folders: Sequence[Path]) -> None:
    if path in files:
        return
    try:
        files[path] = path.read_text(encoding="utf-8")
    except OSError as error:
        raise KernelError(f"cannot read {path}: {error.strerror}") from error
    for included in _INCLUDE.findall(files[path]):
        candidates = (folder / included for folder in (path.parent, *include_folders))
        found = next((candidate for candidate in candidates if candidate.is_file()), None)
        if found is not None:
            _read_into(files, found.resolve(), include_folders)


def _split(text: str) -> list[str]:
    """Split a list at its outermost commas."""
    parts = [""]
    depth = 0
    for letter in text:
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _bind(template: str, arguments: str) -> dict[str, str]:
    """Pair a template's parameters, without their defaults, with an instantiation's arguments."""
    names = [part.partition("=")[0].split()[-1] for part in _split(template)]
    return dict(zip(names, _split(arguments), strict=False))


def _parameter(text: str, aliases: Mapping[str, str]) -> Parameter:
    """Read ``const T* __restrict__ name`` and its like."""
    declaration = " ".join(text.split())
    found = re.fullmatch(r"(?P<type>.*?[\s*&])(?P<name>\w+)\s*(?P<array>\[[^\]]*\])?", declaration)
    if found is None:
        return Parameter("", declaration, _resolve(declaration, aliases), "*" in declaration, False)
    pointee, star, _ = found["type"].partition("*")
    is_pointer = bool(star or found["array"])
    is_const = is_pointer and re.search(r"\bconst\b", pointee) is not None
    dtype = None if found["type"].count("*") > 1 else _resolve(pointee, aliases)
    return Parameter(found["name"], declaration, dtype, is_pointer, is_const)


def _resolve(type_name: str, aliases: Mapping[str, str]) -> np.dtype[Any] | None:
    """Give the dtype of a scalar type, by way of any aliases, or None for another type."""
    for _ in range(20):
        plain = " ".join(_DECORATION.sub(" ", type_name).split())
        if plain in aliases and aliases[plain] != plain:
            type_name = aliases[plain]
            continue
        code = _SCALARS.get(_normalise(plain))
        return None if code is None else np.dtype(code)
    return None


def _normalise(type_name: str) -> str:
    """Spell an integer type as in `_SCALARS`: ``long unsigned`` becomes ``unsigned long``."""
    words = type_name.split()
    if not words or not set(words) <= _INTEGER_WORDS:
        return type_name
    sign = "unsigned " if "unsigned" in words else ""
    if "char" in words:
        return f"{sign}char"
    if "short" in words:
        return f"{sign}short"
    return sign + ("long " * words.count("long")).strip() if "long" in words else f"{sign}int"


class ArgumentCheck:
    """Checks the arguments of one kernel's launches, quickly where they fit.

    Parameters
    ----------
    kernel
        The kernel's name, for messages.
    parameters
        Its parameters.
    array_type
        The class of the device's arrays.
    """

    def __init__(self, kernel: str, parameters: Sequence[Parameter], array_type: type) -> None:
        self.kernel = kernel
        self.parameters = parameters
        self._array_type: Any = array_type
        # CuPy makes the object `flags` anew at every look; what lies behind it is there at once.
        attribute = "_c_contiguous" if hasattr(array_type, "_c_contiguous") else "flags.c_contiguous"
        self._is_contiguous = operator.attrgetter(attribute)
        self._expected: list[tuple[Any, np.dtype[Any] | None]] = [
            (array_type, p.dtype) if p.is_pointer else (np.void if p.dtype is None else p.dtype.type, None)
            for p in parameters
        ]

    def __call__(self, args: Sequence[Any]) -> None:
        """Raise TypeError unless the arguments fit."""
        if len(args) != len(self._expected):
            self._miscounted(args)
        position = 0
        for arg, (expected_type, dtype) in zip(args, self._expected):  # noqa: B905 - strict costs time
            if type(arg) is not expected_type or (
                dtype is not None and (arg.dtype is not dtype or not self._is_contiguous(arg))
            ):
                self._look_closer(position, arg)
            position += 1  # noqa: SIM113 - enumerate costs time

    def check_writable(self, args: Sequence[Any]) -> None:
        """Raise TypeError if an array is read-only whose pointer is not const."""
        for position, (arg, parameter) in enumerate(zip(args, self.parameters, strict=True)):
            is_written = parameter.is_pointer and not parameter.is_const and arg is not None
            if is_written and not arg.flags.writeable:
                self._refuse(position, "a read-only array")

    def _look_closer(self, position: int, arg: Any) -> None:
        """Raise TypeError unless the argument fits although it is unusual."""
        parameter = self.parameters[position]
        if parameter.is_pointer:
            if arg is None:
                return
            if not isinstance(arg, self._array_type):
                self._refuse(position, _describe(arg))
            if parameter.dtype is not None and arg.dtype != parameter.dtype:
                self._refuse(position, f"an array of {arg.dtype}")
            if not arg.flags.c_contiguous:
                self._refuse(position, f"an array of {arg.dtype} that is not contiguous")
        elif not isinstance(arg, np.generic) or arg.dtype != parameter.dtype:
            self._refuse(position, _describe(arg))

    def _refuse(self, position: int, given: str) -> NoReturn:
        parameter = self.parameters[position]
        raise TypeError(
            f"kernel {self.kernel}, argument {position + 1} ({parameter.declaration}): "
            f"wanted {parameter.wanted}, given {given}"
        )

    def _miscounted(self, args: Sequence[Any]) -> NoReturn:
        listed = ", ".join(parameter.name for parameter in self.parameters)
        raise TypeError(
            f"kernel {self.kernel}: wanted {len(self.parameters)} arguments ({listed}), given {len(args)}"
        )


def _describe(arg: Any) -> str:
    module = type(arg).__module__.partition(".")[0]
    full_name = type(arg).__name__ if module == "builtins" else f"{module}.{type(arg).__name__}"
    if hasattr(arg, "dtype") and hasattr(arg, "shape") and not isinstance(arg, np.generic):
        return f"a {full_name} of {arg.dtype}"
    return f"the {full_name} {arg!r}"


def launch_shape(kernel: str, grid: Dimensions, block: Dimensions) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Complete a launch's dimensions to three each; KernelError where CUDA allows none such."""
    shape = _shape(grid, block)
    if shape is None:
        raise KernelError(
            f"kernel {kernel}: a grid of {grid} blocks of {block} threads is impossible: give one to three "
            f"dimensions of at least 1; a block has at most {MAX_THREADS} threads, {MAX_BLOCK} by dimension, "
            f"a grid at most {MAX_GRID} blocks"
        )
    return shape


@functools.lru_cache(maxsize=4096)
def _shape(grid: Dimensions, block: Dimensions) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    full_grid = _three(grid)
    full_block = _three(block)
    fits = _within(full_grid, MAX_GRID) and _within(full_block, MAX_BLOCK)
    if not fits or full_block[0] * full_block[1] * full_block[2] > MAX_THREADS:
        return None
    return full_grid, full_block


def _three(dimensions: Dimensions) -> tuple[int, ...]:
    """Append ones; leave what has more than three dimensions as it is."""
    if isinstance(dimensions, tuple):
        return (*map(int, dimensions), *(1,) * (3 - len(dimensions))) if dimensions else ()
    return (int(dimensions), 1, 1)


def _within(dimensions: tuple[int, ...], limits: tuple[int, ...]) -> bool:
    if len(dimensions) != len(limits):
        return False
    return all(1 <= size <= limit for size, limit in zip(dimensions, limits, strict=True))
