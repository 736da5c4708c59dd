"""A hash of the source code that a job's result depends on, for Snakemake to compare.

It covers the syntax trees of Python files and the tokens of CUDA and C++ files, but no comments, docstrings
or folders, so that editing a comment or moving a module reruns nothing.
"""

import ast
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TypeGuard

from relaxometer.core.cache import cache_location
from relaxometer.core.checkout import PACKAGE
from relaxometer.core.errors import UserError

NAME = "relaxometer"
NAMED_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".yaml")
"""Ends of files that count if a module in their folder names them: kernels and tables."""

HASHED = 1 << 26
"""Bytes of the largest data file whose content is hashed: reading it must not delay every start."""

Reference = tuple[str, ...]
"""A reference of a file: its kind and names, which :func:`_files_of` resolves."""

_THIS = Path(__file__).read_text(encoding="utf-8")
"""The code that parses files; cached results depend on it."""

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_MODULE_NAME = re.compile(rf"{NAME}(\.\w+)+")
_TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<raw>R"(?P<delimiter>[^()\s\\]*)\(.*?\)(?P=delimiter)")
      | (?P<quoted>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
      | (?P<word>\w+)
      | (?P<newline>\n)
      | (?P<space>(?:\\\n|[^\S\n])+)
      | (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|&&|\|\||::|\#\#|[-+*/%&|^<>=!]=|.)""",
    re.VERBOSE | re.DOTALL,
)


@cache
def code_hash(*modules: str, without: tuple[str, ...] = ()) -> str:
    """Hash the code of `modules`, such as ``"race.variant"``, and of everything in the package that they use.

    Every form of import is followed, also inside functions and by ``import_module`` of a literal name; so
    are the names of kernel files, and their includes. Modules `without` which the result would be the same
    are left out, with everything that only they use. Returned are the first 16 hexadecimal digits of a
    SHA-256; FileNotFoundError if a module does not exist.
    """
    return hash_of_files(files_used(*modules, without=without))


def hash_of_files(files: Iterable[Path]) -> str:
    """Hash files of code without comments and docstrings, in any order."""
    contents = sorted(_read(file)[1] for file in files)
    return hashlib.sha256("\n".join(contents).encode()).hexdigest()[:16]


def data_hash(files: Iterable[str | Path]) -> str:
    """Hash the data files that a user names, since Snakemake sees no file that an older one replaces.

    Of files above `HASHED`, only size and date count. Missing files and those that the workflow makes, which
    are below ``results/``, are left out. Without any file the hash is empty.
    """
    given = [path for path in map(Path, files) if path.parts[:1] != ("results",) and path.is_file()]
    states = [_state(path) for path in given]
    return hashlib.sha256("\n".join(states).encode()).hexdigest()[:16] if states else ""


def _state(path: Path) -> str:
    facts = path.stat()
    if facts.st_size > HASHED:
        return f"{facts.st_size} {facts.st_mtime_ns}"
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def files_used(*modules: str, without: tuple[str, ...] = ()) -> set[Path]:
    """Return the files of `modules` and all that these use, as :func:`code_hash` hashes them."""
    left_out = {next(_chain(module.split("."))) for module in without}
    files = set(left_out)
    pending = [file for module in modules for file in _chain(module.split("."))]
    while pending:
        file = pending.pop()
        if file not in files:
            files.add(file)
            pending += used_by(file)
    return files - left_out


def used_by(file: Path) -> tuple[Path, ...]:
    """Return the files of this package that `file` imports, names or includes.

    The kernel file of the same name counts however the driver names it.
    """
    return _read(file)[0]


@cache
def _read(file: Path) -> tuple[tuple[Path, ...], str]:
    """Return the files that `file` uses, and the hash of its content without comments and docstrings."""
    text = _text_of(file)
    is_python = file.suffix == ".py"
    references, content = _kept(is_python, text)
    used = [path for reference in references for path in _files_of(reference, file)]
    if is_python:
        used += filter(Path.is_file, (file.with_suffix(suffix) for suffix in (".cu", ".cpp")))
    return tuple(dict.fromkeys(used)), content


def _text_of(file: Path) -> str:
    """Return the text of a file, without a byte order mark; UserError if it is not UTF-8."""
    raw = file.read_bytes()
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{raw[error.start]:02x}"
        raise UserError(f"{file}:{line}: {byte} is not UTF-8; save it as UTF-8") from None


def _kept(is_python: bool, text: str) -> tuple[list[Reference], str]:
    """Return :func:`_parsed` from the cache if it has this text; parsing all files takes a second."""
    key = hashlib.sha256("\0".join((_THIS, sys.version, str(is_python), text)).encode()).hexdigest()[:32]
    try:
        file = cache_location() / "code" / f"{key}.json"
    except UserError:
        return _parsed(is_python, text)
    with suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(file.read_text(encoding="utf-8"))
        return [tuple(reference) for reference in kept["references"]], kept["content"]
    references, content = _parsed(is_python, text)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps({"references": references, "content": content}), encoding="utf-8")
        temporary.replace(file)
    return references, content


def _parsed(is_python: bool, text: str) -> tuple[list[Reference], str]:
    """Return what a file refers to, and the hash of its content; depends on nothing but its text."""
    if is_python:
        bare = _Bare()
        tree = bare.visit(ast.parse(text))
        references = bare.references
        content = "\n".join([ast.dump(tree), *sorted(bare.imported)])
    else:
        references = [("include", name) for name in _INCLUDE.findall(text)]
        content = _kernel_content(text)
    return list(dict.fromkeys(references)), hashlib.sha256(content.encode()).hexdigest()


def _referenced(node: ast.Import | ast.ImportFrom | ast.Constant) -> Iterator[Reference]:
    modules: list[str] = []
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [alias.name for alias in node.names]
        if node.level:
            yield ("relative", str(node.level), node.module or ".", *names)
        elif _is_ours(node.module):
            yield ("from", node.module, *names)
    elif isinstance(node.value, str):
        if node.value.endswith(NAMED_SUFFIXES):
            yield ("kernel", node.value)
        elif _MODULE_NAME.fullmatch(node.value):
            modules = [node.value]
    yield from (("module", module) for module in modules if _is_ours(module))


def _files_of(reference: Reference, file: Path) -> Iterator[Path]:
    kind, name, *names = reference
    if kind == "include":
        # Others belong to the compiler.
        yield from filter(Path.is_file, (_included(file, name),))
    elif kind == "kernel":
        if (file.parent / name).is_file():
            yield (file.parent / name).resolve()
    elif kind == "relative":
        module, *names = names
        folder = file.parents[int(name) - 1].joinpath(*module.split("."))
        package = [folder.with_suffix(".py"), folder / "__init__.py"]
        inside = [path for one in names for path in _candidates(folder, one)]
        yield from (path for path in [*package, *inside] if path.is_file())
    else:
        parts = name.split(".")[1:]
        yield from _chain(parts)
        yield from filter(None, (_file_of(*parts, one) for one in names))


def _included(file: Path, name: str) -> Path:
    """Resolve a quoted include as the compilers do."""
    path = file.parent / name
    return (path if path.is_file() else PACKAGE / name).resolve()


def _is_ours(module: str | None) -> TypeGuard[str]:
    return module is not None and module.split(".")[0] == NAME


def _chain(parts: list[str]) -> Iterator[Path]:
    """Yield the file of a module and of the packages that contain it, which are imported first."""
    found = _file_of(*parts)
    if found is None:
        raise FileNotFoundError(f"no module {'.'.join([NAME, *parts])}")
    yield found
    yield from filter(None, (_file_of(*parts[:count]) for count in range(len(parts))))


def _file_of(*parts: str) -> Path | None:
    return _found(PACKAGE, *parts)


@cache
def _found(package: Path, *parts: str) -> Path | None:
    """Return the file of a module of a package; many files import the same modules."""
    if not parts:
        return package / "__init__.py"
    files = (file for folder in _folders_of([*parts[:-1]]) for file in _candidates(folder, parts[-1]))
    return next((file for file in files if file.is_file()), None)


def _folders_of(package: list[str]) -> list[Path]:
    """Return the folders of a package's modules, with those added to it at run time."""
    if not package:
        return [PACKAGE]
    folders = [folder / package[-1] for folder in _folders_of(package[:-1])]
    imported = sys.modules.get(".".join([NAME, *package]))
    return folders + [Path(folder) for folder in getattr(imported, "__path__", ())]


def _candidates(folder: Path, name: str) -> list[Path]:
    return [folder / f"{name}.py", folder / name / "__init__.py"]


class _Bare(ast.NodeTransformer):
    """Removes docstrings and imports of this package from a syntax tree.

    It collects the names imported from this package, and what the module refers to.
    """

    def __init__(self) -> None:
        self.imported: set[str] = set()
        self.references: list[Reference] = []

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        self.references += _referenced(node)
        ours = [alias for alias in node.names if _is_ours(alias.name)]
        self.imported |= {f"{alias.name.split('.')[-1]} as {alias.asname}" for alias in ours}
        node.names = [alias for alias in node.names if alias not in ours]
        return node if node.names else None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        self.references += _referenced(node)
        if not (node.level or _is_ours(node.module)):
            return node
        self.imported |= {f"{alias.name} as {alias.asname}" for alias in node.names}
        return None

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        self.references += _referenced(node)
        if isinstance(node.value, str) and node.value.endswith(NAMED_SUFFIXES):
            return ast.Constant(PurePosixPath(node.value).name)
        if isinstance(node.value, str) and _MODULE_NAME.fullmatch(node.value):
            return ast.Constant(node.value.split(".")[-1])
        return node


def _kernel_content(text: str) -> str:
    """Return the tokens of a CUDA or C++ file and the names of its includes."""
    included = sorted(PurePosixPath(name).name for name in _INCLUDE.findall(text))
    tokens: list[str] = []
    in_directive = at_line_start = False
    for match in _TOKEN.finditer("\n" + _INCLUDE.sub("", text)):
        kind, token = match.lastgroup, match.group()
        if kind == "delimiter":
            kind = "raw"
        if kind == "newline":
            tokens += ["\n"] * in_directive
            in_directive, at_line_start = False, True
        elif kind in ("space", "comment"):
            # Spaces matter here: `#define F (x)` is not `#define F(x)`.
            tokens += [" "] * (in_directive and tokens[-1] != " ")
        else:
            in_directive |= at_line_start and token == "#"
            at_line_start = False
            tokens.append(token)
    return "\0".join([*tokens, *included])
