"""Figures 4 to 8 of Suzuki et al., "Accelerating SSSP Algorithm on GPU with Adaptive Thread Creation".

``phases`` are the gathered phases of the proven phase-synchronous variants on a graph.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relaxometer.core.words import counted
from relaxometer.report.catalogue import Exhibit, Inputs, View, phase_files, with_graphs
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import Look, look
from relaxometer.report.figures.names import rounded
from relaxometer.report.targets import is_swept, names, runs_of
from relaxometer.results import samples
from relaxometer.results.processes import part_of
from relaxometer.results.statistics import log_mean

if TYPE_CHECKING:
    from matplotlib.patches import Patch

    from relaxometer.plan.models import Run
    from relaxometer.plan.plan import Plan

FEW_UPDATED = 10_000  # the paper calls phases that update at most this many vertices small

SOURCE_LINES: tuple[tuple[str, str | tuple[float, tuple[float, ...]]], ...] = (
    ("#0173b2", "-"),
    ("#de8f05", (0, (5, 1.5))),
    ("#029e73", (0, (1, 1))),
    ("#d55e00", (0, (6, 1.2, 1, 1.2))),
    ("#cc78bc", (0, (3, 1, 1, 1, 1, 1))),
)
"""Colour and dash for each source shown in figure 4, distinct for the colour-blind and in grey."""

PAPER_MS = {
    ("kanto-like", "conventional"): 107.0,
    ("kanto-like", "selection"): 251.0,
    ("kanto-like-main", "selection"): 60.0,
}
"""Mean times in the paper by graph and variant: those on its map of the same size, by a Tesla K20c."""

PAPER_GRAPH, PAPER_BEST_US = "kanto-like", 350
"""The threshold that is best in figure 8 of the paper, on its large map."""

PAPER_MARK: dict[str, Any] = {"marker": "x", "markersize": 7, "markeredgewidth": 1.8}
BESIDE = 0.2  # distance between the variants of a graph in figure 7, where graphs are 1 apart
CURVE_POINTS = 400
NOTHING_PROVEN = (
    "No run of conventional, selection or adaptive on this graph was proven correct and finished."
)


def updated_per_phase(phases: pd.DataFrame, graph: str) -> style.Figure:
    """Draw figure 4: the vertices that each phase updates, for five sources."""
    title = f"Figure 4: updated vertices per phase, {graph}"
    counts = samples.updated_counts(phases)
    if counts.empty:
        return style.empty_figure(title, NOTHING_PROVEN)
    figure, axes = style.new_figure(3.8)
    shown = counts["source"].unique()[: len(SOURCE_LINES)]
    for letter, source, (colour, dash) in zip(string.ascii_uppercase, shown, SOURCE_LINES, strict=False):
        of_source = counts[counts["source"] == source]
        mark = {"color": colour, "linestyle": dash, "linewidth": 1.2}
        axes.plot(of_source["phase"], of_source["updated"], label=f"{letter} (vertex {source})", **mark)
    axes.set(xlabel="Phase", ylabel="Updated vertices", ylim=(0, None), xlim=(0, None))
    for axis in (axes.xaxis, axes.yaxis):
        style.whole_ticks(axis, "auto")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.legend(title="Source", handlelength=3.4)
    lengths = counts.groupby("source")["phase"].max()
    finding = (
        f"{_range(lengths.min(), lengths.max())} phases over {counted(len(lengths), 'source')}, "
        f"{lengths.mean():,.0f} on average (in the paper: about 230)"
    )
    return style.entitle(figure, title, finding)


def updated_distribution(phases: pd.DataFrame, graph: str) -> style.Figure:
    """Draw figure 5: the cumulative distribution of updated vertices over all phases and sources."""
    title = f"Figure 5: phases by number of updated vertices, {graph}"
    counts = samples.updated_counts(phases)
    if counts.empty:
        return style.empty_figure(title, NOTHING_PROVEN)
    updated = counts["updated"].to_numpy()
    peak = int(updated.max())
    at = np.geomspace(1, max(peak, 10), CURVE_POINTS)
    figure, axes = style.new_figure(3.6)
    colour = look("conventional").colour
    axes.plot(at, samples.share_at_or_under(updated, at), color=colour, drawstyle="steps-post")
    marks = {peak / 10: "a tenth of the peak"}
    marks |= {FEW_UPDATED: f"{FEW_UPDATED:,}"} if peak > FEW_UPDATED else {}
    for marker, (limit, name) in zip("Ds", marks.items(), strict=False):
        share = float(samples.share_at_or_under(updated, limit))
        axes.plot(limit, share, marker, color=colour, label=f"{share:.0%} at or under {name}")
    style.legend_above(axes, 2)
    axes.set(xscale="log", ylim=(0, 1.03), xlabel="Updated vertices in a phase")
    axes.set_ylabel("Cumulative share of the phases")
    style.plain_log(axes.xaxis)
    style.label_percent(axes.yaxis)
    finding = (
        f"{len(updated):,} phases of {counted(counts['source'].nunique(), 'source')}; peak {peak:,} "
        "(in the paper: 59% at or under 10,000, peak over 500,000)"
    )
    return style.entitle(figure, title, finding)


def phase_times(phases: pd.DataFrame, graph: str) -> style.Figure:
    """Draw figure 6: the time of each phase for one source, in front of the updated vertices."""
    title = f"Figure 6: time of each phase, {graph}"
    if phases.empty:
        return style.empty_figure(title, NOTHING_PROVEN)
    source = phases["source"].iloc[0]
    of_source = samples.on_one_clock(phases[phases["source"] == source])
    kind = of_source["device_kind"].iloc[0]
    figure, axes = style.new_figure(4.4)
    counts = _updated_behind(axes, samples.updated_counts(of_source))
    for variant, rows in of_source.groupby("variant", sort=False):
        mark = look(str(variant))
        axes.plot(rows["phase"], rows["time_ms"], linewidth=1.3, label=variant, **mark.line | {"marker": ""})
    switching = of_source[of_source["kernel"] == "adaptive"]
    marks = _mark_all_vertex_phases(axes, switching) if len(switching) else []
    label = f"Time of the phase [ms{style.emulated_note(kind)}]"
    axes.set(yscale="log", xlabel="Phase", ylabel=label, xlim=(0, None))
    style.plain_log(axes.yaxis)
    handles = [*axes.get_legend_handles_labels()[0], counts, *marks]
    style.legend_above(axes, 2 if len(handles) == 4 else 3, handles)
    return style.entitle(figure, title, _phase_finding(of_source, source, kind))


def _updated_behind(axes: style.Axes, counts: pd.DataFrame) -> Patch:
    """Fill the area under the updated vertices behind the lines, on a second axis at the right."""
    right = axes.twinx()
    right.fill_between(counts["phase"], counts["updated"], color=style.FAINT, linewidth=0, step="mid")
    right.set(ylabel="Updated vertices", ylim=(0, None))
    right.yaxis.set_major_formatter("{x:,.0f}")
    right.grid(visible=False)
    right.spines["right"].set_visible(True)
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    return style.legend_patch(color=style.FAINT, label="updated vertices (right)")


def _mark_all_vertex_phases(axes: style.Axes, rows: pd.DataFrame) -> list[Patch]:
    """Mark the phases that adaptive ran with one thread per vertex, by a band at the bottom."""
    colour = look("adaptive").colour
    phases = rows.loc[rows["mode"] == "all", "phase"].to_numpy()
    if not len(phases):
        return []
    runs = np.split(phases, np.flatnonzero(np.diff(phases) > 1) + 1)
    for run in runs:
        axes.axvspan(run[0] - 0.5, run[-1] + 0.5, ymax=0.025, color=colour, linewidth=0)
    return [style.legend_patch(color=colour, label="adaptive runs all vertices")]


def _phase_finding(rows: pd.DataFrame, source: int, kind: str) -> str:
    parts = [f"Source vertex {source}, instrumented run"]
    adaptive = rows[rows["kernel"] == "adaptive"]
    if len(adaptive):
        of_all = int((adaptive["mode"] == "all").sum())
        parts.append(f"adaptive ran {of_all} of {len(adaptive)} phases over all vertices")
    if kind == samples.EMULATED:
        parts.append(style.NOT_GPU_TIMES)
    return "; ".join(parts)


def mean_times(timings: pd.DataFrame, graphs: Sequence[dict[str, Any]]) -> style.Figure:
    """Draw figure 7: the mean time of a search on each graph, and the paper's where it has the graph."""
    title = "Figure 7: mean time of a search"
    times = samples.on_one_clock(samples.source_times(timings))
    if times.empty:
        return style.empty_figure(title, NOTHING_PROVEN)
    kind = times["device_kind"].iloc[0]
    sizes = {graph["name"]: graph["vertices"] for graph in graphs if graph["name"] in set(times["graph"])}
    order = sorted(sizes, key=lambda name: sizes[name])
    variants = list(times["variant"].unique())
    figure, axes = style.new_figure(3.8 + 0.25 * (len(order) > 3))
    looks = {variant: look(variant) for variant in variants}
    for place, variant in enumerate(variants):
        at = np.arange(len(order)) + (place - (len(variants) - 1) / 2) * BESIDE
        means = [_mean(times[(times["graph"] == name) & (times["variant"] == variant)]) for name in order]
        _mean_dots(axes, at, means, variant, looks[variant])
        published = [PAPER_MS.get((name, variant), np.nan) for name in order]
        axes.plot(at, published, linestyle="none", color=looks[variant].colour, **PAPER_MARK)
    labels = [f"{name}\n{sizes[name]:,} vertices" for name in order]
    axes.set_xticks(range(len(order)), labels)
    axes.set(xlabel="", yscale="log", ylabel=f"Mean time over sources [ms{style.emulated_note(kind)}]")
    axes.set_xlim(-0.5, len(order) - 0.5)
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.15)
    style.plain_log(axes.yaxis)
    handles = axes.get_legend_handles_labels()[0]
    if any((name, variant) in PAPER_MS for name in order for variant in variants):
        paper = {"linestyle": "none", "color": style.GREY, "label": "in the paper (K20c)", **PAPER_MARK}
        handles.append(style.legend_mark(**paper))
    style.legend_above(axes, 4, handles)
    return style.entitle(figure, title, "\n".join(_mean_time_findings(times, order, kind)))


def _mean(rows: pd.DataFrame) -> tuple[float, float, float]:
    """Return the mean time over sources with its 95% interval; NaN without rows."""
    if rows.empty:
        return np.nan, np.nan, np.nan
    return log_mean(rows["time_ms"], part_of(rows)).point()


def _mean_dots(
    axes: style.Axes, at: npt.NDArray[Any], means: Sequence[tuple[float, ...]], variant: str, mark: Look
) -> None:
    """Draw the means of a variant with their intervals and values."""
    points = [(x, *of_graph) for x, of_graph in zip(at, means, strict=True)]
    style.draw_dots(axes, points, mark, label=variant)
    for x, value, *_ in points:
        if np.isfinite(value):
            style.annotate(axes, rounded(value), (x, value), (7, 0), va="center")


def _mean_time_findings(times: pd.DataFrame, graphs: Sequence[str], kind: str) -> list[str]:
    device = samples.in_words(times, "device")
    sources = times.groupby(["graph", "variant"])["source"].size()
    over = f"{_range(sources.min(), sources.max())} {'source' if sources.max() == 1 else 'sources'}"
    lines = [f"{device}, {over}; whiskers: 95% intervals"]
    if kind == samples.EMULATED:
        return [f"{lines[0]}; {style.NOT_GPU_TIMES}"]
    for graph in graphs:
        of_graph = dict(iter(times[times["graph"] == graph].groupby("variant")))
        if {"adaptive", "conventional"} <= of_graph.keys():
            pair = ("adaptive", of_graph["adaptive"], "conventional", of_graph["conventional"])
            lines += [f"{graph}: {clause}" for clause in samples.in_words_compared([pair])]
    return lines


def thresholds(timings: pd.DataFrame, swept: Sequence[str], graph: str) -> style.Figure:
    """Draw figure 8: the mean time of adaptive over its threshold, in which the `swept` variants differ."""
    title = f"Figure 8: mean time of a search over the threshold of adaptive, {graph}"
    of_variant = timings.groupby("variant")["parameter_to_all_us"].first()
    times = samples.on_one_clock(samples.source_times(timings))
    times = times.assign(to_all_us=times["variant"].map(of_variant))
    sweep = times[times["variant"].isin(swept)]
    if sweep.empty:
        return style.empty_figure(title, NOTHING_PROVEN)
    kind = times["device_kind"].iloc[0]
    same_sources = times[times["source"].isin(sweep["source"].unique())]
    figure, axes = style.new_figure(4.0)
    mark = look("adaptive")
    points = [(float(at), *_mean(rows)) for at, rows in sweep.groupby("to_all_us")]  # type: ignore[arg-type]
    style.draw_dots(axes, points, mark)
    axes.plot(*np.array(points).T[:2], label="adaptive, fixed threshold", **mark.line)
    for variant in ("conventional", "selection"):
        rows, line = same_sources[same_sources["variant"] == variant], look(variant)
        if len(rows):
            axes.axhline(rows["time_ms"].mean(), color=line.colour, linestyle=line.dash, label=variant)
    _mark_tuned(axes, same_sources[same_sources["variant"] == "adaptive"])
    if graph == PAPER_GRAPH:
        line = style.DASHED | {"linestyle": (0, (2, 2))}
        axes.axvline(PAPER_BEST_US, label=f"best in the paper: {PAPER_BEST_US} µs (K20c)", **line)
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="Threshold: time of a phase after which the search runs all vertices [µs]",
        ylabel=f"Mean time over sources [ms{style.emulated_note(kind)}]",
    )
    style.plain_log(axes.xaxis, axes.yaxis)
    style.legend_above(axes, 2)
    return style.entitle(figure, title, _threshold_finding(sweep, same_sources, kind))


def _mark_tuned(axes: style.Axes, rows: pd.DataFrame) -> None:
    """Mark the threshold that adaptive found by itself, if it is finite."""
    if len(rows) and np.isfinite(rows["to_all_us"].iloc[0]):
        star: Any = {"marker": "*", "markersize": 12, "color": "black", "linestyle": "none"}
        star |= {"markerfacecolor": look("adaptive").colour, "label": "adaptive, self-tuned threshold"}
        axes.plot(rows["to_all_us"].iloc[0], rows["time_ms"].mean(), **star)


def _threshold_finding(sweep: pd.DataFrame, times: pd.DataFrame, kind: str) -> str:
    """Name the threshold of the lowest mean and the band in which the sweep beats conventional."""
    means = sweep.groupby("to_all_us")["time_ms"].mean()
    over = counted(sweep["source"].nunique(), "source")
    if kind == samples.EMULATED:
        return f"{over}; {style.NOT_GPU_TIMES}"
    finding = f"{samples.in_words(times, 'device')}, {over}; lowest mean at {means.idxmin():g} µs"
    conventional = times[times["variant"] == "conventional"]
    if conventional.empty:
        return f"{finding}; conventional was not proven"
    band = samples.gaining_band(sweep, conventional)
    if band is None:
        return f"{finding}; no threshold is shown to be faster than conventional"
    return f"{finding}; faster than conventional from {band[0]:g} to {band[1]:g} µs"


def _range(low: float, high: float) -> str:
    return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"


def compared_runs(plan: Plan, graph: str) -> list[Run]:
    """Return the runs on a graph that the paper compares."""
    runs = runs_of(plan, "sssp", graph)
    return [run for run in runs if run.solver in samples.PHASE_SYNCHRONOUS and not is_swept(plan, run)]


def threshold_runs(plan: Plan, graph: str) -> list[Run]:
    """Return the runs on a graph that are points of figure 8."""
    runs = [run for run in runs_of(plan, "sssp", graph) if run.solver == "adaptive"]
    return [run for run in runs if "to_all_us" in run.parameters and is_swept(plan, run)]


def _graphs(plan: Plan) -> list[str]:
    return [graph for graph in plan.graphs if compared_runs(plan, graph)]


def _variants(plan: Plan) -> list[str]:
    return names([run for graph in _graphs(plan) for run in compared_runs(plan, graph)])


def _draw_phases(inputs: Inputs) -> dict[str, style.Figure]:
    phases = inputs.proven_phases()
    return {
        "figure-4": updated_per_phase(phases, inputs.graph),
        "figure-5": updated_distribution(phases, inputs.graph),
        "figure-6": phase_times(phases, inputs.graph),
    }


def _draw_thresholds(inputs: Inputs) -> style.Figure:
    swept = inputs.params["points"]
    return thresholds(inputs.searches(variants=[*inputs.params["variants"], *swept]), swept, inputs.graph)


EXHIBITS = (
    Exhibit(
        "phases",
        _draw_phases,
        (
            View("figure-4", "SSSP", "figure 4", "updated vertices per phase"),
            View("figure-5", "SSSP", "figure 5", "updated vertices, all phases"),
            View("figure-6", "SSSP", "figure 6", "time of each phase"),
        ),
        lambda plan, graph: phase_files(compared_runs(plan, graph)),
        wanted=_graphs,
        per_graph=True,
    ),
    Exhibit(
        "mean-times",
        lambda inputs: mean_times(inputs.searches(**inputs.params), inputs.contents("graphs")),
        (View("figure-7", "SSSP", "figure 7", "mean time of a search"),),
        lambda plan, _: with_graphs(_graphs(plan)),
        wanted=_graphs,
        params=lambda plan, _: {"variants": _variants(plan)},
    ),
    Exhibit(
        "thresholds",
        _draw_thresholds,
        (View("figure-8", "SSSP", "figure 8", "mean time against the threshold"),),
        wanted=lambda plan: [graph for graph in plan.graphs if threshold_runs(plan, graph)],
        per_graph=True,
        params=lambda plan, one: {"variants": _variants(plan), "points": names(threshold_runs(plan, one))},
        points=lambda plan: names([run for graph in plan.graphs for run in threshold_runs(plan, graph)]),
    ),
)
