"""Finds the variants of a problem by the names of their modules.

In a problem's package and the packages inside it, every module is a variant except ``certify`` and those
whose names begin with an underscore: ``sssp/dijkstra/dijkstra_cpu.py`` is ``dijkstra-cpu``.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from pydantic import BaseModel, ConfigDict

from relaxometer.core.errors import UserError

RENAMED = {"batch": "many-sources"}
"""Present names of variants, by their former names."""


class Parameters(BaseModel):
    """Base of every variant's parameters: unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def wants_arcs(self, n_arcs: int) -> bool:
        """Return whether `n_arcs` arcs are to be in the device's memory ahead of the first search."""
        return True


class Skipped(Exception):  # noqa: N818  (a status, not an error)
    """A variant is not meant for a graph; the message is the reason that the summary gives."""


@cache
def kernel_modules(problem: str) -> dict[str, str]:
    """Return the variants of a problem.

    Parameters
    ----------
    problem : str

    Returns
    -------
    dict of str to str
        The dotted name of each variant's module, by the name of the variant.

    Raises
    ------
    UserError
        If two modules have the same name.
    """
    package = f"relaxometer.problems.{problem}"
    found: dict[str, str] = {}
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        name = module.name.rpartition(".")[2]
        if module.ispkg or name.startswith("_") or name == "certify":
            continue
        variant = name.replace("_", "-")
        if variant in found:
            raise UserError(
                f"variant {variant!r} of {problem} is there twice: {found[variant]}, {module.name}"
            )
        found[variant] = module.name
    return dict(sorted(found.items()))


def kernel_names(problem: str) -> list[str]:
    """Return the names of the variants of a problem in alphabetical order."""
    return list(kernel_modules(problem))


def load_variant(problem: str, kernel: str) -> ModuleType:
    """Import the module of a variant."""
    return importlib.import_module(kernel_modules(problem)[kernel])
