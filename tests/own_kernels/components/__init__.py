"""Weakly connected components: a problem from outside the package, without sources."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from relaxometer.problems.components.certify import RULES, ComponentsCertifier

from relaxometer.problems.problem import Problem

PROBLEM = Problem(
    {"component": np.uint32, "parent": np.uint32, "depth": np.uint16},
    RULES,
    ComponentsCertifier,
    has_source=False,
    reached=lambda columns: columns["component"] == columns["component"],
)


@dataclass(frozen=True)
class Answer:
    """Each vertex's component, named by its smallest vertex, and a tree that connects the component.

    Parameters
    ----------
    component, parent : array of shape (n_vertices,), uint32
    depth : array of shape (n_vertices,), uint16
    phases : int
    """

    component: Any
    parent: Any
    depth: Any
    phases: int

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that are kept and proven."""
        return {"component": self.component, "parent": self.parent, "depth": self.depth}
