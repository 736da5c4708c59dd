"""igraph's ``dominator`` (Lengauer and Tarjan, in C) on one CPU core."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.problems import variants
from relaxometer.problems.dominators.cpu._library import LibrarySolver


class Parameters(variants.Parameters):
    """Nothing to set."""


class Solver(LibrarySolver):
    """Immediate dominators by igraph."""

    package = "igraph"

    def build(self, n: int, tails: npt.NDArray[Any], heads: npt.NDArray[Any]) -> Any:
        """Return an igraph graph with these arcs."""
        return self.library.Graph(n=n, edges=np.column_stack([tails, heads]), directed=True)

    def dominators(self, built: Any, root: int, idom: npt.NDArray[np.uint32]) -> None:
        """Write the immediate dominators of a graph; igraph returns NaN for unreached vertices."""
        found = np.array(built.dominator(root, mode="out"), dtype=np.float64)
        reached = ~np.isnan(found)
        found[root] = root
        idom[reached] = found[reached].astype(np.uint32)
