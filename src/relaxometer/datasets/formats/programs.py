"""Graphs of programs: their control flow, and their heaps, where references keep objects alive."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from relaxometer.core.validation import Section
from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import VertexCount

CLANG_OPTION = r"^(-O[0-3sz]|-[DU]\w+(=[\w.]*)?|-std=[\w+]+)$"
"""The options that a dataset may give clang."""


class CCfgParameters(Section):
    """Parameters of the format ``c-cfgs``.

    Parameters
    ----------
    minimum_blocks : int
        Leave out functions with fewer basic blocks.
    options : list of str
        Options for clang: `-O1`, `-DNAME`, `-DNAME=VALUE`, `-UNAME`, `-std=...`. Others may write files and
        load code, and a stranger's bundle may name them.
    """

    minimum_blocks: PositiveInt = 3
    options: list[Annotated[str, Field(pattern=CLANG_OPTION)]] = Field(["-O0"])


class PythonCfgParameters(Section):
    """Parameters of the format ``python-cfgs``.

    Parameters
    ----------
    minimum_blocks : int
        Leave out functions with fewer basic blocks; most functions have one.
    modules : list of str, optional
        Top-level modules and packages of the standard library to take; all if left out.
    tests : bool
        Take the library's own tests as well.
    first : int, optional
        Maximum number of functions, taken in the order of files.
    """

    minimum_blocks: PositiveInt = 3
    modules: list[str] | None = None
    tests: bool = False
    first: PositiveInt | None = None


class HeapSnapshotParameters(Section):
    """Parameters of the format ``heapsnapshot``.

    Parameters
    ----------
    rules : {"chrome", "memlab"}
        Which references keep an object alive: those that Chrome's developer tools count, or those that memlab
        does.
    """

    rules: Literal["chrome", "memlab"] = "chrome"


class HeapLikeParameters(Section):
    """Parameters of the format ``heap-like``.

    Parameters
    ----------
    objects : int
        Number of objects.
    links : int
        How many of them form one list.
    """

    objects: Annotated[VertexCount, Field(ge=2)]
    links: NonNegativeInt = 0


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
