"""Control-flow graphs of programs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PositiveInt

from relaxometer.core.validation import Section
from relaxometer.datasets.formats import Format

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


FORMATS = {
    "c-cfgs": Format(
        "relaxometer.datasets.readers.c_cfgs", needs="file", parameters=CCfgParameters, batch=True
    ),
    "python-cfgs": Format(
        "relaxometer.datasets.readers.python_cfgs", parameters=PythonCfgParameters, batch=True
    ),
}
