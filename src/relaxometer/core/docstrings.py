"""Descriptions of parameters, from docstrings in NumPy's style."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

from pydantic import BaseModel

_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"^(\S[^:\n]*?)(?: *: *([^\n]*))?\n((?:[ \n].*\n?)*)", re.MULTILINE)


class Entry(NamedTuple):
    """A docstring's entry for one or more parameters."""

    names: tuple[str, ...]
    values: str
    meaning: str


def described(model: type[BaseModel]) -> dict[str, Entry]:
    """Return the entries of a model's docstring and of those of its bases, by each name."""
    found: dict[str, Entry] = {}
    for base in model.__mro__:
        section = _SECTION.search(inspect.cleandoc(base.__doc__ or "") + "\n")
        for names, values, meaning in _ENTRY.findall(section[1]) if section else ():
            entry = Entry(tuple(names.split(", ")), values, " ".join(meaning.split()))
            # An entry may refer to the description in a base class.
            if not entry.meaning.startswith("See :class:"):
                found = dict.fromkeys(entry.names, entry) | found
    return found
