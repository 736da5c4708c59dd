"""Finds the variants of a problem by the names of their modules.

In a problem's folder and the folders inside it, every module is a variant except ``certify`` and those whose
names begin with an underscore: ``sssp/dijkstra/dijkstra_cpu.py`` is ``dijkstra-cpu``.
"""

import functools
import importlib
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import PydanticUndefinedAnnotation

from relaxometer.core.checkout import PACKAGE
from relaxometer.core.errors import UserError
from relaxometer.core.provenance import files_used, hash_of_files
from relaxometer.core.validation import NAME, Section
from relaxometer.graphs.lengths import Lengths
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems.problem import Problem, import_own

RESERVED = frozenset({"solver", "graphs", "not_on", "timing"})
"""Keys of a configuration's entry, which no parameter of a variant can be called."""


class Parameters(Section):
    """Base of every variant's parameters: unknown names are errors."""

    def wants_arcs(self, n_arcs: int) -> bool:
        """Return whether `n_arcs` arcs must be in the device's memory before the first search."""
        return True

    def loads(self) -> list[str]:
        """Return the solvers that this one loads by name: an edit of theirs measures it again, too."""
        return []


class NoParameters(Parameters):
    """No parameters."""


class SolverBase:
    """Base of most solvers: they run on the device, and their parameters are in force as given."""

    runs_on: ClassVar[Literal["device", "cpu"]] = "device"

    def __init__(self, graph: ResidentGraph | ResidentBatch, parameters: Parameters) -> None:
        self._graph: Any = graph
        self._device = graph.device
        self._parameters: Any = parameters
        self.resolved: dict[str, Any] = parameters.model_dump()


def takes_weights(solver: Any, lengths: Lengths) -> bool:
    """Return whether a solver takes weights of this type."""
    return lengths.name in _weight_types(solver)


def uses_one_core(resolved: Mapping[str, Any]) -> bool:
    """Return whether a CPU program with these resolved parameters runs on one core."""
    return bool(resolved.get("threads", resolved.get("cores", 1)) == 1)


def _weight_types(solver: Any) -> Collection[str]:
    return getattr(solver, "weight_types", ("uint32",))


def refuse_weights(problem: Problem, solver: Any, graph: Any) -> None:
    """Raise `Skipped` if a solver reads weights of a type that it does not take; a batch has no weights."""
    lengths: Lengths | None = getattr(graph, "lengths", None)
    if problem.lengths and lengths is not None and not takes_weights(solver, lengths):
        *others, last = sorted(_weight_types(solver))
        types = f"{', '.join(others)} or {last}" if others else last
        raise Skipped(f"takes weights of type {types}, not {lengths.title}")


class Skipped(Exception):  # noqa: N818  (a status, not an error)
    """A variant does not suit a graph; the summary gives the message as the reason."""


def solver_modules(problem: str) -> dict[str, str]:
    """Return the dotted names of the modules of a problem's variants, by variant in alphabetical order.

    UserError if two modules have the same name, or Python cannot import a file of this name.
    """
    package = importlib.import_module(f"relaxometer.problems.{problem}")
    return dict(_modules_in(problem, package.__name__, *map(Path, package.__path__)))


def modules_of(problem: str, solver: str, parameters: Parameters) -> list[str]:
    """Return the dotted names of the modules of a solver and of those that it loads by name."""
    modules = solver_modules(problem)
    return [modules[name] for name in (solver, *parameters.loads())]


def kernel_hash(problem: str, solver: str) -> str:
    """Return a hash of the CUDA code that a solver's module uses; comments and folders do not change it."""
    files = files_used(solver_modules(problem)[solver].removeprefix("relaxometer."))
    return hash_of_files(file for file in files if file.suffix in (".cu", ".cuh"))


@functools.cache
def _modules_in(problem: str, package: str, *folders: Path) -> dict[str, str]:
    """Look for the modules of a problem's variants; a plan asks for each run several times."""
    found: dict[str, Path] = {}
    modules: dict[str, str] = {}
    for folder in folders:
        for file in folder.rglob("[!_]*.py"):
            parts = file.relative_to(folder).with_suffix("").parts
            # Editors and notebooks keep copies in hidden files and folders.
            if parts == ("certify",) or any(part.startswith(".") for part in parts):
                continue
            _check_names(folder, parts)
            name = parts[-1].replace("_", "-")
            if name in found:
                raise UserError(f"{problem}: two variants are called {name!r}: {found[name]} and {file}")
            found[name] = file
            modules[name] = ".".join([package, *parts])
    return dict(sorted(modules.items()))


def _check_names(folder: Path, parts: tuple[str, ...]) -> None:
    """Raise UserError unless Python can import a module below a folder, and a configuration can name it."""
    for place, part in enumerate(parts, 1):
        is_file = place == len(parts)
        if part.isidentifier() and (not is_file or re.fullmatch(NAME, part.replace("_", "-"))):
            continue
        better = re.sub("[^a-z0-9]+", "_", part.lower()).strip("_")
        better = better if better[:1].isalpha() else f"my_{better}".rstrip("_")
        suffix = ".py" * is_file
        what = "which a configuration can name" if part.isidentifier() else "which Python can import"
        raise UserError(f"{folder.joinpath(*parts[:place])}{suffix}: rename it to {better}{suffix}, {what}")


def solver_names(problem: str) -> list[str]:
    """Return the names of the variants of a problem in alphabetical order."""
    return list(solver_modules(problem))


def load_solver(problem: str, name: str) -> Any:
    """Import the module of a variant; UserError if this fails or `Parameters` or `Solver` is unfit."""
    module = import_own(solver_modules(problem)[name], "Parameters", "Solver")
    given = module.Parameters
    if not (isinstance(given, type) and issubclass(given, Parameters)):
        raise UserError(f"{module.__file__}: Parameters must be a subclass of variants.Parameters")
    try:
        given.model_rebuild()  # of annotations that Python did not evaluate
    except PydanticUndefinedAnnotation as error:
        raise UserError(f"{module.__file__}: Parameters: {error.message}") from None
    if getattr(module.Solver, "runs_on", None) not in ("device", "cpu"):
        raise UserError(f"{module.__file__}: Solver must set runs_on to 'device' or 'cpu'")
    for key in sorted(RESERVED & given.model_fields.keys()):
        where = f"{module.__file__}: Parameters.{key}"
        raise UserError(f"{where}: rename it; a configuration has another key {key}")
    if not Path(module.__file__).is_relative_to(PACKAGE):
        files_used(module.__name__.removeprefix("relaxometer."))  # raises if one is not UTF-8
    return module
