"""Graphs of programs: their control flow, and their heaps, where references keep objects alive."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from relaxometer.core.validation import Section
from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import VertexCount

CLANG_OPTION = r"^(-O[0-3sz]|-[DU]\w+(=[\w.]*)?|-std=[\w+]+)$"
"""The options that a dataset may give clang."""


class CCfgParameters(Section):
    """Parameters of the format ``c-cfgs``."""

    minimum_blocks: PositiveInt = 3
    """Leave out functions with fewer basic blocks."""
    options: list[Annotated[str, Field(pattern=CLANG_OPTION)]] = Field(["-O0"])
    """Options for clang: `-O1`, `-DNAME`, `-DNAME=VALUE`, `-UNAME`, `-std=...`. Others may write files and
    load code, and a stranger's bundle may name them."""


class PythonCfgParameters(Section):
    """Parameters of the format ``python-cfgs``."""

    minimum_blocks: PositiveInt = 3
    """Leave out functions with fewer basic blocks; most functions have one."""
    modules: list[str] | None = None
    """Top-level modules and packages of the standard library to take; all if left out."""
    tests: bool = False
    """Take the library's own tests as well."""
    first: PositiveInt | None = None
    """Maximum number of functions, taken in the order of files."""


class HeapSnapshotParameters(Section):
    """Parameters of the format ``heapsnapshot``."""

    rules: Literal["chrome", "memlab"] = "chrome"
    """Which references keep an object alive: those that Chrome's developer tools count, or those that memlab
    does."""


class HeapLikeParameters(Section):
    """Parameters of the format ``heap-like``."""

    objects: Annotated[VertexCount, Field(ge=2)]
    """Number of objects."""
    links: NonNegativeInt = 0
    """How many of them form one list."""
    shape: Literal["heap", "list", "tree", "hub"] = "heap"
    """A heap like those of programs, or an extreme: a list of all objects, a binary tree, or one object that
    owns all others."""
    shuffled: bool = False
    """Objects other than the root are in random order."""
    copies: PositiveInt = 1
    """How many copies there are under one root; `objects` counts those of one, with the root."""

    @model_validator(mode="after")
    def _has_links_in_a_heap(self) -> HeapLikeParameters:
        if self.links and self.shape != "heap":
            raise ValueError(f"`links` are those of the shape heap, not {self.shape}")
        return self


FORMATS = {
    "c-cfgs": Format(
        "relaxometer.datasets.readers.c_cfgs", needs="file", parameters=CCfgParameters, batch=True
    ),
    "python-cfgs": Format(
        "relaxometer.datasets.readers.python_cfgs", parameters=PythonCfgParameters, batch=True
    ),
    "heap-like": Format(
        "relaxometer.datasets.generators.heaps", "heap_like", needs="seed", parameters=HeapLikeParameters
    ),
    "heapsnapshot": Format(
        "relaxometer.datasets.readers.heapsnapshot", needs="file", parameters=HeapSnapshotParameters
    ),
    "hprof": Format("relaxometer.datasets.readers.hprof", needs="file"),
}
