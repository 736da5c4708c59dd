"""The headline: the median time of every variant on every graph, as a figure and as a ranked table."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relaxometer.report.catalogue import TIMINGS, Exhibit, Inputs, View
from relaxometer.report.figures.style import (
    GREY,
    WIDTH,
    annotate,
    empty_figure,
    entitle,
    look,
    new_figure,
    plain_log,
)
from relaxometer.report.targets import swept
from relaxometer.results.gather import KEY
from relaxometer.results.samples import EMULATED, paired, source_times
from relaxometer.results.statistics import FEWEST, is_faster

CLOCKS = {"cuda": "GPU", "cpu": "CPU", EMULATED: "emulated"}
"""Name of the clock of each device kind."""

ACRONYMS = ("sssp", "bfs")
"""Problems whose names are written in capitals."""

ROW_INCHES = 0.24

CLOSE = 300
"""Axes that span a smaller ratio have three labels per power of ten."""


def median_times(summary: pd.DataFrame) -> Figure:
    """Draw the median time of every variant with its 95% interval, a panel for each problem and graph.

    Real and emulated times never share a panel. Lines of ``summary.csv`` without a time are named, not drawn.
    """
    title = "Median time of a search, by graph and variant"
    timed = summary.dropna(subset=["median_ms"])
    if timed.empty:
        return empty_figure(title, "No variant finished with every answer proven right.")
    emulated = timed["device_kind"] == EMULATED
    clocks = [("GPU and CPU", timed[~emulated]), ("emulated device", timed[emulated])]
    columns = [(name, rows) for name, rows in clocks if len(rows)]
    races = list(timed[["problem", "graph"]].drop_duplicates().itertuples(index=False, name=None))
    panels = {
        (race, name): rows[(rows["problem"] == race[0]) & (rows["graph"] == race[1])]
        for race in races
        for name, rows in columns
    }
    heights = [max(len(panels[race, name]) for name, _ in columns) + 1.2 for race in races]
    figure, axes = new_figure(
        ROW_INCHES * sum(heights) + 1.5,
        len(columns),
        len(races),
        width=WIDTH + 1.4 * (len(columns) - 1),
        squeeze=False,
        sharex="col",
        height_ratios=heights,
    )
    for row, race in enumerate(races):
        for column, (name, _) in enumerate(columns):
            _draw_panel(axes[row, column], panels[race, name], f"{race[1]} ({label(race[0])})")
    for column, (_, rows) in enumerate(columns):
        axes[-1, column].set_xlabel(_time_axis(rows))
        _set_ticks(axes[-1, column])
    entitle(figure, title, _headline_finding(summary, bool(emulated.any())))
    return figure


def label(problem: str) -> str:
    """Return the name of a problem in figures and tables."""
    return problem.upper() if problem in ACRONYMS else problem


def _draw_panel(axes: Axes, rows: pd.DataFrame, title: str) -> None:
    """Draw the variants of one problem on one graph, the fastest on top."""
    axes.set_title(title, loc="left", fontsize=9.5)
    if rows.empty:
        axes.text(0.02, 0.5, "not run", transform=axes.transAxes, va="center", color=GREY)
        axes.set_yticks([])
        return
    ordered = rows.sort_values("median_ms", ascending=False).reset_index(drop=True)
    for y, (_, line) in enumerate(ordered.iterrows()):
        style = look(str(line["variant"]))
        span = [[line["median_ms"] - line["ci95_low_ms"]], [line["ci95_high_ms"] - line["median_ms"]]]
        axes.errorbar(
            line["median_ms"], y, xerr=span, fmt=style.marker, color=style.colour, capsize=2.5, markersize=5
        )
        annotate(axes, rounded(line["median_ms"]), (line["ci95_high_ms"], y), (7, 0), va="center")
    names = ordered["variant"] + np.where(ordered["device_kind"] == "cpu", " (CPU)", "")
    axes.set_yticks(range(len(ordered)), names)
    axes.set(xscale="log", ylim=(-0.7, len(ordered) - 0.3))
    axes.margins(x=0.18)
    axes.grid(visible=False, axis="y")


def _set_ticks(axes: Axes) -> None:
    """Label 1, 2, 5, 10, ..., or only powers of ten if there would be too many labels."""
    least, most = axes.get_xlim()
    plain_log(axes.xaxis, "{x:,g}", subs=(1, 2, 5) if most < CLOSE * least else (1,))


def _time_axis(rows: pd.DataFrame) -> str:
    """Name the time axis of a column by the clocks of its rows."""
    kinds = [CLOCKS[kind] for kind in CLOCKS if kind in set(rows["device_kind"])]
    return f"Median time [ms, {' and '.join(kinds)}]"


def _headline_finding(summary: pd.DataFrame, emulated: bool) -> str:
    """Explain the intervals, and name the missing variants and emulated times."""
    lines = ["Whiskers: 95% bootstrap intervals of the median over sources. Log scale; lower is better"]
    if emulated:
        lines.append("Emulated device: a CPU ran the CUDA kernels; these are not GPU times")
    missing = summary[summary["median_ms"].isna()]
    if len(missing):
        named = ", ".join(f"{row.variant} on {row.graph} ({row.status})" for row in missing.itertuples())
        lines.append(f"Not shown: {named}")
    return "\n".join(lines)


def ranks(timings: pd.DataFrame) -> pd.Series:
    """Rank the variants of each graph by what a paired test shows.

    A variant's rank is one more than the number of variants proven faster, so variants that do not differ
    share a rank. Wrong and emulated runs have no rank, nor has a variant without rivals or with too few
    sources for the test.

    Returns
    -------
    Series of int, indexed by problem, graph and variant
    """
    times = source_times(timings)
    sources = times.groupby(KEY)["source"].transform("nunique")
    real = times[(times["device_kind"] != EMULATED) & (sources >= FEWEST)]
    ranked = {}
    for _, of_graph in real.groupby(["problem", "graph"], sort=False):
        variants = dict(iter(of_graph.groupby(KEY, sort=False)))
        for key, rows in variants.items() if len(variants) > 1 else ():
            others = (other for name, other in variants.items() if name != key)
            ranked[key] = 1 + sum(is_faster(*paired(other, rows))[0] for other in others)
    index = pd.MultiIndex.from_tuples(ranked, names=KEY) if ranked else pd.MultiIndex.from_arrays([[]] * 3)
    return pd.Series(list(ranked.values()), index=index, dtype=int, name="rank")


def ranked_table(summary: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return the table of the report's landing page: the lines of ``summary.csv``, ranked and rounded."""
    lines = summary.join(ranks(timings), on=KEY)
    place = lines.groupby(["problem", "graph"], sort=False).ngroup()
    lines = lines.assign(place=place).sort_values(["place", "rank", "median_ms"])
    return pd.DataFrame(
        {
            "Problem": lines["problem"].map(label),
            "Graph": lines["graph"],
            "Rank": lines["rank"].map(whole),
            "Variant": lines["variant"],
            "Clock": lines["device_kind"].map(CLOCKS),
            "Median [ms]": lines["median_ms"].map(rounded),
            "95% interval": [
                f"{rounded(low)} to {rounded(high)}" if sources > 1 and np.isfinite(low) else ""
                for low, high, sources in zip(
                    lines["ci95_low_ms"], lines["ci95_high_ms"], lines["sources"], strict=True
                )
            ],
            "Million arcs/s": lines["mteps"].map(rounded),
            "Phases": lines["phases"].map(whole),
            "Sources": lines["sources"],
            "Proven": lines["certified"].map("{:.0%}".format),
            "Status": lines["status"],
        }
    )


def rounded(value: float) -> str:
    """Format a number with three digits, as an integer from 1,000, or as nothing if it is missing."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}" if np.isfinite(value) else ""


def whole(value: float) -> str:
    """Format a count, or nothing if it is missing."""
    return f"{value:,.0f}" if np.isfinite(value) else ""


def _draw(inputs: Inputs) -> dict[str, Figure | pd.DataFrame]:
    hidden, lines = inputs.params["swept"], inputs.table("summary")
    lines = lines[~lines["variant"].isin(hidden)]
    return {
        "median-times": median_times(lines),
        "ranking": ranked_table(lines, inputs.searches(without=hidden)),
    }


EXHIBITS = (
    Exhibit(
        "summary",
        _draw,
        lambda *_: {"summary": "results/summary.csv", "timings": TIMINGS},
        views=(
            View("median-times", "1. Summary", labels={"table": "median times (figure)"}),
            View("ranking", suffix="csv"),
        ),
        wanted=lambda plan: bool(plan.runs),
        params=lambda plan, _: {"swept": swept(plan)},
    ),
)
