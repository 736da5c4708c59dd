"""Properties of graphs: outline, arc weights, degrees, and the sizes of flow graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relaxometer.graphs.batch import SIZE_LIMITS
from relaxometer.graphs.degrees import WARP, Counts
from relaxometer.graphs.files import read_columns, with_texts
from relaxometer.graphs.graph import weight_column
from relaxometer.graphs.lengths import deviation_of, mean_weight
from relaxometer.report.catalogue import Exhibit, Inputs, View, metadata, table_view
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import look
from relaxometer.report.figures.names import plain
from relaxometer.results.contexts import data_lines
from relaxometer.results.samples import share_at_or_under

MAX_BARS = 16  # larger degrees are drawn as a curve on logarithmic axes, not as bars
COLOURS = (look("conventional").colour, look("selection").colour)  # colours of outgoing and of incoming arcs
LIMIT_NAMES = dict(zip(SIZE_LIMITS, ("a warp", "a 64-bit word", "a block of threads"), strict=True))

TABLE_1 = {
    "vertices": ("Vertices", 1_427_876, "{:.0f}"),
    "arcs": ("Arcs", 4_584_822, "{:.0f}"),
    "mean_degree": ("Mean degree", 3.2, "{:.1f}"),
    "mean_weight": ("Mean weight", 83_666, "{:.0f}"),
    "sd_weight": ("Standard deviation of weights", 184_384, "{:.0f}"),
}
"""Key in ``graph.json``: its name in table 1 of Suzuki et al., its value there, and its format."""

LEAST_SHOWN = 1e-4  # share of the lightest arcs that the figure of arc weights leaves out
CURVE_POINTS = 400


def table_1(graphs: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return table 1 of Suzuki et al., with one more column for each graph."""
    table = pd.DataFrame({"": [label for label, _, _ in TABLE_1.values()]})
    table["Suzuki et al."] = [form.format(value) for _, value, form in TABLE_1.values()]
    for graph in graphs:
        forms = {key: form for key, (_, _, form) in TABLE_1.items()}
        if graph.get("weight_type") in ("float32", "float64"):
            forms |= dict.fromkeys(("mean_weight", "sd_weight"), "{:.4g}")
        table[graph["name"]] = [form.format(graph[key]) for key, form in forms.items()]
    table.loc[len(table)] = ["Unit of weights", "", *(graph.get("weight_unit", "") for graph in graphs)]
    table.loc[len(table)] = ["Type of weights", "", *map(types_of, graphs)]
    return table


def types_of(graph: Mapping[str, Any]) -> str:
    """Return the type of a graph's weights, and that of distances if it is another.

    Nothing for a ``graph.json`` of a version without types.
    """
    weights = graph.get("weight_type", "")
    distances = graph.get("distance_type", weights)
    return str(weights) if distances == weights else f"{weights}, distances {distances}"


def arc_weights(weights: npt.NDArray[Any], graph: dict[str, Any]) -> style.Figure:
    """Draw figure 3 of Suzuki et al., the distribution of arc weights; `graph` is its ``graph.json``."""
    weights = weights.astype(np.float64)
    at = _weights_shown(weights)
    figure, axes = style.new_figure(3.6)
    axes.plot(at, share_at_or_under(weights, at), color=look("conventional").colour, drawstyle="steps-post")
    median, mean = float(np.median(weights)), mean_weight(weights)
    _mark_at(axes, median, "median", height=0.1, left=median < mean)
    _mark_at(axes, mean, "mean", height=0.25, left=mean < median)
    axes.set(ylim=(0, 1.01), xlabel=style.with_unit("Arc weight", style.weight_unit(graph)))
    if at[0] > 0:
        axes.set_xscale("log")
        style.plain_log(axes.xaxis)
    style.label_percent(axes.yaxis)
    axes.set_ylabel("Cumulative share of the arcs")
    spread = deviation_of(weights) / mean if mean > 0 else 0
    finding = f"standard deviation {spread:.1f} times the mean (Suzuki et al.: 2.2 times)"
    if at[0] <= 0:
        finding = f"{percent((weights < 0).mean())} of them have a negative weight"
    title = f"Figure 3: distribution of arc weights, {graph['name']}"
    return style.entitle(figure, title, f"{len(weights):,} arcs; {finding}")


def _weights_shown(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the places of the curve: at equal ratios, or at equal steps if weights are negative."""
    low, high = np.quantile(weights, [LEAST_SHOWN, 1]) if len(weights) else (1, 10)
    if weights.min(initial=0) < 0:
        return np.linspace(low, high, CURVE_POINTS)
    fractions = weights[(weights > 0) & (weights < 1)]
    low = max(low, fractions.min(initial=1))
    return np.geomspace(low, max(high, 10 * low), CURVE_POINTS)


def _mark_at(axes: style.Axes, value: float, name: str, *, height: float, left: bool) -> None:
    """Draw a vertical line at a value, with its name at a height; on the left if `left`."""
    axes.axvline(value, **style.DASHED)
    side = {"ha": "right" if left else "left", "color": style.GREY, "fontsize": 8.5, "bbox": style.BOX}
    shown = f"{value:,.0f}" if abs(value) >= 100 or value.is_integer() else f"{value:.3g}"
    style.annotate(axes, f"{name} {shown}", (value, height), (-4 if left else 4, 0), **side)


def degrees(description: Mapping[str, Any]) -> style.Figure:
    """Draw the distribution of degrees from :func:`relaxometer.graphs.describe.describe_graph`."""
    title = f"Distribution of degrees, {description['name']}"
    if not description["vertices"]:
        return style.empty_figure(title, "The graph has no vertices.")
    directed = "in_degrees" in description
    shown = {"arcs out" if directed else "arcs": description["degrees"]}
    shown |= {"arcs in": description["in_degrees"]} if directed else {}
    figure, axes = style.new_figure(3.8)
    if max(max(found["value"]) for found in shown.values()) <= MAX_BARS:
        _draw_bars(axes, shown)
    else:
        draw_tails(axes, shown)
    axes.set_ylabel("Share of the vertices")
    axes.set_xlabel("Degree" if directed else "Degree (arcs out of a vertex; as many lead into it)")
    finding = _degree_finding(description)
    if description["max_degree"] > WARP:
        share, arcs = description["share_above"][str(WARP)], description["arc_share_above"][str(WARP)]
        finding += f"\n{percent(share)} of the vertices have more than {WARP} arcs, "
        finding += f"and {percent(arcs)} of all arcs"
    return style.entitle(figure, title, finding)


def _draw_bars(axes: style.Axes, shown: Mapping[str, Counts]) -> None:
    """Draw the share of the vertices of each degree as bars, numbered if there is one series."""
    width = 0.8 / len(shown)
    for number, ((label, found), colour) in enumerate(zip(shown.items(), COLOURS, strict=False)):
        shares = _shares(found)
        at = np.array(found["value"]) + (number - (len(shown) - 1) / 2) * width
        bars = axes.bar(at, shares, width, color=colour, label=label)
        if len(shown) == 1:
            axes.bar_label(bars, [percent(share) for share in shares], fontsize=7.5, padding=2)
    occurring = [value for found in shown.values() for value in found["value"]]
    axes.set_xticks(range(min(occurring), max(occurring) + 1))
    style.label_percent(axes.yaxis, decimals=0)
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.1)
    if len(shown) > 1:
        style.legend_above(axes, len(shown))


def draw_tails(axes: style.Axes, shown: Mapping[str, Counts]) -> None:
    """Draw the share of the vertices of each degree as dots, and of those of a higher one as a line."""
    for (label, found), colour in zip(shown.items(), COLOURS, strict=False):
        value, shares = np.array(found["value"]), _shares(found)
        some, more = value > 0, 1 - np.cumsum(shares)
        dots: Any = {"linestyle": "none", "marker": ".", "markersize": 3, "alpha": 0.5, "color": colour}
        dots |= {"rasterized": len(value) > 2000, "label": f"exactly this many {label}"}
        axes.plot(value[some], shares[some], **dots)
        line: Any = {"color": colour, "linewidth": 1.6, "drawstyle": "steps-post", "label": f"more {label}"}
        axes.plot(value[some][:-1], more[some][:-1], **line)
    axes.set(xscale="log", yscale="log")
    axes.axvline(WARP, **style.DASHED, label=f"{WARP} (a warp)")
    style.plain_log(axes.xaxis, axes.yaxis)
    axes.yaxis.set_major_formatter(lambda share, _: f"{plain(100 * share)}%")
    style.legend_above(axes, 3)


def _shares(found: Counts) -> npt.NDArray[np.float64]:
    return np.array(found["count"]) / sum(found["count"])


def percent(share: float) -> str:
    """Format a share in percent, with two digits below ten."""
    return f"{share:.0%}" if share >= 0.095 else f"{100 * share:.2g}%"


def _degree_finding(description: Mapping[str, Any]) -> str:
    """Give the number of vertices, and their mean and largest degree."""
    degrees = description["degrees"]
    without = degrees["count"][0] / description["vertices"] if degrees["value"][0] == 0 else 0
    none = f"; {percent(without)} have no outgoing arc" if without else ""
    largest = f"{description['max_degree']:,}"
    if "in_degrees" in description:
        largest += f" out and {description['in_degrees']['value'][-1]:,} in"
    return (
        f"{description['vertices']:,} vertices; mean degree {description['mean_degree']:.1f}, "
        f"largest {largest}{none}"
    )


def batch_sizes(description: Mapping[str, Any]) -> style.Figure:
    """Draw the distributions of sizes and degrees from :func:`relaxometer.graphs.describe.describe_batch`."""
    title = f"Sizes of flow graphs and degrees of their blocks, {description['name']}"
    if not description["graphs"]:
        return style.empty_figure(title, "The batch has no graphs.")
    figure, (left, right) = style.new_figure(3.8, 2, width_ratios=(1.25, 1))
    _draw_sizes(left, description)
    _draw_few_degrees(right, description)
    sizes = description["sizes"]
    finding = (
        f"{description['graphs']:,} graphs with {sizes['min']:,} to {sizes['max']:,} blocks, half of them "
        f"with at most {sizes['quantiles']['0.5']:,}; {description['arcs_per_vertex']:.2f} edges per block"
    )
    return style.entitle(figure, title, finding)


def _draw_sizes(axes: style.Axes, description: Mapping[str, Any]) -> None:
    """Draw the cumulative share of graphs by size, and of the blocks in them."""
    found = description["size_counts"]
    size, graphs = np.array(found["value"]), _shares(found)
    blocks = size * graphs / (size @ graphs)
    axes.plot(size, np.cumsum(graphs), color=COLOURS[0], drawstyle="steps-post", label="graphs")
    dashes: Any = {"color": COLOURS[1], "linestyle": (0, (5, 1.5)), "drawstyle": "steps-post"}
    axes.plot(size, np.cumsum(blocks), label="blocks in these graphs", **dashes)
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="Blocks in a graph", ylabel="Cumulative share")
    for limit, name in LIMIT_NAMES.items():
        share = description["sizes"]["share_at_most"][str(limit)]
        axes.axvline(limit, color=style.FAINT, linewidth=0.9, zorder=0)
        text = f"{limit:,}, {name}: {100 * share:.3g}%"
        options = {"rotation": 90, "ha": "right", "va": "bottom", "color": style.GREY, "fontsize": 7.5}
        style.annotate(axes, text, (limit, 0.03), (-2, 0), **options)
    style.plain_log(axes.xaxis)
    style.label_percent(axes.yaxis)
    style.legend_above(axes, 2)


def _draw_few_degrees(axes: style.Axes, description: Mapping[str, Any]) -> None:
    """Draw the share of the blocks by outgoing and incoming edges as bars."""
    names = ["0", "1", "2", "3", "4 or more"]
    for number, (label, key) in enumerate((("outgoing", "degree_counts"), ("incoming", "in_degree_counts"))):
        found = description[key]
        shares = np.bincount(np.minimum(found["value"], 4), _shares(found), minlength=5)
        at = np.arange(5) + (number - 0.5) * 0.4
        bars = axes.bar(at, shares, 0.4, color=COLOURS[number], label=label)
        axes.bar_label(bars, [f"{share:.0%}" if share else "" for share in shares], fontsize=7, padding=2)
    axes.set_xticks(range(5), names)
    axes.set(xlabel="Edges of a block", ylabel="Share of the blocks")
    style.label_percent(axes.yaxis)
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.1)
    style.legend_above(axes, 2)


def _draw_weights(inputs: Inputs) -> style.Figure:
    (arcs,), (description,), (graph,) = *map(inputs.files, ("arcs", "graphs")), inputs.contents("graphs")
    columns = read_columns(arcs, weight_column(graph, description), description, graph["arcs"])
    return arc_weights(columns["weight"], graph)


def _draw_outline(inputs: Inputs) -> dict[str, pd.DataFrame]:
    texts = inputs.params["texts"]
    graphs = [with_texts(graph, texts[graph["name"]]) for graph in inputs.contents("graphs")]
    return {"table-1": table_1(graphs), "data": data_lines(graphs)}


EXHIBITS = (
    Exhibit(
        "graphs",
        _draw_outline,
        (table_view("table-1", "Graphs", "table 1", "outline of the graphs"), View("data", suffix="csv")),
        lambda plan, _: {"graphs": metadata(plan.graphs)},
        wanted=lambda plan: plan.graphs,
        params=lambda plan, _: {"texts": {graph: plan.datasets[graph].texts for graph in plan.graphs}},
    ),
    Exhibit(
        "arc-weights",
        _draw_weights,
        (View("arc-weights", "Graphs", "figure 3", "arc weights"),),
        lambda _, graph: {"arcs": f"results/graphs/{graph}/arcs.parquet", "graphs": metadata([graph])},
        wanted=lambda plan: plan.graphs,
        per_graph=True,
    ),
)
