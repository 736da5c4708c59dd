"""Road maps coloured by the distance from a source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from relaxometer.errors import UserError
from relaxometer.figures.style import GREY, empty_figure, entitle, new_figure
from relaxometer.graph import Graph
from relaxometer.sssp import UNREACHED

BANDS = 10
LIGHT_TO_DARK = ListedColormap(mpl.colormaps["viridis_r"](np.linspace(0.06, 1, 256)))
"""Without the palest yellow, which white paper swallows."""

READABLE_UNITS = {
    "ms": (1 / 60_000, "min"),
    "s": (1 / 60, "min"),
    "m": (1e-3, "km"),
    "metres": (1e-3, "km"),
    "0.1 m": (1e-4, "km"),
}
"""Weight unit in ``graph.json``: factor, and the unit that a map is read in."""


def distance_map(graph: Graph, answer: Mapping[str, npt.NDArray[Any]]) -> Figure:
    """Draw every road in the colour of its distance from the source.

    Parameters
    ----------
    graph : Graph
        With coordinates.
    answer : mapping of str to ndarray
        ``distance`` and ``predecessor`` of one search; empty arrays if none was proven.

    Raises
    ------
    UserError
        If the graph has no coordinates.
    """
    if graph.lon is None or graph.lat is None:
        raise UserError(f"graph {graph.name} has no coordinates; take it out of report.maps")
    title = f"Distance from one source, {graph.name}"
    distance, predecessor = answer["distance"], answer["predecessor"]
    if not len(distance):
        return empty_figure(title, "No search on this graph was proven right.")
    source = int(np.flatnonzero(predecessor == np.arange(len(predecessor)))[0])
    tails, heads = roads(graph)
    reached = (distance[tails] != UNREACHED) & (distance[heads] != UNREACHED)
    factor, unit = readable_unit(graph)
    middle = (distance[tails].astype(float) + distance[heads]) / 2 * factor
    figure, axes = new_figure(_height(graph), width=7.2)
    _draw_roads(axes, graph, tails[~reached], heads[~reached], color="0.75")
    drawn = _draw_bands(axes, graph, tails[reached], heads[reached], middle[reached])
    figure.colorbar(
        drawn,
        ax=axes,
        label=f"Distance from the source [{unit}]",
        ticks=drawn.norm.boundaries,
        format=lambda value, _: f"{value:,.0f}" if value >= 10 else f"{value:.2g}",
        shrink=0.8,
        pad=0.02,
    )
    _finish(axes, graph, source)
    furthest = distance[distance != UNREACHED].max() * factor
    entitle(figure, title, f"Source vertex {source}; the furthest vertex is {furthest:,.0f} {unit} away")
    return figure


def readable_unit(graph: Graph) -> tuple[float, str]:
    """Return the factor from the graph's weights to the unit in which its map is read, and that unit."""
    unit = graph.metadata.get("weight_unit", "no unit")
    return READABLE_UNITS.get(unit, (1.0, unit))


def roads(graph: Graph) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Return both ends of every road, once where there are arcs both ways."""
    tails, heads = graph.sources, graph.targets
    pairs = np.minimum(tails, heads).astype(np.uint64) << np.uint64(32) | np.maximum(tails, heads)
    first = np.unique(pairs, return_index=True)[1]
    return tails[first], heads[first]


def _segments(graph: Graph, tails: npt.NDArray[Any], heads: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the roads as straight lines, shape (n_roads, 2, 2)."""
    positions = np.column_stack([graph.lon, graph.lat])  # type: ignore[list-item]
    return np.stack([positions[tails], positions[heads]], axis=1)


def _line_width(graph: Graph) -> float:
    """Return a width, in points, at which the roads of a denser map still do not merge."""
    return float(np.clip(120 / np.sqrt(graph.n_arcs), 0.1, 1.0))


def _draw_roads(
    axes: Axes, graph: Graph, tails: npt.NDArray[Any], heads: npt.NDArray[Any], **look: Any
) -> Any:
    lines = LineCollection(list(_segments(graph, tails, heads)), linewidths=_line_width(graph), **look)
    return axes.add_collection(lines)


def _draw_bands(
    axes: Axes, graph: Graph, tails: npt.NDArray[Any], heads: npt.NDArray[Any], values: npt.NDArray[Any]
) -> Any:
    """Draw roads in about `BANDS` colours."""
    limits = band_limits(values)
    colours = LIGHT_TO_DARK
    norm = BoundaryNorm(limits, colours.N)
    return _draw_roads(axes, graph, tails, heads, array=values, cmap=colours, norm=norm)


def band_limits(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return where the colours of a map change.

    Parameters
    ----------
    values : ndarray of shape (n_roads,), float

    Returns
    -------
    ndarray
        Round numbers at equal steps; where these would give half of the roads one colour or two, as a few far
        vertices do, limits between which about equally many roads lie.
    """
    furthest = max(float(values.max(initial=0)), 1e-9)
    equal = np.asarray(MaxNLocator(BANDS).tick_values(0, furthest))
    if not len(values) or np.median(values) >= equal[2]:
        return equal
    quantiles = np.quantile(values, np.linspace(0, 1, BANDS + 1)[1:-1])
    rounded = [float(f"{value:.2g}") for value in quantiles]
    return np.unique([0, *(value for value in rounded if value < furthest), equal[-1]])


def _height(graph: Graph) -> float:
    """Return the figure's height at which the map fills its width."""
    assert graph.lon is not None
    assert graph.lat is not None
    ratio = np.ptp(graph.lat) / max(np.ptp(graph.lon) * np.cos(np.radians(graph.lat.mean())), 1e-9)
    return float(np.clip(5.4 * ratio + 1.2, 3.5, 9))


def _finish(axes: Axes, graph: Graph, source: int) -> None:
    """Mark the source, set the aspect for the latitude, name the axes and whose data it is."""
    assert graph.lon is not None
    assert graph.lat is not None
    axes.plot(
        graph.lon[source],
        graph.lat[source],
        marker="*",
        markersize=13,
        color="black",
        markeredgecolor="white",
    )
    axes.autoscale_view()
    axes.set_aspect(1 / np.cos(np.radians(graph.lat.mean())))
    axes.set(xlabel="Longitude [° east]", ylabel="Latitude [° north]")
    axes.grid(visible=False)
    terms = [graph.metadata[key] for key in ("attribution", "license") if graph.metadata.get(key)]
    axes.text(
        0.995,
        0.01,
        ", ".join(terms),
        transform=axes.transAxes,
        ha="right",
        va="bottom",
        fontsize=7,
        color=GREY,
    )
