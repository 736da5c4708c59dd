"""rustworkx's ``immediate_dominators`` (in Rust) on one CPU core."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.problems import variants
from relaxometer.problems.dominators.cpu._library import LibrarySolver


class Parameters(variants.Parameters):
    """Nothing to set."""


class Solver(LibrarySolver):
    """Immediate dominators by rustworkx."""

    package = "rustworkx"

    def build(self, n: int, tails: npt.NDArray[Any], heads: npt.NDArray[Any]) -> Any:
        """Return a rustworkx graph with these arcs."""
        graph = self.library.PyDiGraph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from_no_data(list(zip(tails.tolist(), heads.tolist(), strict=True)))
        return graph

    def dominators(self, built: Any, root: int, idom: npt.NDArray[np.uint32]) -> None:
        """Write the immediate dominators of a graph; rustworkx leaves out unreached vertices."""
        found = self.library.immediate_dominators(built, root)
        idom[np.fromiter(found.keys(), dtype=np.int64)] = np.fromiter(found.values(), dtype=np.uint32)
