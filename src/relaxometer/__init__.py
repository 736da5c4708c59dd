"""Relaxometer: GPU graph kernels raced on real maps, every answer proven.

>>> import relaxometer as rx
>>> graph = rx.Graph.from_csr(offsets, targets, weights)
>>> trees = rx.prepare(graph, "sssp", searches=100)
>>> tree = trees.search(42)  # vertices are numbered from 0
>>> tree.distance, tree.path_to(7)
>>> tree.verify()
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

__all__ = ["Answer", "Graph", "GraphError", "Prepared", "WrongAnswer", "csgraph", "prepare"]

_HOMES: dict[str, tuple[str, str | None]] = {
    "Answer": ("library.answers", "Answer"),
    "Graph": ("library.graph", "Graph"),
    "GraphError": ("core.errors", "UserError"),
    "Prepared": ("library.prepared", "Prepared"),
    "WrongAnswer": ("library.answers", "WrongAnswer"),
    "csgraph": ("csgraph", None),
    "prepare": ("library.prepared", "prepare"),
}
"""Module and name of what is exported, imported when it is first used; `__init__.pyi` has the types."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'relaxometer' has no attribute {name!r}")
    module, own = _HOMES[name]
    home = import_module(f"relaxometer.{module}")
    found = getattr(home, own) if own else home
    globals()[name] = found
    return found
