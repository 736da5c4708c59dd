"""Table 1 and figures 3 to 8 of Suzuki, Kan, Hayashi and Yoshikawa.

References
----------
"Accelerating SSSP Algorithm on GPU with Adaptive Thread Creation".
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter, StrMethodFormatter

from relaxometer.report.figures.style import (
    FAINT,
    GREY,
    empty_figure,
    emulated_note,
    entitle,
    legend_above,
    look,
    new_figure,
)
from relaxometer.results.samples import (
    EMULATED,
    gaining_band,
    in_words,
    on_one_clock,
    paired,
    share_at_or_under,
    source_times,
    updated_counts,
)
from relaxometer.results.statistics import is_faster

TABLE_1 = {
    "vertices": ("Vertices", 1_427_876, "{:.0f}"),
    "arcs": ("Arcs", 4_584_822, "{:.0f}"),
    "mean_degree": ("Mean degree", 3.2, "{:.1f}"),
    "mean_weight": ("Mean weight", 83_666, "{:.0f}"),
    "sd_weight": ("Standard deviation of weights", 184_384, "{:.0f}"),
}
"""Key in ``graph.json``: what the source calls it, its value there, how it is written."""

FEW_UPDATED = 10_000
"""The source calls phases with at most so many updated vertices small."""

SOURCES_SHOWN = 5
LEAST_SHOWN = 1e-4
"""Share of the lightest arcs that figure 3 leaves out on its left."""

CURVE_POINTS = 400
NOTHING_PROVEN = "No run of conventional, selection or adaptive on this graph was proven right and finished."


def table_1(graphs: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return the source's outline of its map beside that of each graph.

    Parameters
    ----------
    graphs : sequence of dict
        Contents of ``graph.json``.
    """
    table = pd.DataFrame({"": [label for label, _, _ in TABLE_1.values()]})
    table["Suzuki et al."] = [form.format(value) for _, value, form in TABLE_1.values()]
    for graph in graphs:
        table[graph["name"]] = [form.format(graph[key]) for key, (_, _, form) in TABLE_1.items()]
    units = ["", *(graph.get("weight_unit", "") for graph in graphs)]
    table.loc[len(table)] = ["Unit of weights", *units]
    return table


def arc_weights(weights: npt.NDArray[Any], graph: dict[str, Any]) -> Figure:
    """Draw figure 3, the cumulative distribution of arc weights.

    Parameters
    ----------
    weights : ndarray of shape (n_arcs,), integers
    graph : dict
        Content of ``graph.json``.
    """
    low, high = np.quantile(weights, [LEAST_SHOWN, 1]) if len(weights) else (1, 10)
    at = np.geomspace(max(low, 1), max(high, 10), CURVE_POINTS)
    figure, axes = new_figure(3.6)
    axes.plot(at, share_at_or_under(weights, at), color=look("conventional").colour, drawstyle="steps-post")
    _mark_at(axes, float(np.median(weights)), "median", height=0.1)
    _mark_at(axes, float(weights.mean()), "mean", height=0.25)
    axes.set(xscale="log", ylim=(0, 1.01), xlabel=f"Arc weight [{graph.get('weight_unit', 'no unit')}]")
    _share_axis(axes, "Share of arcs at or under")
    spread = weights.std() / weights.mean() if weights.any() else 0
    finding = (
        f"{len(weights):,} arcs; standard deviation {spread:.1f} times the mean (in the source: 2.2 times)"
    )
    entitle(figure, f"Figure 3: arc weights, {graph['name']}", finding)
    return figure


def _mark_at(axes: Axes, value: float, name: str, *, height: float) -> None:
    """Draw a line at a value, named on its right at a height."""
    axes.axvline(value, color=GREY, linewidth=0.9, linestyle=(0, (3, 2)))
    axes.annotate(
        f"{name} {value:,.0f}",
        (value, height),
        xytext=(4, 0),
        textcoords="offset points",
        color=GREY,
        fontsize=8.5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
    )


def updated_per_phase(phases: pd.DataFrame, graph: str) -> Figure:
    """Draw figure 4, the updated vertices of each phase for five sources.

    Parameters
    ----------
    phases : DataFrame
        The gathered phases of the proven phase-synchronous variants on `graph`.
    graph : str
    """
    title = f"Figure 4: updated vertices per phase, {graph}"
    counts = updated_counts(phases)
    if counts.empty:
        return empty_figure(title, NOTHING_PROVEN)
    figure, axes = new_figure(3.8)
    colours = sns.color_palette("colorblind", SOURCES_SHOWN)
    shown = counts["source"].unique()[:SOURCES_SHOWN]
    for letter, source, colour in zip(string.ascii_uppercase, shown, colours, strict=False):
        of_source = counts[counts["source"] == source]
        label = f"{letter} (vertex {source})"
        axes.plot(of_source["phase"], of_source["updated"], color=colour, linewidth=1.1, label=label)
    axes.set(xlabel="Phase", ylabel="Updated vertices", ylim=(0, None), xlim=(0, None))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.legend(title="Source")
    lengths = counts.groupby("source")["phase"].max()
    finding = (
        f"{_range(lengths.min(), lengths.max())} phases over {len(lengths):,} sources, "
        f"{lengths.mean():,.0f} on average (in the source: about 230)"
    )
    entitle(figure, title, finding)
    return figure


def updated_distribution(phases: pd.DataFrame, graph: str) -> Figure:
    """Draw figure 5, the cumulative distribution of updated vertices over all phases of all sources.

    Parameters
    ----------
    phases : DataFrame
        As for :func:`updated_per_phase`.
    graph : str
    """
    title = f"Figure 5: updated vertices over all phases, {graph}"
    counts = updated_counts(phases)
    if counts.empty:
        return empty_figure(title, NOTHING_PROVEN)
    updated = counts["updated"].to_numpy()
    peak = int(updated.max())
    at = np.geomspace(1, max(peak, 10), CURVE_POINTS)
    figure, axes = new_figure(3.6)
    colour = look("conventional").colour
    axes.plot(at, share_at_or_under(updated, at), color=colour, drawstyle="steps-post")
    marks = {peak / 10: "a tenth of the peak"} | (
        {FEW_UPDATED: f"{FEW_UPDATED:,}"} if peak > FEW_UPDATED else {}
    )
    for limit, name in marks.items():
        share = float(share_at_or_under(updated, limit))
        axes.plot(limit, share, "o", color=colour)
        axes.annotate(
            f"{share:.0%} at or under {name}",
            (limit, share),
            xytext=(-8, 5),
            textcoords="offset points",
            ha="right",
            fontsize=8.5,
        )
    axes.set(xscale="log", ylim=(0, 1.03), xlabel="Updated vertices in a phase")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    _share_axis(axes, "Share of phases at or under")
    finding = (
        f"{len(updated):,} phases of {counts['source'].nunique():,} sources; peak {peak:,} "
        "(in the source: 59% at or under 10,000, peak over 500,000)"
    )
    entitle(figure, title, finding)
    return figure


def phase_times(phases: pd.DataFrame, graph: str) -> Figure:
    """Draw figure 6, the time of each phase of the variants for one source, over the updated vertices.

    Parameters
    ----------
    phases : DataFrame
        As for :func:`updated_per_phase`.
    graph : str
    """
    title = f"Figure 6: time of each phase, {graph}"
    if phases.empty:
        return empty_figure(title, NOTHING_PROVEN)
    source = phases["source"].iloc[0]
    of_source = on_one_clock(phases[phases["source"] == source])
    kind = of_source["device_kind"].iloc[0]
    figure, axes = new_figure(4.4)
    counts = _updated_behind(axes, updated_counts(of_source))
    for variant, rows in of_source.groupby("variant", sort=False):
        style = look(str(variant))
        axes.plot(
            rows["phase"],
            rows["time_ms"],
            color=style.colour,
            linestyle=style.dash,
            linewidth=1.3,
            label=variant,
        )
    switching = of_source[of_source["kernel"] == "adaptive"]
    marks = _mark_all_vertex_phases(axes, switching) if len(switching) else []
    axes.set(
        yscale="log", xlabel="Phase", ylabel=f"Time of the phase [ms{emulated_note(kind)}]", xlim=(0, None)
    )
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    handles = [*axes.get_legend_handles_labels()[0], counts, *marks]
    legend_above(axes, 4 if len(handles) == 4 else 3, handles)
    entitle(figure, title, _phase_finding(of_source, source, kind))
    return figure


def _updated_behind(axes: Axes, counts: pd.DataFrame) -> Patch:
    """Fill the updated vertices behind the lines, on an axis of their own at the right."""
    right = axes.twinx()
    right.fill_between(counts["phase"], counts["updated"], color=FAINT, linewidth=0, step="mid")
    right.set(ylabel="Updated vertices", ylim=(0, None))
    right.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    right.grid(visible=False)
    right.spines["right"].set_visible(True)
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    return Patch(color=FAINT, label="updated vertices (right)")


def _mark_all_vertex_phases(axes: Axes, rows: pd.DataFrame) -> list[Patch]:
    """Draw a band along the foot of the axes where the adaptive variant made threads for all vertices."""
    colour = look("adaptive").colour
    phases = rows.loc[rows["mode"] == "all", "phase"].to_numpy()
    if not len(phases):
        return []
    runs = np.split(phases, np.flatnonzero(np.diff(phases) > 1) + 1)
    for run in runs:
        axes.axvspan(run[0] - 0.5, run[-1] + 0.5, ymax=0.025, color=colour, linewidth=0)
    return [Patch(color=colour, label="adaptive runs all vertices")]


def _phase_finding(rows: pd.DataFrame, source: int, kind: str) -> str:
    """Say for which source, and in how many phases the adaptive variant ran all vertices."""
    parts = [f"Source vertex {source}, instrumented run"]
    adaptive = rows[rows["kernel"] == "adaptive"]
    if len(adaptive):
        of_all = int((adaptive["mode"] == "all").sum())
        parts.append(f"adaptive ran {of_all} of {len(adaptive)} phases over all vertices")
    if kind == EMULATED:
        parts.append("emulated device: these are no GPU times")
    return "; ".join(parts)


def mean_times(timings: pd.DataFrame, graphs: Sequence[dict[str, Any]]) -> Figure:
    """Draw figure 7, the mean time of a search on each graph.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches of the source's variants.
    graphs : sequence of dict
        Contents of ``graph.json``, of the graphs to show.
    """
    title = "Figure 7: mean time of a search"
    times = on_one_clock(source_times(timings))
    if times.empty:
        return empty_figure(title, NOTHING_PROVEN)
    kind = times["device_kind"].iloc[0]
    sizes = {graph["name"]: graph["vertices"] for graph in graphs if graph["name"] in set(times["graph"])}
    order = sorted(sizes, key=lambda name: sizes[name])
    variants = list(times["variant"].unique())
    figure, axes = new_figure(3.8 + 0.25 * (len(order) > 3))
    sns.barplot(
        times,
        x="graph",
        y="time_ms",
        hue="variant",
        order=order,
        hue_order=variants,
        palette={variant: look(variant).colour for variant in variants},
        saturation=1,
        errorbar=("ci", 95),
        seed=0,
        err_kws={"color": "0.1", "linewidth": 1},
        ax=axes,
    )
    _label_bars(axes)
    labels = [f"{name}\n{sizes[name]:,} vertices" for name in order]
    axes.set_xticks(range(len(order)), labels)
    axes.set(xlabel="", ylabel=f"Mean time over sources [ms{emulated_note(kind)}]")
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.12)
    legend_above(axes, len(variants))
    entitle(figure, title, "\n".join(_mean_time_findings(times, order, kind)))
    return figure


def _label_bars(axes: Axes) -> None:
    """Write the height of each bar over the end of its interval."""
    ends = [np.asarray(line.get_xydata(), dtype=float) for line in axes.lines]
    tops = [(float(points[:, 0].mean()), float(points[:, 1].max())) for points in ends]
    for bar in (bar for bars in axes.containers for bar in bars):
        centre = bar.get_x() + bar.get_width() / 2
        top = max([bar.get_height(), *(y for x, y in tops if abs(x - centre) < bar.get_width() / 4)])
        axes.annotate(
            f"{bar.get_height():.3g}",
            (centre, top),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )


def _mean_time_findings(times: pd.DataFrame, graphs: Sequence[str], kind: str) -> list[str]:
    """Say on each graph how the adaptive variant did against the conventional one."""
    device = in_words(times, "device")
    sources = times.groupby(["graph", "variant"])["source"].size()
    over = f"{_range(sources.min(), sources.max())} sources"
    if kind == EMULATED:
        return [f"{device}, {over}; 95% intervals. Emulated device: no GPU times, so no speed-up is given"]
    lines = [f"{device}, {over}; 95% intervals"]
    for graph in graphs:
        of_graph = times[times["graph"] == graph].set_index("variant", drop=False)
        if {"adaptive", "conventional"} <= set(of_graph.index):
            found = compare(of_graph.loc[["adaptive"]], of_graph.loc[["conventional"]])
            lines.append(f"{graph}: adaptive {found} conventional")
    return lines


def compare(candidate: pd.DataFrame, baseline: pd.DataFrame) -> str:
    """Say how many times faster or slower one variant is, as far as a paired test shows it.

    Parameters
    ----------
    candidate, baseline : DataFrame
        As for :func:`relaxometer.results.samples.paired`.

    Returns
    -------
    str
        To be put between the names of the two.
    """
    ours, theirs = paired(candidate, baseline)
    if is_faster(ours, theirs)[0]:
        return f"is {theirs.mean() / ours.mean():.2f} times as fast as"
    if is_faster(theirs, ours)[0]:
        return f"takes {ours.mean() / theirs.mean():.2f} times as long as"
    return "is not shown to differ from"


def thresholds(timings: pd.DataFrame, swept: Sequence[str], graph: str) -> Figure:
    """Draw figure 8, the mean time of the adaptive variant against its threshold.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches of the source's variants on `graph`, the swept ones included.
    swept : sequence of str
        The variants that differ in the threshold alone.
    graph : str
    """
    title = f"Figure 8: mean time against the threshold, {graph}"
    of_variant = timings.groupby("variant")["parameter_to_all_us"].first()
    times = on_one_clock(source_times(timings)).assign(to_all_us=lambda rows: rows["variant"].map(of_variant))
    sweep = times[times["variant"].isin(swept)]
    if sweep.empty:
        return empty_figure(title, NOTHING_PROVEN)
    kind = times["device_kind"].iloc[0]
    same_sources = times[times["source"].isin(sweep["source"].unique())]
    figure, axes = new_figure(4.0)
    style = look("adaptive")
    sns.lineplot(
        sweep,
        x="to_all_us",
        y="time_ms",
        estimator="mean",
        errorbar=("ci", 95),
        seed=0,
        marker=style.marker,
        color=style.colour,
        label="adaptive, threshold given",
        ax=axes,
    )
    for variant in ("conventional", "selection"):
        _mean_line(axes, same_sources[same_sources["variant"] == variant], variant)
    _mark_tuned(axes, same_sources[same_sources["variant"] == "adaptive"])
    axes.set(
        xscale="log",
        xlabel="Threshold above which a phase makes the search switch to all vertices [µs]",
        ylabel=f"Mean time over sources [ms{emulated_note(kind)}]",
    )
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    legend_above(axes, 2)
    entitle(figure, title, _threshold_finding(sweep, same_sources, kind))
    return figure


def _mean_line(axes: Axes, rows: pd.DataFrame, variant: str) -> None:
    """Draw the mean time of a variant that has no threshold."""
    if len(rows):
        style = look(variant)
        axes.axhline(rows["time_ms"].mean(), color=style.colour, linestyle=style.dash, label=variant)


def _mark_tuned(axes: Axes, rows: pd.DataFrame) -> None:
    """Mark where the variant that tunes itself ended, if its threshold is finite."""
    if len(rows) and np.isfinite(rows["to_all_us"].iloc[0]):
        axes.plot(
            rows["to_all_us"].iloc[0],
            rows["time_ms"].mean(),
            linestyle="none",
            marker="*",
            markersize=12,
            color="black",
            markerfacecolor=look("adaptive").colour,
            label="adaptive, tuned by itself",
        )


def _threshold_finding(sweep: pd.DataFrame, times: pd.DataFrame, kind: str) -> str:
    """Say where the sweep is best and where it gains on the conventional variant."""
    means = sweep.groupby("to_all_us")["time_ms"].mean()
    over = f"{sweep['source'].nunique():,} sources"
    if kind == EMULATED:
        return f"{over}; emulated device: these are no GPU times"
    finding = f"{in_words(times, 'device')}, {over}; best at {means.idxmin():g} µs"
    band = gaining_band(sweep, times[times["variant"] == "conventional"])
    if band is None:
        return f"{finding}; no threshold is shown to be faster than conventional"
    return f"{finding}; faster than conventional from {band[0]:g} to {band[1]:g} µs"


def _share_axis(axes: Axes, label: str) -> None:
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_ylabel(label)


def _range(low: float, high: float) -> str:
    """Return "low to high", or one number if they are equal."""
    return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
