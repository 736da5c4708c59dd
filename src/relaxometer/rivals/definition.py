"""Definitions of rivals: folders with a ``rival.yaml``, of the repository and of the user."""

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from relaxometer.core.checkout import ROOT
from relaxometer.core.errors import UserError, quoted
from relaxometer.core.validation import NAME, Name, Section, repetition, shown, suggestion, validated
from relaxometer.core.yaml_files import read_sections
from relaxometer.problems.problem import load_problem, problem_names

OURS = ROOT / "workflow/rivals"  # the rivals that ship
HELPERS = OURS / "helpers"  # the folder of `rival.py` and `rival.hpp`, the adapters' side of the protocol

FILE = "rival.yaml"
REQUIREMENTS = "requirements.txt"

RESERVED = frozenset({"rival", "command", "threads", "tune", "graphs", "not_on", "timing"})
"""Keys of a configuration's entry, which no parameter of an adapter can be called."""

Scalar = bool | int | float | str
LIMIT = 2**63
"""All numbers of an adapter's parameters are below this; so tables can hold them. NaN is not, either."""

Kind = Literal["cpu-1", "cpu-all", "gpu"]
Format = Literal["gr", "mtx", "sg", "wsg"]


class Parameter(Section):
    """An option that the adapter takes as ``name=value``; `options` are all values of a text."""

    default: Scalar
    about: str
    options: list[str] | None = None

    def flaw(self, value: Any) -> str | None:
        """Return what `value` should be, if it is not: of the type of the default, and within its limits."""
        if isinstance(self.default, str):
            if self.options is not None and value not in self.options:
                return f"should be {' or '.join(map(repr, self.options))}"
            fits = isinstance(value, str) and value.isprintable()
            return None if fits else "should be text of printable characters; write it in quotes"
        if isinstance(self.default, bool):
            return None if isinstance(value, bool) else "should be true or false"
        kinds, what = (int, "an integer") if isinstance(self.default, int) else (int | float, "a number")
        if isinstance(value, bool) or not isinstance(value, kinds):
            return f"should be {what}" + "; YAML reads 1e3 as text" * isinstance(value, str)
        return None if abs(value) < LIMIT else f"should be {what} below 2**63, positive or negative"

    @model_validator(mode="after")
    def _has_a_default_within_limits(self) -> Self:
        if flaw := self.flaw(self.default):
            raise ValueError(f"default: {shown(self.default)} is invalid: {flaw}")
        return self


class Solves(Section):
    """How a rival solves a problem: columns of the answer that it gives, the first and any others, or none.

    With none its times cannot be proven: they are listed, never ranked. With `customizes`, the adapter takes
    new weights of the same graph, as the study ``traffic`` asks it to.
    """

    answers: list[str]
    takes: Literal["graph", "batch", "either"] = "graph"
    customizes: bool = False


class Needs(Section):
    """Requirements outside Python's package index, and how to install them, for the one who lacks them."""

    header: str | None = None
    program: str | None = None
    how: str


class Definition(Section):
    """The content of a ``rival.yaml``, whose keys ``docs/rivals.md`` describes."""

    title: str
    url: str
    licence: str
    citation: str
    version: str | None = None
    class_: Annotated[Kind, Field(alias="class")]
    adapter: Literal["adapter.py", "adapter.cpp"] | None = None
    problems: Annotated[dict[Name, Solves], Field(min_length=1)]
    weights: Literal["uint32", "float32", "float64"] = "uint32"
    prepares: str | None = None
    parameters: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], Parameter] = Field({})
    needs: Needs | None = None
    flags: list[str] = Field([])
    flags_command: str | None = None
    formats: list[Format] = Field([])


class Rival:
    """A rival's folder, read; UserError if its ``rival.yaml`` is invalid or its adapter is missing."""

    def __init__(self, folder: Path) -> None:
        self.name, self.folder = folder.name, folder
        path = folder / FILE
        self.definition = validated(Definition, read_sections(path), str(path))
        adapter = self.definition.adapter
        if adapter and not (folder / adapter).is_file():
            raise UserError(f"{path}: adapter: {folder / adapter} is not a file")
        for name in RESERVED & self.definition.parameters.keys():
            raise UserError(f"{path}: parameters.{name}: rename it; a configuration has another key {name}")
        for name, solves in self.definition.problems.items():
            _check_answers(name, solves, f"{path}: problems.{name}")

    @property
    def files(self) -> list[Path]:
        """The files that its results depend on; editors keep copies in hidden ones."""
        found = [path for path in self.folder.rglob("*") if path.is_file()]
        parts = {path: path.relative_to(self.folder).parts for path in found}
        own = [one for one in found if not any(p.startswith((".", "__pycache__")) for p in parts[one])]
        helpers = {"adapter.py": "*.py", "adapter.cpp": "*.hpp"}.get(self.definition.adapter or "")
        return sorted(own) + (sorted(HELPERS.glob(helpers)) if helpers else [])

    @property
    def credits(self) -> dict[str, str | None]:
        """Entries of its definition that the report shows."""
        told: dict[str, str | None] = self.definition.model_dump(
            include={"title", "url", "licence", "citation", "weights", "prepares"}
        )
        return told

    @property
    def code(self) -> str:
        """Hash of its files."""
        digest = hashlib.sha256()
        for path in self.files:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()[:16]


def _check_answers(problem: str, solves: Solves, where: str) -> None:
    """Raise UserError unless the columns that a rival gives can be proven, or are none."""
    if problem not in problem_names():
        hint = suggestion(problem, problem_names(), "`kernels` in the configuration adds problems")
        raise UserError(f"{where}: unknown problem{hint}")
    if len(set(solves.answers)) < len(solves.answers):
        raise UserError(f"{where}.answers: {quoted(', '.join(solves.answers))} names a column twice")
    known = load_problem(problem)
    # Of the columns of a query set, the first may be all that is asked for.
    can_complete = (known.complete or known.queries) is not None and solves.takes == "graph"
    needed = list(known.columns)[: 1 if can_complete else None]
    if solves.answers and not set(needed) <= set(solves.answers) <= known.columns.keys():
        optional = [column for column in known.columns if column not in needed]
        expected = " and ".join(needed) + "".join(f" and, if it has it, {column}" for column in optional)
        given = quoted(", ".join(solves.answers))
        raise UserError(f"{where}.answers: {given} is invalid; expected {expected}, or an empty list")
    if solves.customizes and (problem != "sssp" or not solves.answers):
        raise UserError(f"{where}.customizes: new weights are for sssp with answers; leave it out")


def find_rivals(folders: Iterable[str], origin: str = "config") -> dict[str, Rival]:
    """Return the rivals that ship and those of the user's `folders`, by name.

    Each folder, relative to the working directory, holds one folder per rival. `origin` is the configuration
    that names them, for messages. UserError if a folder does not exist or holds no rival, two rivals have one
    name, or a ``rival.yaml`` is not valid.
    """
    found: dict[str, Rival] = {}
    for root in [OURS, *map(Path, folders)]:
        if not os.path.isdir(root):  # noqa: PTH112 (never raises)
            raise UserError(f"{origin}: rivals: {quoted(root)} is not a folder")
        inside = sorted(path.parent for path in root.glob(f"*/{FILE}"))
        if not inside:
            is_rival = os.path.isfile(root / FILE)  # noqa: PTH113 (never raises)
            hint = "name the folder above it" if is_rival else f"each is a folder with a {FILE}"
            raise UserError(f"{origin}: rivals: {quoted(root)} holds no folders of rivals; {hint}")
        for folder in inside:
            if folder.name in found:
                other = found[folder.name].folder
                raise UserError(f"{origin}: rivals: two are called {folder.name!r}: {other} and {folder}")
            if not re.fullmatch(NAME, folder.name):
                raise UserError(f"{folder}: rename it; a rival's name has the form {NAME}")
            if flaw := repetition(folder.name):
                raise UserError(f"{folder}: rename it; a rival's name {flaw}")
            found[folder.name] = Rival(folder)
    return found
