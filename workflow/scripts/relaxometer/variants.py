"""Which variants a problem has, found by the names of their modules."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from pydantic import BaseModel, ConfigDict

PACKAGE = Path(__file__).parent


class Parameters(BaseModel):
    """Base of every variant's parameters: unknown names are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def wants_arcs(self, n_arcs: int) -> bool:
        """Return whether so many arcs are to be in the device's memory ahead of the first search."""
        return True


class Skipped(Exception):  # noqa: N818  (a status, not an error)
    """A variant is not meant for a graph; the message is the reason that the summary gives."""


def kernel_names(problem: str) -> list[str]:
    """Return the variants of `problem` by name: ``sssp/dijkstra_cpu.py`` is ``dijkstra-cpu``."""
    modules = (PACKAGE / problem).glob("[!_]*.py")
    return sorted(module.stem.replace("_", "-") for module in modules)


def load_variant(problem: str, kernel: str) -> ModuleType:
    """Import the module of a variant."""
    return importlib.import_module(f"relaxometer.{problem}.{kernel.replace('-', '_')}")
