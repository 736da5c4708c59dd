"""Parameters and preparation of the variants `hierarchy` and `hierarchy-cpu`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import Field, PositiveFloat

from relaxometer.graphs.graph import Graph
from relaxometer.problems import variants
from relaxometer.problems.sssp import _maps

if TYPE_CHECKING:
    from relaxometer.problems.routes._shortcuts import Shortcuts
    from relaxometer.problems.sssp.phast._cch import Contraction


class HierarchyParameters(variants.Parameters):
    """Which graphs to skip."""

    fill: PositiveFloat = Field(16.0)
    """Maximum arcs of the hierarchy per edge of the graph. Road maps have about 3."""
    keep_order: bool = False
    """Keep the order of contraction in the cache of compiled kernels, and reuse it for the same map with any
    weights. Then the timed preparation excludes finding the order, except the first time."""


@dataclass(frozen=True)
class Contracted:
    """A contracted map, by a hierarchy whose weights play no part."""

    graph: Graph
    cch: Contraction
    depth: Any  # number of ancestors of each rank, int64

    @cached_property
    def shortcuts(self) -> Shortcuts:
        """Lengths and parts of the arcs of the hierarchy."""
        from relaxometer.problems.routes._shortcuts import find_shortcuts

        return find_shortcuts(self.graph, self.cch)

    @property
    def height(self) -> int:
        """Vertices of the longest path from a root."""
        return int(self.depth.max()) + 1

    @property
    def resolved(self) -> dict[str, Any]:
        """Return arcs of the hierarchy and height of the elimination tree."""
        return {"arcs": len(self.cch.up), "height": self.height}

    @property
    def unpacking(self) -> tuple[Any, Any]:
        """Return the arcs behind each arc of the hierarchy, as :func:`._shortcuts.unpacking`."""
        from relaxometer.problems.routes._shortcuts import unpacking

        return unpacking(self.cch.offsets, self.cch.up, self.cch.order, *self.shortcuts)


def contract(graph: Graph, parameters: HierarchyParameters) -> Contracted:
    """Contract a map; Skipped if a vertex or the hierarchy has too many arcs."""
    from relaxometer.problems.routes._shortcuts import find_depths
    from relaxometer.problems.sssp.phast import _cch, _ranges  # load Numba

    _maps.refuse_all_but_maps(graph)
    with _ranges.threads() as pool:
        cch = _cch.number(graph, parameters.fill, pool, parameters.keep_order)
    return Contracted(graph, cch, find_depths(cch.parent))
