"""Which source files a job's result depends on, as one hash that Snakemake compares."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
KERNEL_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp")


@cache
def code_hash(*modules: str, without: tuple[str, ...] = ()) -> str:
    """Hash the source of `modules` and of everything of this package that they use.

    Imports are followed, also those inside functions; so are kernel files that a module names and the files
    that these include.

    Parameters
    ----------
    *modules : str
        Dotted names below ``relaxometer``, such as ``"sssp.adaptive"``.
    without : tuple of str
        Modules that cannot change the result, nor what only they use.

    Returns
    -------
    str
        The first 16 hexadecimal digits of a SHA-256.
    """
    left_out = {_file_of(module.split(".")) for module in without}
    files = set(left_out)
    for module in modules:
        _collect(_file_of(module.split(".")), files)
    files -= left_out
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.relative_to(PACKAGE)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _collect(file: Path, files: set[Path]) -> None:
    if file in files:
        return
    files.add(file)
    for used in _used_by(file):
        _collect(used, files)


@cache
def _used_by(file: Path) -> tuple[Path, ...]:
    """Return the files of this package that `file` imports, names or includes."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        return tuple(_included(file, name) for name in INCLUDE.findall(text))
    tree = ast.parse(text)
    return tuple(path for node in ast.walk(tree) for path in _referenced(node, file))


def _referenced(node: ast.AST, file: Path) -> Iterator[Path]:
    """Yield the files that one node of a module's syntax tree refers to."""
    if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "relaxometer":
        parts = node.module.split(".")[1:]
        yield _file_of(parts)
        for alias in node.names:
            inner = _module_file([*parts, alias.name])
            if inner:
                yield inner
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        named = file.parent / node.value if node.value.endswith(KERNEL_SUFFIXES) else None
        if named and named.is_file():
            yield named


def _included(file: Path, name: str) -> Path:
    """Resolve a quoted include as the compilers do: beside the file, then below the package."""
    beside = file.parent / name
    return beside if beside.is_file() else PACKAGE / name


def _file_of(parts: list[str]) -> Path:
    found = _module_file(parts)
    if found is None:
        raise FileNotFoundError(f"no module relaxometer.{'.'.join(parts)}")
    return found


def _module_file(parts: list[str]) -> Path | None:
    path = PACKAGE.joinpath(*parts)
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None
