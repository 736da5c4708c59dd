"""The formats of datasets: one light module per family of formats.

A module declares its formats in a mapping ``FORMATS``, with a model of their parameters; adding a format is
adding a module. Snakemake imports all of them each time it parses the workflow. So they import no numerics:
a format names the module that makes its graph, and that is imported only to make one.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel

from relaxometer.datasets.parameters import NoParameters


@dataclass(frozen=True)
class Format:
    """What an entry of a format holds, and the function that makes its graph."""

    module: str
    function: str = "build"
    """A `build.Generator` if the format needs a seed, otherwise a `build.Reader`."""
    needs: Literal["file", "seed", "extracted_from"] | None = None
    """What an entry must give; a file by `path` or `urls`. None if the format needs nothing."""
    parameters: type[BaseModel] = NoParameters
    """Model of the entry's `parameters`."""
    companion: Literal["coordinates", "edge_weights"] | None = None
    """Key of a second file that an entry may have."""
    first: int = 0
    """The number that a file gives its first vertex, where ids are not kept: 0 or 1."""
    has_coordinates: bool = False
    """True if the vertices always have coordinates."""
    keeps_coordinates: bool = False
    """True if the vertices have the coordinates of the graph that it is made from, if that has any."""
    keeps_texts: tuple[str, ...] = ()
    """Metadata of the graph that it is made from that hold for it, too, unless the entry gives others."""
    base: str | None = None
    """The format that the graph named by `extracted_from` must have."""
    finds_file: bool = False
    """True if the function finds its file itself, and checks it against the entry."""
    batch: bool = False
    """True if the function makes a batch of small flow graphs instead of a graph."""

    def load(self) -> Callable[..., Any]:
        """Import and return the function that makes the graph or batch."""
        function: Callable[..., Any] = getattr(importlib.import_module(self.module), self.function)
        return function


@cache
def all_formats() -> dict[str, Format]:
    """Return every format by its name, in alphabetical order."""
    found: dict[str, Format] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        found |= importlib.import_module(module.name).FORMATS
    return dict(sorted(found.items()))
