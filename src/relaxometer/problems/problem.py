"""The interface of problems, and the list of them.

A problem is a package inside this one or in a folder of the configuration's `kernels`. It holds a `PROBLEM`
and the problem's variants (see `variants.py`).
"""

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import pyarrow as pa

from relaxometer import problems
from relaxometer.core.environment import how_to_install
from relaxometer.core.errors import UserError, quoted
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import unreached
from relaxometer.problems.phases import Phase
from relaxometer.problems.queries import QueryFormat

FIRST = ("sssp", "bfs", "dominators")
"""The problems that come first in tables and reports; others follow in alphabetical order."""

_ADDED: dict[str, None] = {}  # folders that :func:`add_folders` has added, in order


SAYS = {"predecessor": "tree", "idom": "tree", "path": "paths"}
"""What an answer with a column is called; without any of them it has the name of its first."""


def answer_of(columns: Iterable[str]) -> str:
    """Return what the columns of an answer say: "tree", "paths", or such as "distances" and "levels".

    Examples
    --------
    >>> answer_of(["level", "predecessor"]), answer_of(["level"]), answer_of([])
    ('tree', 'levels', '')
    """
    names = list(columns)
    said = [SAYS[name] for name in names if name in SAYS] or [f"{name}s" for name in names]
    return said[0] if said else ""


def _is_known(columns: Mapping[str, Any]) -> Any:
    first = next(iter(columns.values()))
    return first != unreached(first.dtype)


@dataclass(frozen=True)
class Problem:
    """How answers to a problem are stored and proven."""

    columns: Mapping[str, type[np.generic]]
    """Columns of an answer, a row per vertex; with `queries`, a query set says how many. See `columns_on`."""
    rules: Mapping[str, str] | tuple[str, ...]
    """The rules of a certificate. With a mapping, the verdict quotes what a broken rule demands."""
    certifier: Callable[[Any], Any]
    """Makes the certifier of a resident graph or batch. Its ``check(source, **columns)`` returns a
    :class:`relaxometer.problems.certificate.Certificate`; `source` is None if a search has none, and with
    `queries` a resident query set."""
    cpu_certifier: Callable[[Any], Any] | None = None
    """The same for answers of CPU programs outside the race, if `certifier` launches kernels, which would be
    emulated."""
    has_source: bool = True
    """Whether a search of a graph starts from a source. Searches of a batch never do."""
    queries: QueryFormat | None = None
    """Given if a search answers a query set, whose number takes the place of a source."""
    takes_batches: bool = False
    """Whether the problem can be solved for all graphs of a batch at once."""
    lengths: tuple[str, ...] = ()
    """Columns that have the graph's type of distances; solvers then read its weights."""
    proof_reads_arcs: bool = True
    """Whether the certifier of a graph needs its arcs in the device's memory."""
    reached: Callable[[Mapping[str, Any]], Any] = _is_known
    """Maps the columns of an answer to a mask of the vertices that the search reached, or of the queries that
    have an answer. By default, those whose first column is not
    :func:`relaxometer.graphs.lengths.unreached`."""
    as_table: Callable[[Mapping[str, Any]], pa.Table] = pa.table
    """Makes the stored table of an answer from its columns; by default, the table has these columns."""
    complete: Callable[[Graph, int, Mapping[str, Any]], Mapping[str, Any]] | None = None
    """``complete(graph, source, columns)`` makes the missing columns of an answer from the first one, for
    rivals that give no more."""

    def columns_on(self, graph: Graph | Batch) -> dict[str, np.dtype[Any]]:
        """Return the columns of an answer on a graph or batch, with their types."""
        types = {name: np.dtype(dtype) for name, dtype in self.columns.items()}
        return {
            name: graph.lengths.distances if name in self.lengths and isinstance(graph, Graph) else dtype
            for name, dtype in types.items()
        }


class Answer(Protocol):
    """The answer of one search."""

    @property
    def phases(self) -> int | None:
        """Phases, levels or rounds of the search; None if the variant has none."""

    @property
    def columns(self) -> Mapping[str, Any]:
        """The problem's `columns`, arrays of shape (n_vertices,) on the device or in host memory.

        With `queries`, shapes are those of :meth:`relaxometer.problems.queries.QuerySet.rows`.
        """


class Solver(Protocol):
    """One way to solve a problem on a resident graph or batch.

    A variant's module holds a class `Solver` of this interface and a model `Parameters`
    (:class:`relaxometer.problems.variants.Parameters`): what a configuration may set, with defaults.

    Parameters
    ----------
    graph : ResidentGraph or ResidentBatch
    parameters : Parameters
        Work that serves every search belongs in the constructor, whose time is reported as ``prepare_ms``;
        with a first search it is ``cold_ms``.

    Attributes
    ----------
    runs_on : {"device", "cpu"}
        A CPU program is timed by the host's clock.
    ends_on_host : bool, optional
        True if a search returns once its answer is in host memory; then the host's clock times it as well.
    takes : {"graph", "batch", "either"}, optional
        "graph" if left out.
    weight_types : collection of str, optional
        Types of weights that it takes, of :data:`relaxometer.graphs.lengths.LENGTHS`; ``{"uint32"}`` if left
        out. On a graph of another type it is skipped, if the problem has `lengths`.

    Raises
    ------
    Skipped
        If the variant does not suit the graph.
    """

    runs_on: ClassVar[Literal["device", "cpu"]]

    def __init__(self, graph: Any, parameters: Any) -> None: ...

    @property
    def resolved(self) -> dict[str, Any]:
        """The parameters in force, including those that the solver chose."""

    def solve(self, source: Any, phases: list[Phase] | None = None) -> Answer:
        """Solve the problem from one source.

        Parameters
        ----------
        source : int, None or resident query set
            None if searches have no source.
        phases : list, optional
            If given, the run is instrumented: a `Phase` is appended for each phase. Such a run is not timed.
        """


def problem_names() -> tuple[str, ...]:
    """Return the names of all problems, in the order of reports."""
    return _packages_in(*problems.__path__)


@functools.cache
def _packages_in(*folders: str) -> tuple[str, ...]:
    """List the folders of problems; doing so takes as long as a search of a small graph."""
    found = {package.name for package in pkgutil.iter_modules(folders) if package.ispkg}
    return (*FIRST, *sorted(found - set(FIRST)))


def load_problem(name: str) -> Problem:
    """Return the `PROBLEM` of a package; raises as :func:`import_own`."""
    problem: Problem = import_own(f"relaxometer.problems.{name}", "PROBLEM").PROBLEM
    return problem


def import_own(module: str, *needed: str) -> Any:
    """Import a module; UserError with file and line if it fails or lacks one of the names `needed`."""
    try:
        imported = importlib.import_module(module)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        where = _place(error, module)
        reason = next(iter(str(error).splitlines()), "no reason given")
        hint = how_to_install(error.name or "") if isinstance(error, ModuleNotFoundError) else ""
        raise UserError(f"{where}: {type(error).__name__}: {reason}{hint}") from error
    for name in needed:
        if not hasattr(imported, name):
            raise UserError(f"{imported.__file__}: defines no {name}")
    return imported


def _place(error: BaseException, module: str) -> str:
    """Return file and line at which a module failed, or the file alone if Python does not say the line."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frame, found = error.__traceback__, None
    while frame:
        file = frame.tb_frame.f_code.co_filename
        if file != __file__ and not re.search("importlib|site-packages", file):
            found = f"{file}:{frame.tb_lineno}"
        frame = frame.tb_next
    spec = None if found else find_spec(module)
    return found or (spec and spec.origin) or module


def add_folders(folders: Iterable[str], origin: str = "config") -> None:
    """Add folders of problems and variants outside the package.

    A folder holds one folder per problem: ``my_kernels/sssp/my_variant.py`` is a variant of `sssp`, and
    ``my_kernels/components/__init__.py`` with a `PROBLEM` is a problem of its own. They are relative to the
    working directory; adding one twice has no effect. `origin` is the configuration that names them, for
    messages. UserError if a folder does not exist, or does not contain folders of problems only.
    """
    for folder in folders:
        try:
            root = Path(folder).resolve(strict=True)
            found = root.is_dir()
        except (OSError, ValueError):  # ValueError: a null character
            found = False
        if not found:
            raise UserError(f"{origin}: kernels: {quoted(folder)} is not a folder")
        inside = sorted(path for path in root.iterdir() if path.is_dir() and path.name[0] not in "._")
        if not inside:
            is_problem = root.name in problem_names() or (root / "__init__.py").is_file()
            hint = "name the folder above it" if is_problem else "put a variant of sssp into a folder sssp"
            raise UserError(f"{origin}: kernels: {quoted(folder)} holds no folders of problems; {hint}")
        for inner in inside:
            if inner.name in problem_names():
                _extend(f"relaxometer.problems.{inner.name}", inner)
            elif (inner / "__init__.py").is_file():
                _extend("relaxometer.problems", root)
            else:
                raise UserError(
                    f"{origin}: kernels: {folder}/{inner.name}: unknown problem {inner.name!r}; known: "
                    f"{', '.join(problem_names())}; a problem of your own needs an __init__.py with a PROBLEM"
                )
        _ADDED[str(root)] = None


def added_folders() -> tuple[str, ...]:
    """Return the folders that were added."""
    return tuple(_ADDED)


def _extend(package: str, folder: Path) -> None:
    path = importlib.import_module(package).__path__
    if str(folder) not in map(str, path):
        path.append(str(folder))
