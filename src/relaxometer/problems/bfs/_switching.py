"""When a direction-optimising search switches direction."""

import math
from typing import Literal

from pydantic import PositiveFloat

from relaxometer.problems import variants

NEVER = 2.0**63  # more arcs or vertices than any graph has


class SwitchingParameters(variants.Parameters):
    """When a search switches direction."""

    alpha: PositiveFloat = 10
    """Bottom-up begins when more than 1 / alpha of all arcs leave the frontier."""
    beta: PositiveFloat = 14
    """A larger value prolongs the bottom-up levels; see `way_back`."""
    way_back: Literal["hirakushi", "beamer"] = "hirakushi"
    """Top-down begins again when the frontier has fewer than ``|V|**2 / (beta * |E|)`` vertices (Hirakushi
    and Takahashi) or fewer than ``|V| / beta`` (Beamer et al.). |E| is the number of arcs."""

    def limits(self, n_vertices: int, n_arcs: int) -> tuple[int, int]:
        """Return the number of arcs above which bottom-up begins, and of vertices below which it ends."""
        mean_degree = n_arcs / n_vertices if self.way_back == "hirakushi" else 1.0
        per_vertex = self.beta * mean_degree
        few = (n_vertices / per_vertex if per_vertex else NEVER) if n_arcs else 0
        return math.floor(min(n_arcs / self.alpha, NEVER)), math.ceil(min(few, NEVER))
