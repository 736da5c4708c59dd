"""Descriptions of parameters: texts below the fields of a model, or a docstring in NumPy's style."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"^(\S[^:\n]*?)(?: *: *([^\n]*))?\n((?:[ \n].*\n?)*)", re.MULTILINE)


class Entry(NamedTuple):
    """The description of one or more parameters; `values` is empty where the types of the fields say it."""

    names: tuple[str, ...]
    values: str
    meaning: str


def described(model: type[BaseModel]) -> dict[str, Entry]:
    """Return the entries of a model and of its bases, by each name."""
    found: dict[str, Entry] = {}
    for base in model.__mro__:
        for entry in _entries(base):
            # An entry may refer to the description in a base class.
            if not entry.meaning.startswith("See :class:"):
                found = dict.fromkeys(entry.names, entry) | found
    return found


def _entries(base: type) -> Iterator[Entry]:
    section = _SECTION.search(inspect.cleandoc(base.__doc__ or "") + "\n")
    for names, values, meaning in _ENTRY.findall(section[1]) if section else ():
        yield Entry(tuple(names.split(", ")), values, " ".join(meaning.split()))
    fields = base.model_fields if issubclass(base, BaseModel) else {}
    own = {name: fields[name].description for name in inspect.get_annotations(base) if name in fields}
    below = [*_below_fields(base, own)] if own and not section else []
    yield from below
    rest = {name: text for name, text in own.items() if text and not any(name in one.names for one in below)}
    for text in dict.fromkeys(rest.values()):
        yield Entry(tuple(name for name in rest if rest[name] == text), "", text)


def _below_fields(base: type, own: Mapping[str, str | None]) -> Iterator[Entry]:
    """Yield an entry for each text below a field, and below a block of fields that have none of their own."""
    (tree,) = ast.parse(_source_of(base)).body
    assert isinstance(tree, ast.ClassDef)
    names: list[str] = []
    end = 0
    for node in tree.body:
        names = [] if node.lineno > end + 1 else names
        end = node.end_lineno or 0
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)) if name in own:
                names = [*(one for one in names if not own[one]), name]
            case ast.Expr(value=ast.Constant(value=str(text))) if names:
                yield Entry(tuple(names), "", " ".join(text.split()))
                names = []


def _source_of(kind: type) -> str:
    """Return the source of a class; `inspect` would parse the whole file, at every start of Snakemake."""
    text = Path(inspect.getfile(kind)).read_text(encoding="utf-8")
    found = re.search(rf"^( *)class {kind.__name__}\b.*?(?=^\1[^\s)]|\Z)", text, re.DOTALL | re.MULTILINE)
    return textwrap.dedent(found[0]) if found else ""
