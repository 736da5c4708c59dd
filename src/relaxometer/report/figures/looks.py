"""The colour, dash and marker of each variant and rival: the same in every figure, also in grey.

Within a problem no two variants have the same marker, so figures need no colours. Relatives share the shape
and differ in which half of it is filled. A name that is not listed here gets one that no listed name
has, by a hash.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

Filling = Literal["full", "top", "bottom", "left", "right", "none"]


@dataclass(frozen=True)
class Look:
    """How a variant or a rival is drawn in every figure.

    `dash` and `marker` are Matplotlib's; `filling` is the filled part of the marker. Rivals have "none",
    which tells them from variants, also in print.
    """

    colour: str
    dash: Any
    marker: Any
    filling: Filling = "full"

    @property
    def is_open(self) -> bool:
        """Whether the marker has no filling."""
        return self.filling == "none"

    @property
    def line(self) -> dict[str, Any]:
        """The options of a Matplotlib line."""
        return {"linestyle": self.dash, **self.points}

    @property
    def points(self) -> dict[str, Any]:
        """The options of Matplotlib markers."""
        options: dict[str, Any] = {"color": self.colour, "marker": self.marker}
        if self.is_open:
            options |= {"markerfacecolor": "white", "markeredgewidth": 1.3}
        elif self.filling != "full":
            options |= {"fillstyle": self.filling, "markerfacecoloralt": "white"}
            options |= {"markeredgecolor": self.colour, "markeredgewidth": 0.9}
        return options


SOLID, DASHED, DOTTED, DASHDOT = "-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (4, 1, 1, 1))
LONG, DOUBLE = (0, (6, 1, 2, 1)), (0, (3, 1, 1, 1, 1, 1))

LOOKS = {
    # Shortest paths.
    "conventional": Look("#0072B2", SOLID, "o"),
    "selection": Look("#D55E00", DASHED, "s"),
    "adaptive": Look("#009E73", DOTTED, "D"),
    "adaptive-persistent": Look("#6BAF2E", DASHDOT, "D", "top"),
    "near-far": Look("#E69F00", SOLID, "^"),
    "tiled": Look("#CC79A7", SOLID, "h"),
    "tiled-bisection": Look("#8E5A9B", DASHDOT, "h", "left"),
    "tiled-delta-4": Look("#A0457F", DASHED, "h", "top"),
    "tiled-delta-32": Look("#E3A7C8", DOTTED, "h", "bottom"),
    "tiled-flushed": Look("#C94F7C", LONG, "H", "bottom"),
    "phast": Look("#7F3C8D", SOLID, "*"),
    "push-pull": Look("#56B4E9", DASHED, "X"),
    "auto": Look("#000000", DASHDOT, "p"),
    "auto-for-1": Look("#5B5B8A", DASHED, "p", "top"),
    "auto-for-10": Look("#70709B", LONG, "p", "left"),
    "auto-for-100": Look("#7E7EA8", DOUBLE, "8", "left"),
    "auto-for-1000": Look("#8C8CB5", DOTTED, "p", "bottom"),
    "delta-stepping": Look("#A5642A", LONG, "<"),
    "dijkstra": Look("#B2182B", DOUBLE, ">"),
    "dijkstra-cpu": Look("#404040", DASHDOT, "v"),
    "many-sources": Look("#1B9E77", SOLID, "o", "top"),
    "phast-many": Look("#B07AB9", SOLID, "*", "top"),
    "phast-many-distances": Look("#4B1D57", DASHED, "*", "bottom"),
    "bellman-ford-queue": Look("#4D9221", SOLID, "d"),
    "bellman-ford-queue-order-slf": Look("#80BA5A", DASHED, "d", "top"),
    "bellman-ford-queue-order-lll": Look("#276419", DOTTED, "d", "bottom"),
    "bellman-ford-queue-order-slf-lll": Look("#A6D96A", DASHDOT, "d", "left"),
    "edge-bf": Look("#117733", SOLID, "P"),
    "edge-bf-no-cache": Look("#332288", DASHED, "s", "top"),
    "edge-bf-no-order": Look("#CC6677", DOTTED, "o", "bottom"),
    "edge-bf-plain": Look("#882255", DASHDOT, "^", "top"),
    "edge-bf-uint32": Look("#999933", SOLID, "P", "top"),
    "edge-bf-uint32-four": Look("#AA4499", DASHED, "P", "bottom"),
    "edge-bf-atomic": Look("#4477AA", DOTTED, "X", "top"),
    "spmv-csr": Look("#BB5566", DASHDOT, "s", "bottom"),
    "spmv-ell": Look("#DDAA33", DOUBLE, "s", "left"),
    "bellman-ford-cpu": Look("#737373", DOTTED, "v", "top"),
    "johnson": Look("#8C510A", LONG, "^", "bottom"),
    # Breadth-first search.
    "top-down": Look("#0072B2", DASHED, "o"),
    "bottom-up": Look("#D55E00", DOTTED, "s"),
    "hybrid": Look("#009E73", SOLID, "D"),
    "hybrid-packed": Look("#332288", SOLID, "h", "right"),
    "hybrid-beamer": Look("#6BAF2E", DASHED, "D", "top"),
    "hybrid-first-neighbour": Look("#117733", DOTTED, "D", "bottom"),
    "level-array": Look("#56B4E9", DOUBLE, "X"),
    "cooperative": Look("#CC79A7", LONG, "P"),
    "cooperative-on-maps": Look("#E69F00", SOLID, "^"),
    "cooperative-ratio-0": Look("#AA4499", DASHED, "P", "top"),
    "cooperative-ratio-0p25": Look("#882255", DOTTED, "P", "bottom"),
    "cooperative-ratio-0p5": Look("#E3A7C8", DASHDOT, "P", "left"),
    "multi-source": Look("#7F3C8D", SOLID, "p", "top"),
    "multi-source-levels": Look("#B07AB9", DASHED, "p", "bottom"),
    "queue-cpu": Look("#808080", DOTTED, "v", "top"),
    "hybrid-cpu": Look("#404040", DASHDOT, "v"),
    # Dominators: kernels in colours, CPU programs in greys.
    "persistent-warp": Look("#0072B2", SOLID, "o"),
    "multiword": Look("#D55E00", DASHED, "s"),
    "iterative-tree": Look("#009E73", DOTTED, "D"),
    "iterative-tree-out-of-core": Look("#6BAF2E", DASHDOT, "D", "top"),
    "biconnected": Look("#AA3377", SOLID, "D", "left"),
    "incremental": Look("#7F3C8D", LONG, "*"),
    "batch-warp": Look("#56B4E9", SOLID, "h"),
    "batch-warp-replay": Look("#332288", DASHED, "h", "top"),
    "batch-warp-streams-1": Look("#88CCEE", DOTTED, "h", "bottom"),
    "batch-warp-streams-2": Look("#4477AA", DASHDOT, "h", "left"),
    "batch-warp-streams-4": Look("#1F4E79", LONG, "h", "right"),
    "batch-warp-host-to-host": Look("#225EA8", DOTTED, "H", "left"),
    "batch-block": Look("#E69F00", DASHED, "X"),
    "auto-host-to-host": Look("#5B5B8A", DOTTED, "p", "left"),
    "lengauer-tarjan": Look("#404040", DASHDOT, "v"),
    "cooper-harvey-kennedy": Look("#707070", DASHED, "^"),
    "semi-nca": Look("#202020", SOLID, "P"),
    "cooper-harvey-kennedy-cores": Look("#8C8C8C", DOTTED, "^", "top"),
    "semi-nca-cores": Look("#303030", DASHED, "P", "top"),
    # Point-to-point queries; `dijkstra-cpu` is above.
    "hierarchy": Look("#7F3C8D", SOLID, "*"),
    "hierarchy-cpu": Look("#9A9A9A", LONG, "*", "top"),
    "labels": Look("#E68310", SOLID, "X"),
    "trees": Look("#1B9E77", DASHED, "o", "top"),
    "trees-phast-many": Look("#B07AB9", DOTTED, "h", "top"),
}
"""The variants of all suites. Most colours are from palettes that colour-blind readers can distinguish."""

RIVAL_LOOKS = {
    "boost": Look("#08519C", (0, (3, 1)), "o", "none"),
    "scipy": Look("#AE017E", (0, (1, 1)), "s", "none"),
    "igraph": Look("#525252", (0, (1.5, 1)), "<", "none"),
    "rustworkx": Look("#A63603", (0, (5, 1, 1, 1)), ">", "none"),
    "networkit": Look("#006D2C", (0, (2, 2)), "^", "none"),
    "graphblas": Look("#000000", (0, (3, 1)), "D", "none"),
    "graphblas-tuned": Look("#636363", (0, (5, 1, 1, 1)), "d", "none"),
    "edsger": Look("#6A51A3", (0, (1, 1)), "p", "none"),
    "routingkit": Look("#8C2D04", (0, (2, 2)), "v", "none"),
    "routingkit-cpp": Look("#67000D", (0, (1, 1)), (6, 1, 0), "none"),
    "cugraph": Look("#3F7F00", (0, (5, 1, 1, 1)), "h", "none"),
    "cugraph-f64": Look("#1B5E5A", (0, (2, 2)), "H", "none"),
    "llvm": Look("#7A0177", (0, (3, 1)), "*", "none"),
    "gap": Look("#003F5C", (0, (1, 1)), "P", "none"),
    "wasp": Look("#8B0000", (0, (2, 2)), "X", "none"),
    "adds": Look("#5C4033", (0, (3, 1)), "8", "none"),
    "gswitch": Look("#2F4F4F", (0, (5, 1, 1, 1)), (8, 1, 0), "none"),
    "blest": Look("#4B0082", (0, (1, 1)), (3, 1, 0), "none"),
    "bmssp": Look("#7A3B00", (0, (2, 2)), (5, 1, 0), "none"),
}
"""Rivals have dark colours, open markers and broken lines; no variant has an open marker."""

SPARE_COLOURS = ("#CC79A7", "#E69F00", "#56B4E9", "#7F3C8D", "#80BA5A", "#A5642A")
SPARE_MARKERS = ("^", "o", "s", "p", "D", "v", "<", ">", "8")
SPARE_RIVAL_COLOURS = ("#000000", "#8C2D04", "#08519C", "#006D2C", "#6A51A3", "#AE017E")
SPARE_RIVAL_MARKERS = ((4, 1, 0), (4, 1, 45), (5, 1, 36), (7, 1, 0), (10, 1, 0), (5, 0, 36))
"""For names that are not listed; variants among them have the right half of a marker filled."""

DASHES = ((0, (3, 1)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (2, 2)))


def look(name: str, rival: bool = False) -> Look:
    """Return the look of a variant or a rival; a hash of its name decides if it is not listed."""
    listed = (RIVAL_LOOKS if rival else LOOKS).get(name)
    if listed:
        return listed
    colours, markers = (SPARE_RIVAL_COLOURS, SPARE_RIVAL_MARKERS) if rival else (SPARE_COLOURS, SPARE_MARKERS)
    number, colour = divmod(zlib.crc32(name.encode()), len(colours))
    number, marker = divmod(number, len(markers))
    dash = DASHES[number % len(DASHES)]
    return Look(colours[colour], dash, markers[marker], "none" if rival else "right")


def looks_of(rows: pd.DataFrame) -> dict[str, Look]:
    """Return the looks of variants and rivals by name, from the columns ``variant`` and ``rival``.

    A name has the same look in every figure. Names that are not listed may share a marker or a colour; that
    they share all of a look is rare.
    """
    return {name: look(name, rival) for name, rival in zip(rows["variant"], rows["rival"], strict=True)}
