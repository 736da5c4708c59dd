"""Reads kernels' parameter lists, structs and constants out of CUDA C++ source.

The reader understands comments, quoted includes, ``typedef``, ``using`` and object-like ``#define`` of scalar
types, plain structs, integer constants, and templates over types and numbers. It does not evaluate ``#if``;
a type that depends on a compiler option is a macro, which ``-DNAME=TYPE`` replaces.
The host build compares the size of every parameter list with the compiler's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.core.checkout import PACKAGE
from relaxometer.device import KernelError

# The sizes on every platform of CUDA 12 and later except Windows, where long has 32 bits. The words of an
# integer type are sorted, and `int` and `signed` left out.
_SCALARS = {
    "bool": "?",
    "char": "i1",
    "char unsigned": "u1",
    "short": "i2",
    "short unsigned": "u2",
    "": "i4",
    "unsigned": "u4",
    "long": "i8",
    "long unsigned": "u8",
    "long long": "i8",
    "long long unsigned": "u8",
    "float": "f4",
    "double": "f8",
    "size_t": "u8",
    "ptrdiff_t": "i8",
    **{f"int{bits}_t": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"u{bits // 8}" for bits in (8, 16, 32, 64)},
}
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_ALIASES = (
    re.compile(r"\btypedef\s+(?P<type>[\w:\s]+?)\s+(?P<name>\w+)\s*;"),
    re.compile(r"\busing\s+(?P<name>\w+)\s*=\s*(?P<type>[\w:\s]+?)\s*;"),
    re.compile(
        r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+(?P<type>[A-Za-z_][\w: \t]*?)[ \t]*$", re.MULTILINE
    ),
)
_DEFINITION = re.compile(r"-D(?P<name>\w+)=(?P<type>[A-Za-z_]\w*)")
_BOUNDS = r"__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*"
_KERNEL = re.compile(
    r"(?:\btemplate\s*<(?P<template>[^<>]*)>\s*)?"
    r'(?:extern\s*"C"\s*)?(?:\bstatic\s+)?__global__\s+'
    rf"(?:{_BOUNDS})?\bvoid\s+(?:{_BOUNDS})?"
    r"(?P<name>\w+)\s*\((?P<parameters>[^()]*(?:\([^()]*\)[^()]*)*)\)"
)
_DECORATION = re.compile(
    r"\b(?:const|volatile|struct|enum|__restrict__|__restrict|__grid_constant__)\b|\b(?:cuda::)?std::"
)
_BLOCK = r"\{[^{}]*\}"
for _ in range(9):  # as deep as code is nested in a struct's functions
    _BLOCK = rf"\{{(?:[^{{}}]|{_BLOCK})*\}}"
_STRUCT = re.compile(
    rf"(?P<template>\btemplate\s*<[^<>]*>\s*)?\bstruct\s+(?P<name>\w+)\s*\{{(?P<body>(?:[^{{}}]|{_BLOCK})*)\}}"
)
_CONSTANT = re.compile(
    r"\b(?:const|constexpr)\s+(?P<type>[\w:\s]+?)\s+(?P<values>[A-Z][A-Z0-9_]*\s*=[^;{}]+);"
)

_DECLARATOR = re.compile(r"(?P<type>.*?[\s*&])(?P<name>\w+)\s*(?P<extent>\[[^\]]*\])?")

_ADDRESS = np.dtype(np.uint64)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel, or one member of a struct.

    `dtype` is the type of a scalar or of a pointer's target, None for other types. `layout` describes a plain
    struct passed by value. `count` is the length of an array member.
    """

    name: str
    declaration: str
    dtype: np.dtype[Any] | None
    is_pointer: bool
    is_const: bool
    layout: Layout | None = None
    count: int | None = None

    @property
    def wanted(self) -> str:
        """The expected argument, for messages."""
        if self.is_pointer:
            return "a contiguous " + (f"{self.dtype} " if self.dtype else "") + "device array or None"
        if self.layout is not None:
            return f"a mapping of the members of {self.layout.name}"
        if self.dtype is None:
            return "a structured NumPy scalar"
        return f"a NumPy scalar numpy.{self.dtype.type.__name__}"

    @property
    def passed(self) -> np.dtype[Any] | None:
        """The dtype of the argument, an address for a pointer; None if its size is unknown."""
        if self.is_pointer:
            return _ADDRESS
        return self.dtype if self.layout is None else self.layout.dtype


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scalar or pointer lies in packed memory.

    `format` is that of Python's module ``struct``, and `index` counts values of this format. `type` is that
    of a scalar as it is usually given, None for a pointer; `dtype` is that of a pointer's target, if known.
    `is_written`: through a pointer, the kernel may write.
    """

    parameter: Parameter
    format: str
    index: int
    type: type[np.generic] | None
    dtype: np.dtype[Any] | None
    is_pointer: bool
    is_written: bool

    @classmethod
    def of(cls, parameter: Parameter, offset: int) -> Place:
        """Return the place of a parameter or member at an offset in bytes, a multiple of its size."""
        passed = parameter.passed
        assert passed is not None
        scalar = None if parameter.is_pointer else passed.type
        index = offset // passed.itemsize
        is_written = parameter.is_pointer and not parameter.is_const
        return cls(parameter, passed.char, index, scalar, parameter.dtype, parameter.is_pointer, is_written)


@dataclass(frozen=True)
class Layout:
    """A plain struct as a compiler lays it out; pointers are addresses in `dtype`."""

    name: str
    members: Mapping[str, Parameter]
    dtype: np.dtype[Any]

    @functools.cached_property
    def usual(self) -> Mapping[str, Place]:
        """Places of the members that are scalars or pointers, from the beginning of the struct."""
        return {
            name: Place.of(member, self.offset(name))
            for name, member in self.members.items()
            if member.count is None and member.layout is None
        }

    @property
    def size(self) -> int:
        """Bytes of the struct."""
        return self.dtype.itemsize

    def offset(self, member: str) -> int:
        """Return the bytes before a member."""
        assert self.dtype.fields is not None
        return int(self.dtype.fields[member][1])


@dataclass(frozen=True)
class Source:
    """A ``.cu`` file with all its own includes, and what is declared there.

    `constants` are the integer constants whose names are in capitals; `layouts` are the plain structs: no
    templates, base classes or ``alignas``, with members that are scalars, pointers, plain structs, or arrays
    of these.
    """

    path: Path
    files: Mapping[Path, str]
    aliases: Mapping[str, str]
    kernels: Mapping[str, re.Match[str]]
    constants: Mapping[str, int]
    layouts: Mapping[str, Layout]

    @property
    def text(self) -> str:
        """The file's own text."""
        return self.files[self.path]

    def exported(self) -> list[str]:
        """Name the kernels that are not templates."""
        return [name for name, kernel in self.kernels.items() if not kernel["template"]]

    def parameters(self, expression: str) -> tuple[Parameter, ...]:
        """Read the parameters of a kernel, given by its name or as an instantiation ``name<arguments>``."""
        name, _, arguments = expression.partition("<")
        declaration = self.kernels.get(name.strip())
        if declaration is None:
            known = ", ".join(self.kernels) or "none"
            raise KernelError(f"{self.path}: no kernel {expression!r}; there are: {known}")
        aliases = dict(self.aliases)
        if declaration["template"]:
            aliases |= _bind(declaration["template"], arguments.rstrip().removesuffix(">"))
        listed = declaration["parameters"].strip()
        if listed in ("", "void"):
            return ()
        return tuple(_parameter(text, aliases, self.layouts) for text in _split(listed))

    def layout(self, name: str) -> Layout:
        """Return a plain struct by its name; KernelError if there is none."""
        layout = self.layouts.get(name)
        if layout is None:
            known = ", ".join(self.layouts) or "none"
            raise KernelError(f"{self.path}: no plain struct {name!r}; there are: {known}")
        return layout


def read_source(
    path: Path, include_folders: Sequence[Path] = (PACKAGE,), options: Sequence[str] = ()
) -> Source:
    """Read a ``.cu`` file and the files that it includes, as compiled with `options`.

    Includes are searched for in the folder of the including file, then in `include_folders`; the rest belong
    to the compiler.
    """
    defined = {found["name"]: found["type"] for found in map(_DEFINITION.fullmatch, options) if found}
    files: dict[Path, str] = {}
    _read_into(files, path.resolve(), include_folders)
    aliases: dict[str, str] = {}
    kernels: dict[str, re.Match[str]] = {}
    constants: dict[str, int] = {}
    layouts: dict[str, Layout] = {}
    for text in files.values():
        code, named, declared = _scanned(text)
        aliases |= {**named, **defined}
        kernels |= declared
        _read_constants(code, aliases, constants)
        for found in _STRUCT.finditer(code):
            layout = _layout(found["name"], found["body"], aliases, constants, layouts)
            if layout is not None and not found["template"]:
                layouts[layout.name] = layout
    return Source(path.resolve(), files, aliases, kernels, constants, layouts)


@functools.cache
def _scanned(text: str) -> tuple[str, Mapping[str, str], Mapping[str, re.Match[str]]]:
    """Return a text without comments, its aliases and its kernels; many files include the same headers."""
    code = _COMMENT.sub(lambda found: found[1] or " ", text)
    aliases = {found["name"]: found["type"] for pattern in _ALIASES for found in pattern.finditer(code)}
    return code, aliases, {found["name"]: found for found in _KERNEL.finditer(code)}


def _read_into(files: dict[Path, str], path: Path, include_folders: Sequence[Path]) -> None:
    """Read a file behind its includes, so that definitions come before their uses."""
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
    files[path] = files.pop(path)


def _split(text: str) -> list[str]:
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
    """Map a template's parameters to an instantiation's arguments."""
    names = [part.partition("=")[0].split()[-1] for part in _split(template)]
    return dict(zip(names, _split(arguments), strict=False))


def _parameter(text: str, aliases: Mapping[str, str], layouts: Mapping[str, Layout]) -> Parameter:
    """Read ``const T* __restrict__ name`` and its like; an array is a pointer here."""
    declaration = " ".join(text.split())
    found = _DECLARATOR.fullmatch(declaration)
    if found is None:
        return Parameter("", declaration, _resolve(declaration, aliases), "*" in declaration, False)
    pointee, star, _ = found["type"].partition("*")
    is_pointer = bool(star or found["extent"])
    is_const = is_pointer and re.search(r"\bconst\b", pointee) is not None
    dtype = None if found["type"].count("*") > 1 else _resolve(pointee, aliases)
    layout = None if is_pointer else layouts.get(_undecorated(pointee, aliases))
    return Parameter(found["name"], declaration, dtype, is_pointer, is_const, layout)


def _undecorated(type_name: str, aliases: Mapping[str, str]) -> str:
    """Strip a type's qualifiers and follow its aliases."""
    for _ in range(20):
        plain = " ".join(_DECORATION.sub(" ", type_name).split())
        if aliases.get(plain, plain) == plain:
            return plain
        type_name = aliases[plain]
    return type_name


def _resolve(type_name: str, aliases: Mapping[str, str]) -> np.dtype[Any] | None:
    """Return the dtype of a scalar type, or None for another type."""
    words = sorted(_undecorated(type_name, aliases).split())
    code = _SCALARS.get(" ".join(word for word in words if word not in ("int", "signed")))
    return np.dtype(code) if words and code else None


# ----------------------------------------------------------------------------------- structs and constants


def _layout(
    name: str,
    body: str,
    aliases: Mapping[str, str],
    constants: Mapping[str, int],
    layouts: Mapping[str, Layout],
) -> Layout | None:
    """Lay out the struct with this body, or return None if it is not plain."""
    members: dict[str, Parameter] = {}
    fields: list[tuple[Any, ...]] = []
    for declaration in _member_declarations(body):
        found = _DECLARATOR.fullmatch(declaration)
        if found is None or "alignas" in declaration or "__align__" in declaration:
            return None
        member = _parameter(declaration.removesuffix(found["extent"] or ""), aliases, layouts)
        if found["extent"]:
            count = _evaluate(found["extent"][1:-1], None, constants)
            member = replace(member, declaration=declaration, count=count or 0)
        if member.passed is None or member.count == 0:
            return None
        members[member.name] = member
        fields.append((member.name, member.passed, () if member.count is None else (member.count,)))
    if not fields:
        return None
    layout = Layout(name, members, np.dtype(fields, align=True))
    return _LAYOUTS.setdefault(repr(layout), layout)


_LAYOUTS: dict[str, Layout] = {}
"""Equal layouts of several files as one object, since comparing two takes longer than a launch."""


def _member_declarations(body: str) -> list[str]:
    """Split a struct's body into declarations of one member each, leaving out functions."""
    declarations = []
    for statement in re.sub(_BLOCK, ";", body).split(";"):
        text = " ".join(statement.partition("=")[0].split())
        is_function = "(" in text and "alignas" not in text and "__align__" not in text
        if not text or is_function or re.match(r"(?:static|using|typedef|enum|friend)\b", text):
            continue
        first, *others = _split(text)
        base = re.split(r"\s*[*&]|\s+\w+\s*(?:\[|$)", first)[0]
        declarations += [first, *(f"{base} {other}" for other in others)]
    return declarations


def _read_constants(code: str, aliases: Mapping[str, str], constants: dict[str, int]) -> None:
    for found in _CONSTANT.finditer(code):
        dtype = _resolve(found["type"], aliases)
        for declarator in re.split(r",(?=\s*\w+\s*=)", found["values"]):
            name, _, text = declarator.partition("=")
            value = _evaluate(text, dtype, constants)
            if value is not None:
                constants[name.strip()] = value


_LITERAL = re.compile(r"\b(0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]+\b")
_EXPRESSION = re.compile(r"(?:[-+*/|&~()\s\w]|<<|>>)+")


def _evaluate(text: str, dtype: np.dtype[Any] | None, constants: Mapping[str, int]) -> int | None:
    """Evaluate an integer expression of literals and earlier constants; None if it is anything else.

    Numbers have no types: negative ones may be unsigned, so a quotient or shift next to a minus is unknown.
    """
    expression = _LITERAL.sub(r"\1", text.replace("'", "").strip())
    depends_on_types = re.search(r"[-~]", expression) and re.search("/|>>", expression)
    if depends_on_types or not _EXPRESSION.fullmatch(expression):
        return None
    try:
        value = eval(expression.replace("/", "//"), {"__builtins__": {}}, dict(constants))  # only integers
    except (SyntaxError, NameError, TypeError, ValueError, ArithmeticError, MemoryError):
        return None
    return value % 2 ** (8 * dtype.itemsize) if dtype is not None and dtype.kind == "u" else value
