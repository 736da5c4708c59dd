"""Road maps coloured by distance from a vertex, by weight or in arcs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.core.files import read_table
from relaxometer.graphs.files import with_texts
from relaxometer.graphs.graph import Graph, read_graph
from relaxometer.graphs.lengths import unreached
from relaxometer.report.catalogue import TIMINGS, Exhibit, Files, Inputs, View
from relaxometer.report.figures import style
from relaxometer.report.targets import runs_of
from relaxometer.results.samples import failed_variants

if TYPE_CHECKING:
    from relaxometer.plan.plan import Plan

BANDS = 10
MAX_LINES = 100_000  # larger maps are drawn as an image in seconds; as lines they would take minutes
PIXELS = 1800  # longer side of that image, about twice that of the figure
NO_ANSWER = {"distance": np.empty(0, dtype=np.uint32), "predecessor": np.empty(0, dtype=np.uint32)}

READABLE_UNITS = {
    "ms": (1 / 60_000, "min"),
    "s": (1 / 60, "min"),
    "m": (1e-3, "km"),
    "metres": (1e-3, "km"),
    "0.1 m": (1e-4, "km"),
}
"""By unit of the weights: factor to the unit of the map's legend, and that unit."""


def distance_map(graph: Graph, answer: Mapping[str, npt.NDArray[Any]]) -> style.Figure:
    """Draw every road in the colour of its distance from the source.

    `answer` has ``distance`` and ``predecessor`` of one search; empty arrays if none was proven. UserError if
    the graph has no coordinates.
    """
    if graph.lon is None or graph.lat is None:
        raise UserError(f"graph {graph.name} has no coordinates; take it out of report.maps")
    title = f"Shortest-path distance of each road from one source, {graph.name}"
    distance, predecessor = answer["distance"], answer["predecessor"]
    if not len(distance):
        return style.empty_figure(title, "No search on this graph was proven correct.")
    source = int(np.flatnonzero(predecessor == np.arange(len(predecessor)))[0])
    factor, unit = readable_unit(graph)
    known = distance != unreached(distance.dtype)
    label = style.with_unit("Distance from the source", unit)
    figure = _map(graph, distance * factor, known, label, [source])
    furthest = f"{distance[known].max() * factor:,.0f} {unit}".rstrip()
    return style.entitle(figure, title, f"Source vertex {source}; the furthest vertex is {furthest} away")


def hop_map(graph: Graph, hops: npt.NDArray[np.int32], diameter: Mapping[str, Any]) -> style.Figure:
    """Draw every road in the colour of its distance in arcs from one end of a long shortest path.

    `hops` has the arcs on a shortest path from each vertex to that end, -1 without one; `diameter` is from
    :func:`relaxometer.graphs.describe.hop_diameter`.
    """
    label = "Distance from the black star [arcs]"
    figure = _map(graph, hops.astype(float), hops >= 0, label, diameter["ends"])
    finding = (
        f"The stars are {diameter['low']:,} arcs apart; no two vertices of the largest component are more "
        f"than {diameter['high']:,} apart"
    )
    return style.entitle(figure, f"Distance of each road in arcs from the black star, {graph.name}", finding)


def _map(
    graph: Graph,
    values: npt.NDArray[np.float64],
    known: npt.NDArray[np.bool_],
    label: str,
    marks: Sequence[int],
) -> style.Figure:
    """Draw every road in the mean value of its ends, grey if one is unknown, and mark vertices."""
    import matplotlib as mpl
    from matplotlib.colors import BoundaryNorm, ListedColormap

    assert graph.lon is not None
    assert graph.lat is not None
    positions = np.column_stack([graph.lon, graph.lat])
    parallel = float(np.cos(np.radians(graph.lat.mean())))
    tails, heads = roads(graph)
    coloured = known[tails] & known[heads]
    ratio = np.ptp(graph.lat) / max(np.ptp(graph.lon) * parallel, 1e-9)
    figure, axes = style.new_figure(float(np.clip(5.4 * ratio + 1.2, 3.5, 9)))  # the map fills its width
    # Lines of a denser map are thinner, so that they do not merge.
    width = float(np.clip(120 / np.sqrt(graph.n_arcs), 0.1, 1.0))
    _draw_roads(axes, positions, tails[~coloured], heads[~coloured], width=width, color="0.75")
    tails, heads = tails[coloured], heads[coloured]
    means = (values[tails] + values[heads]) / 2
    limits = band_limits(means)
    # Without the palest yellow, which is invisible on white.
    colours = ListedColormap(mpl.colormaps["viridis_r"](np.linspace(0.06, 1, 256)))
    norm = BoundaryNorm(limits, colours.N)
    if not np.allclose(np.diff(limits), limits[1] - limits[0]):
        label += "; unequal steps"
    look = {"array": means, "cmap": colours, "norm": norm}
    drawn = _draw_roads(axes, positions, tails, heads, width=width, **look)
    shown: Any = {"format": lambda value, _: f"{value:,.0f}" if value >= 10 else f"{value:.2g}"}
    figure.colorbar(drawn, ax=axes, label=label, ticks=norm.boundaries, shrink=0.8, pad=0.02, **shown)
    for mark, inside, edge in zip(marks, ("black", "white"), ("white", "black"), strict=False):
        axes.plot(*positions[mark], marker="*", markersize=13, color=inside, markeredgecolor=edge)
    axes.use_sticky_edges = False
    axes.autoscale_view()
    axes.set_aspect(1 / parallel)
    axes.set(xlabel="Longitude [° east]", ylabel="Latitude [° north]")
    axes.grid(visible=False)
    terms = [graph.metadata[key] for key in ("attribution", "license") if graph.metadata.get(key)]
    options: Any = {"ha": "right", "va": "bottom", "fontsize": 7, "color": style.GREY}
    axes.text(0.995, 0.01, ", ".join(terms), transform=axes.transAxes, **options)
    return figure


def readable_unit(graph: Graph) -> tuple[float, str]:
    """Return the factor from the graph's weights to the unit of its map, and that unit."""
    unit = style.weight_unit(graph.metadata)
    return READABLE_UNITS.get(unit, (1.0, unit))


def roads(graph: Graph) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Return both ends of every road, which a pair of opposite arcs shares."""
    tails, heads = graph.tails, graph.targets
    if graph.metadata.get("directed", True):
        pairs = np.minimum(tails, heads).astype(np.uint64) << np.uint64(32) | np.maximum(tails, heads)
        stay = np.unique(pairs, return_index=True)[1]
    else:
        stay = np.flatnonzero(tails <= heads)
    return tails[stay], heads[stay]


def _draw_roads(
    axes: style.Axes,
    positions: npt.NDArray[np.float64],
    tails: npt.NDArray[Any],
    heads: npt.NDArray[Any],
    *,
    width: float,
    **look: Any,
) -> Any:
    if len(tails) > MAX_LINES:
        return _draw_pixels(axes, positions, tails, heads, **look)
    from matplotlib.collections import LineCollection

    segments = np.stack([positions[tails], positions[heads]], axis=1)
    return axes.add_collection(LineCollection(list(segments), linewidths=width, **look))


def _draw_pixels(
    axes: style.Axes,
    positions: npt.NDArray[np.float64],
    tails: npt.NDArray[Any],
    heads: npt.NDArray[Any],
    *,
    array: npt.NDArray[np.float64] | None = None,
    color: str = "",
    cmap: Any = None,
    norm: Any = None,
) -> Any:
    """Draw roads as an image on a transparent ground."""
    # Imported late: both load slowly, and Snakemake imports this module for its records.
    from matplotlib.colors import ListedColormap

    from relaxometer.report.pixels import fill_pixels

    (west, south), (east, north) = positions.min(axis=0), positions.max(axis=0)
    parallel = np.cos(np.radians((south + north) / 2))
    pixel = max((east - west) * parallel, north - south, 1e-9) / (PIXELS - 1)
    per_pixel = np.array([pixel / parallel, pixel])
    columns, rows = np.ceil([east - west, north - south] / per_pixel).astype(int) + 1
    image = np.full((rows, columns), np.nan)
    values = np.zeros(len(tails)) if array is None else array
    fill_pixels((positions - [west, south]) / per_pixel, tails, heads, values, image)
    return axes.imshow(
        image,
        cmap=ListedColormap([color]) if array is None else cmap,
        norm=norm,
        origin="lower",
        extent=(west, west + columns * per_pixel[0], south, south + rows * per_pixel[1]),
        interpolation="antialiased",
        interpolation_stage="rgba",
    )


def band_limits(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the limits between the colours of a map.

    They are round numbers at equal steps, unless these would give more than half of the roads two
    neighbouring colours, as a few far vertices do; then about equally many roads lie between two limits.
    """
    from matplotlib.ticker import MaxNLocator

    furthest = max(float(values.max(initial=0)), 1e-9)
    equal = np.asarray(MaxNLocator(BANDS).tick_values(0, furthest))
    in_bands = np.histogram(values, equal)[0]
    if (in_bands[1:] + in_bands[:-1]).max(initial=0) <= len(values) / 2:
        return equal
    quantiles = np.quantile(values, np.linspace(0, 1, BANDS + 1)[1:-1])
    rounded = [float(f"{value:.3g}" if value >= 100 else f"{value:.2g}") for value in quantiles]
    return np.unique([0, *(value for value in rounded if value < furthest), equal[-1]])


def _draw(inputs: Inputs) -> style.Figure:
    """Draw the answer of the first variant that was proven correct."""
    failed = set(failed_variants(inputs.timings).itertuples(index=False, name=None))
    files = inputs.files("answers")
    proven = [file for file in files if ("sssp", inputs.graph, file.parent.name) not in failed]
    tables = map(read_table, proven)
    answers = ({name: table[name].to_numpy() for name in NO_ANSWER} for table in tables if len(table))
    graph = read_graph(inputs.files("graph")[0].parent)
    graph = replace(graph, metadata=with_texts(graph.metadata, inputs.params["texts"]))
    return distance_map(graph, next(answers, NO_ANSWER))


def _files(plan: Plan, graph: str) -> Files:
    answers = [f"{run.folder()}/answer.parquet" for run in runs_of(plan, "sssp", graph)]
    parts = ("vertices.parquet", "arcs.parquet", "graph.json")
    files = [f"results/graphs/{graph}/{part}" for part in parts]
    return {"graph": files, "timings": TIMINGS, "answers": answers}


EXHIBITS = (
    Exhibit(
        "map",
        _draw,
        (View("map", "Graphs", "map", "distance from one source", suffix="png"),),
        _files,
        wanted=lambda plan: plan.config.report.maps,
        per_graph=True,
        params=lambda plan, graph: {"texts": plan.datasets[graph].texts},
    ),
)
