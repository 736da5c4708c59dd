"""What graphs are like: degrees, and the sizes of flow graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter, StrMethodFormatter

from relaxometer.graphs.batch import SIZE_LIMITS
from relaxometer.graphs.describe import WARP, Counts
from relaxometer.report.figures.style import (
    FAINT,
    GREY,
    empty_figure,
    entitle,
    legend_above,
    look,
    new_figure,
)

MOST_BARS = 16
"""Up to this degree, a bar for each; beyond, a curve on logarithmic axes."""

COLOURS = (look("conventional").colour, look("selection").colour)
"""Of what leaves a vertex, and of what enters it."""

LIMIT_NAMES = dict(zip(SIZE_LIMITS, ("a warp", "a 64-bit word", "a block of threads"), strict=True))


def degrees(description: Mapping[str, Any]) -> Figure:
    """Draw how the degrees of a graph are distributed.

    Parameters
    ----------
    description : mapping
        As :func:`relaxometer.graphs.describe.describe_graph` makes it.
    """
    title = f"Degrees, {description['name']}"
    if not description["vertices"]:
        return empty_figure(title, "The graph has no vertices.")
    directed = "in_degrees" in description
    shown = {"arcs out" if directed else "arcs": description["degrees"]}
    shown |= {"arcs in": description["in_degrees"]} if directed else {}
    figure, axes = new_figure(3.8)
    if max(max(found["value"]) for found in shown.values()) <= MOST_BARS:
        _draw_bars(axes, shown)
    else:
        _draw_tails(axes, shown)
    axes.set_ylabel("Share of the vertices")
    axes.set_xlabel("Degree" if directed else "Degree (arcs out of a vertex, as many as into it)")
    lines = [_degree_finding(description)]
    if description["max_degree"] > WARP:
        lines.append(_warp_finding(description))
    entitle(figure, title, "\n".join(lines))
    return figure


def _draw_bars(axes: Axes, shown: Mapping[str, Counts]) -> None:
    """Draw the share of the vertices that have each degree as bars, with numbers where there is room."""
    width = 0.8 / len(shown)
    for number, ((label, found), colour) in enumerate(zip(shown.items(), COLOURS, strict=False)):
        shares = _shares(found)
        at = np.array(found["value"]) + (number - (len(shown) - 1) / 2) * width
        bars = axes.bar(at, shares, width, color=colour, label=label)
        if len(shown) == 1:
            axes.bar_label(bars, [percent(share) for share in shares], fontsize=7.5, padding=2)
    occurring = [value for found in shown.values() for value in found["value"]]
    axes.set_xticks(range(min(occurring), max(occurring) + 1))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.1)
    if len(shown) > 1:
        legend_above(axes, len(shown))


def _draw_tails(axes: Axes, shown: Mapping[str, Counts]) -> None:
    """Draw the share of the vertices that have each degree as dots, and of those that have more as a line."""
    for (label, found), colour in zip(shown.items(), COLOURS, strict=False):
        value, shares = np.array(found["value"]), _shares(found)
        some = value > 0
        axes.plot(
            value[some],
            shares[some],
            linestyle="none",
            marker=".",
            markersize=3,
            alpha=0.5,
            color=colour,
            label=f"have so many {label}",
            rasterized=len(value) > 2000,
        )
        more = 1 - np.cumsum(shares)
        axes.plot(
            value[some][:-1],
            more[some][:-1],
            color=colour,
            linewidth=1.6,
            drawstyle="steps-post",
            label=f"have more {label}",
        )
    axes.set(xscale="log", yscale="log")
    axes.axvline(WARP, color=GREY, linewidth=0.9, linestyle=(0, (3, 2)), label=f"{WARP}, a warp")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g}%"))
    legend_above(axes, 3)


def _shares(found: Counts) -> npt.NDArray[np.float64]:
    count = np.array(found["count"], dtype=float)
    return count / count.sum()


def percent(share: float) -> str:
    """Return a share in percent, with two digits below ten."""
    return f"{share:.0%}" if share >= 0.095 else f"{100 * share:.2g}%"


def _degree_finding(description: Mapping[str, Any]) -> str:
    """Say how many vertices there are, and how many arcs they have."""
    degrees = description["degrees"]
    without = degrees["count"][0] / description["vertices"] if degrees["value"][0] == 0 else 0
    none = f"; {percent(without)} have no arc out" if without else ""
    largest = f"{description['max_degree']:,}"
    if "in_degrees" in description:
        largest += f" out and {description['in_degrees']['value'][-1]:,} in"
    return (
        f"{description['vertices']:,} vertices; mean degree {description['mean_degree']:.1f}, "
        f"largest {largest}{none}"
    )


def _warp_finding(description: Mapping[str, Any]) -> str:
    """Say what share the vertices have for which hybrid-bfs has a kernel of its own."""
    share, arcs = description["share_above"][str(WARP)], description["arc_share_above"][str(WARP)]
    return f"{percent(share)} of the vertices have more than {WARP} arcs, and {percent(arcs)} of all arcs"


def batch_sizes(description: Mapping[str, Any]) -> Figure:
    """Draw how the sizes of a batch's graphs, and the degrees of their vertices, are distributed.

    Parameters
    ----------
    description : mapping
        As :func:`relaxometer.graphs.describe.describe_batch` makes it.
    """
    title = f"Sizes and degrees, {description['name']}"
    if not description["graphs"]:
        return empty_figure(title, "The batch has no graphs.")
    figure, (left, right) = new_figure(3.8, 2, width_ratios=(1.25, 1))
    _draw_sizes(left, description)
    _draw_few_degrees(right, description)
    sizes = description["sizes"]
    finding = (
        f"{description['graphs']:,} graphs with {sizes['min']:,} to {sizes['max']:,} blocks, half of them "
        f"with at most {sizes['quantiles']['0.5']:,}; {description['arcs_per_vertex']:.2f} edges a block"
    )
    entitle(figure, title, finding)
    return figure


def _draw_sizes(axes: Axes, description: Mapping[str, Any]) -> None:
    """Draw the share of the graphs up to each size, of all graphs and of all blocks."""
    found = description["size_counts"]
    size, graphs = np.array(found["value"]), _shares(found)
    blocks = size * graphs / (size @ graphs)
    axes.plot(size, np.cumsum(graphs), color=COLOURS[0], drawstyle="steps-post", label="graphs")
    axes.plot(
        size,
        np.cumsum(blocks),
        color=COLOURS[1],
        linestyle=(0, (5, 1.5)),
        drawstyle="steps-post",
        label="blocks in these",
    )
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="Blocks in a graph", ylabel="Share at or under")
    for limit, name in LIMIT_NAMES.items():
        share = description["sizes"]["share_at_most"][str(limit)]
        axes.axvline(limit, color=FAINT, linewidth=0.9, zorder=0)
        axes.annotate(
            f"{limit:,}, {name}: {100 * share:.3g}%",
            (limit, 0.03),
            xytext=(-2, 0),
            textcoords="offset points",
            rotation=90,
            ha="right",
            va="bottom",
            color=GREY,
            fontsize=7.5,
        )
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    legend_above(axes, 2)


def _draw_few_degrees(axes: Axes, description: Mapping[str, Any]) -> None:
    """Draw bars of the share of the blocks that have 0, 1, 2 and more edges out and in."""
    names = ["0", "1", "2", "3", "4 or more"]
    for number, (label, key) in enumerate((("edges out", "degree_counts"), ("edges in", "in_degree_counts"))):
        found = description[key]
        shares = np.bincount(np.minimum(found["value"], 4), _shares(found), minlength=5)
        at = np.arange(5) + (number - 0.5) * 0.4
        bars = axes.bar(at, shares, 0.4, color=COLOURS[number], label=label)
        axes.bar_label(bars, [f"{share:.0%}" if share else "" for share in shares], fontsize=7, padding=2)
    axes.set_xticks(range(5), names)
    axes.set(xlabel="Edges of a block", ylabel="Share of the blocks")
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.1)
    legend_above(axes, 2)
