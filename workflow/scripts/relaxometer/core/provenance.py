"""Which source code a job's result depends on, as one hash that Snakemake compares.

The hash covers what a compiler sees: the syntax tree of Python files, the tokens of CUDA and C++ files.
Comments, docstrings, blank lines and the folder a file lies in do not enter it, so that mending a comment or
moving a module reruns nothing.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

NAME = "relaxometer"
PACKAGE = Path(__file__).parents[1]
KERNEL_SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".cpp")

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
    """Hash the code of `modules` and of everything of this package that they use.

    Every form of import is followed, also inside functions: ``import``, ``from ... import``, relative
    imports, and ``import_module`` of a literal name. So are kernel files that a module names, and the files
    that these include.

    Parameters
    ----------
    *modules : str
        Dotted names below ``relaxometer``, such as ``"sssp.adaptive"``.
    without : tuple of str
        Modules that cannot change the result. Neither they nor what only they use enters the hash.

    Returns
    -------
    str
        The first 16 hexadecimal digits of a SHA-256.

    Raises
    ------
    FileNotFoundError
        If a module does not exist.
    """
    contents = sorted(map(_content_hash, files_used(*modules, without=without)))
    return hashlib.sha256("\n".join(contents).encode()).hexdigest()[:16]


def files_used(*modules: str, without: tuple[str, ...] = ()) -> set[Path]:
    """Return the files of `modules` and all that these use, as :func:`code_hash` hashes them."""
    left_out = {next(_chain(module.split("."))) for module in without}
    files = set(left_out)
    for module in modules:
        for file in _chain(module.split(".")):
            _collect(file, files)
    return files - left_out


def _collect(file: Path, files: set[Path]) -> None:
    if file in files:
        return
    files.add(file)
    for used in used_by(file):
        _collect(used, files)


@cache
def used_by(file: Path) -> tuple[Path, ...]:
    """Return the files of this package that `file` imports, names or includes.

    The kernel file of the same name counts however the driver names it.
    """
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        return tuple(_included(file, name) for name in _INCLUDE.findall(text))
    kernels = filter(Path.is_file, (file.with_suffix(suffix) for suffix in (".cu", ".cpp")))
    return *kernels, *(path for node in ast.walk(ast.parse(text)) for path in _referenced(node, file))


def _referenced(node: ast.AST, file: Path) -> Iterator[Path]:
    """Yield the files that one node of a module's syntax tree refers to."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if _is_ours(alias.name):
                yield from _chain(alias.name.split(".")[1:])
    elif isinstance(node, ast.ImportFrom) and node.level:
        folder = file.parents[node.level - 1].joinpath(*(node.module or ".").split("."))
        beside = [folder.with_suffix(".py"), folder / "__init__.py"]
        inside = [path for alias in node.names for path in _candidates(folder, alias.name)]
        yield from (path for path in [*beside, *inside] if path.is_file())
    elif isinstance(node, ast.ImportFrom) and _is_ours(node.module or ""):
        parts = (node.module or "").split(".")[1:]
        yield from _chain(parts)
        yield from filter(None, (_file_of([*parts, alias.name]) for alias in node.names))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        if node.value.endswith(KERNEL_SUFFIXES) and (file.parent / node.value).is_file():
            yield (file.parent / node.value).resolve()
        elif _MODULE_NAME.fullmatch(node.value):
            yield from _chain(node.value.split(".")[1:])


def _included(file: Path, name: str) -> Path:
    """Resolve a quoted include as the compilers do: from the file's own folder, then below the package."""
    beside = file.parent / name
    return (beside if beside.is_file() else PACKAGE / name).resolve()


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == NAME


def _chain(parts: list[str]) -> Iterator[Path]:
    """Yield the file of a module and those of the packages around it, which run when it is imported."""
    found = _file_of(parts)
    if found is None:
        raise FileNotFoundError(f"no module {'.'.join([NAME, *parts])}")
    yield found
    yield from filter(None, (_file_of(parts[:count]) for count in range(len(parts))))


def _file_of(parts: list[str]) -> Path | None:
    """Return the file of a module by its dotted name below the package, if there is one."""
    if not parts:
        return PACKAGE / "__init__.py"
    files = (file for folder in _folders_of(parts[:-1]) for file in _candidates(folder, parts[-1]))
    return next((file for file in files if file.is_file()), None)


def _folders_of(package: list[str]) -> list[Path]:
    """Return the folders of a package's modules; an imported package knows those that were added to it."""
    if not package:
        return [PACKAGE]
    folders = [folder / package[-1] for folder in _folders_of(package[:-1])]
    imported = sys.modules.get(".".join([NAME, *package]))
    return folders + [Path(folder) for folder in getattr(imported, "__path__", ())]


def _candidates(folder: Path, name: str) -> list[Path]:
    return [folder / f"{name}.py", folder / name / "__init__.py"]


@cache
def _content_hash(file: Path) -> str:
    """Hash what a compiler sees of a file."""
    text = file.read_text(encoding="utf-8")
    content = _python_content(text) if file.suffix == ".py" else _kernel_content(text)
    return hashlib.sha256(content.encode()).hexdigest()


def _python_content(text: str) -> str:
    """Return a module's syntax tree as text, without docstrings and without where its imports come from."""
    bare = _Bare()
    tree = bare.visit(ast.parse(text))
    return "\n".join([ast.dump(tree), *sorted(bare.imported)])


class _Bare(ast.NodeTransformer):
    """Removes docstrings and imports of this package from a syntax tree; keeps the imported names apart."""

    def __init__(self) -> None:
        self.imported: set[str] = set()

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Drop strings that stand alone: docstrings, also those of attributes."""
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        """Keep the last part of the name of each of our modules."""
        ours = [alias for alias in node.names if _is_ours(alias.name)]
        self.imported |= {f"{alias.name.split('.')[-1]} as {alias.asname}" for alias in ours}
        node.names = [alias for alias in node.names if alias not in ours]
        return node if node.names else None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        """Keep the names imported from our modules."""
        if not (node.level or _is_ours(node.module or "")):
            return node
        self.imported |= {f"{alias.name} as {alias.asname}" for alias in node.names}
        return None

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Keep the last part of the path of a kernel file and of the name of one of our modules."""
        if isinstance(node.value, str) and node.value.endswith(KERNEL_SUFFIXES):
            return ast.Constant(PurePosixPath(node.value).name)
        if isinstance(node.value, str) and _MODULE_NAME.fullmatch(node.value):
            return ast.Constant(node.value.split(".")[-1])
        return node


def _kernel_content(text: str) -> str:
    """Return a CUDA or C++ file's tokens, and the names of the files that it includes."""
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
            # A space tells `#define F (x)` from `#define F(x)`.
            tokens += [" "] * (in_directive and tokens[-1] != " ")
        else:
            in_directive |= at_line_start and token == "#"
            at_line_start = False
            tokens.append(token)
    return "\0".join([*tokens, *included])
