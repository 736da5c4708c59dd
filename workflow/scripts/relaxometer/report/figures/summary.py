"""The headline: the median times of all variants and rivals, as a figure and as ranked tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from textwrap import shorten

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relaxometer.report.catalogue import TIMINGS, Exhibit, Inputs, View
from relaxometer.report.figures.names import CLASSES, full_names, short_names, shown_version
from relaxometer.report.figures.style import (
    GREY,
    WIDTH,
    Look,
    annotate,
    distinct_looks,
    empty_figure,
    entitle,
    new_figure,
    plain_log,
)
from relaxometer.report.targets import swept
from relaxometer.results.gather import KEY
from relaxometer.results.races import ranking
from relaxometer.results.samples import EMULATED, is_emulated, with_class
from relaxometer.results.statistics import FEWEST

CLOCKS = {"cuda": "GPU", "cpu": "CPU", EMULATED: "emulated"}
"""Name of the clock of each device kind."""

ACRONYMS = ("sssp", "bfs")
"""Problems whose names are written in capitals."""

ROW_INCHES = 0.24

CLOSE = 300
"""Axes that span a smaller ratio have three labels per power of ten."""

WIDER = 3.0
"""Inches that a column of emulated times adds."""

MAX_REASON = 160
"""Characters of a reason in the ranked table; the whole is in ``summary.csv``."""


def median_times(summary: pd.DataFrame) -> Figure:
    """Draw the median time of every variant and rival, with its 95% interval, by problem and graph.

    Real and emulated times never share a panel. Lines of ``summary.csv`` without a time are named, not drawn.
    """
    title = "Median time of a search, by graph and variant"
    lines = with_class(summary)
    lines = lines.assign(name=full_names(lines))
    timed = lines.dropna(subset=["median_ms"])
    if timed.empty:
        return empty_figure(title, "No variant finished with every answer proven right.")
    emulated = is_emulated(timed)
    clocks = [("", timed[~emulated]), (", emulated kernels", timed[emulated])]
    columns = [(note, rows) for note, rows in clocks if len(rows)]
    races = list(timed[["problem", "graph"]].drop_duplicates().itertuples(index=False, name=None))
    panels = {
        (race, note): rows[(rows["problem"] == race[0]) & (rows["graph"] == race[1])]
        for race in races
        for note, rows in columns
    }
    heights = [max(len(panels[race, note]) for note, _ in columns) + 1.2 for race in races]
    looks = distinct_looks(lines[["variant", "rival"]].itertuples(index=False, name=None))
    figure, axes = new_figure(
        ROW_INCHES * sum(heights) + 1.5,
        len(columns),
        len(races),
        width=WIDTH + WIDER * (len(columns) - 1),
        squeeze=False,
        sharex="col",
        height_ratios=heights,
    )
    for row, race in enumerate(races):
        for column, (note, _) in enumerate(columns):
            name = f"{race[1]} ({label(race[0])}){note}"
            _draw_panel(axes[row, column], panels[race, note], name, looks)
    for column, (_, rows) in enumerate(columns):
        axes[-1, column].set_xlabel(_time_axis(rows))
        _set_ticks(axes[-1, column])
    entitle(figure, title, _headline_finding(lines))
    return figure


def label(problem: str) -> str:
    """Return the name of a problem in figures and tables."""
    return problem.upper() if problem in ACRONYMS else problem


def _draw_panel(axes: Axes, rows: pd.DataFrame, title: str, looks: Mapping[str, Look]) -> None:
    """Draw the variants of one problem on one graph, the fastest on top."""
    axes.set_title(title, loc="left", fontsize=9.5)
    if rows.empty:
        axes.text(0.02, 0.5, "not run", transform=axes.transAxes, va="center", color=GREY)
        axes.set_yticks([])
        return
    ordered = rows.sort_values("median_ms", ascending=False).reset_index(drop=True)
    for y, (_, line) in enumerate(ordered.iterrows()):
        style = looks[line["variant"]]
        median, low, high = line[["median_ms", "ci95_low_ms", "ci95_high_ms"]]
        if low < high and not 1 < line["sources"] < FEWEST:  # old summaries have intervals of fewer
            span = [[median - low], [high - median]]
            axes.errorbar(median, y, xerr=span, fmt="none", color=style.colour, capsize=2.5)
        axes.plot(median, y, linestyle="", markersize=6 if style.is_open else 5, zorder=3, **style.points)
        annotate(axes, rounded(median), (np.fmax(median, high), y), (7, 0), va="center")
    axes.set_yticks(range(len(ordered)), ordered["name"])
    axes.set(xscale="log", ylim=(-0.7, len(ordered) - 0.3))
    axes.margins(x=0.18)
    axes.grid(visible=False, axis="y")


def _set_ticks(axes: Axes) -> None:
    """Label 1, 2, 5, 10, ..., or only powers of ten if there would be too many labels."""
    least, most = axes.get_xlim()
    plain_log(axes.xaxis, "{x:,g}", subs=(1, 2, 5) if most < CLOSE * least else (1,))


def _time_axis(rows: pd.DataFrame) -> str:
    """Name the time axis of a column by the clocks of its rows."""
    clocks = set(rows["class"].map({"gpu": "GPU", "emulated": "emulated"}).fillna("CPU"))
    return f"Median time [ms, {' and '.join(one for one in CLOCKS.values() if one in clocks)}]"


def _headline_finding(lines: pd.DataFrame) -> str:
    """Explain the intervals and markers, and name the missing variants, disputed and emulated times."""
    timed = lines.dropna(subset=["median_ms"])
    said = [f"Whiskers: 95% intervals of the median, from {FEWEST} sources. Log scale; lower is better"]
    if timed["rival"].any():
        said.append("Open markers: rivals, the programs of others")
    if is_emulated(timed).any():
        said.append("Emulated kernels: a CPU ran the CUDA kernels; these are not GPU times")
    disputed = timed[timed["status"] == "disputed"]
    if len(disputed):
        said.append(f"Own clock disputed, timed by ours: {_named(disputed, lines)}")
    missing = lines[lines["median_ms"].isna()]
    if len(missing):
        said.append(f"Not shown: {_named(missing, lines)}")
    return "\n".join(said)


def _named(some: pd.DataFrame, lines: pd.DataFrame) -> str:
    """Name variants with their graphs and status; `lines` are those of all graphs."""
    every = set(lines["graph"])

    def where(graphs: Collection[str]) -> str:
        return "all graphs" if len(graphs) > 1 and set(graphs) == every else ", ".join(graphs)

    return ", ".join(
        f"{variant} on {where(rows['graph'].unique())} ({status})"
        for (variant, status), rows in some.groupby(["variant", "status"], sort=False)
    )


def with_ranks(lines: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of ``summary.csv`` with ``rank``, in the order of ranks, then of medians.

    The median, its interval and ``sources`` of a run with a rank are those that it is ranked by, over the
    sources that all ranked runs of its race share; see :func:`relaxometer.results.races.ranking`.
    """
    found = ranking(timings).set_index(KEY)
    found = found.rename(columns={"low_ms": "ci95_low_ms", "high_ms": "ci95_high_ms"})
    shown = lines[KEY].join(found, on=KEY)
    is_ranked = shown["rank"].notna()
    ranked = lines.assign(rank=shown["rank"])
    for column in ("median_ms", "ci95_low_ms", "ci95_high_ms", "sources"):
        ranked[column] = shown[column].where(is_ranked, lines[column])
    place = ranked.groupby(["problem", "graph"], sort=False).ngroup()
    ordered = ranked.assign(place=place).sort_values(["place", "rank", "median_ms"], kind="stable")
    return ordered.drop(columns="place")


def ranked_table(summary: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of ``summary.csv`` as the report's landing page shows them, ranked and rounded."""
    lines = with_ranks(with_class(summary), timings)
    return pd.DataFrame(
        {
            "Problem": lines["problem"].map(label),
            "Graph": lines["graph"],
            "Rank": lines["rank"].map(whole),
            "Variant": short_names(lines),
            "Class": lines["class"].map(CLASSES).fillna(""),
            "Version": lines["version"].map(shown_version) if "version" in lines else "",
            "Median [ms]": lines["median_ms"].map(rounded),
            "95% interval": _intervals(lines),
            "Preparation [ms]": lines["prepare_ms"].map(rounded) if "prepare_ms" in lines else "",
            "Million edges/s": lines["mteps"].map(rounded),
            "Harmonic mean": lines["mteps_harmonic"].map(rounded) if "mteps_harmonic" in lines else "",
            "Phases": lines["phases"].map(whole),
            "Sources": lines["sources"].map(whole),
            "Proven": lines["certified"].map("{:.0%}".format),
            "Status": lines["status"],
            "Reason": lines["reason"].map(_shown_reason),
        }
    )


def _intervals(lines: pd.DataFrame) -> list[str]:
    ends = zip(lines["ci95_low_ms"], lines["ci95_high_ms"], strict=True)
    return [f"{rounded(low)} to {rounded(high)}" if low < high else "" for low, high in ends]


def _shown_reason(reason: object) -> str:
    """Return the begin of a reason, in which nothing is markup of the landing page."""
    text = "" if pd.isna(reason) else shorten(str(reason), MAX_REASON, placeholder=" …")  # type: ignore[call-overload]
    return re.sub(r"([\\*`|_])", r"\\\1", text)


def races_and_emulated(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Divide a ranked table into those of the landing page: real time, and the emulated device.

    A table without rows gets one that says so, since a report cannot show an empty table.
    """
    emulated = table["Class"] == CLASSES["emulated"]
    parts = {
        "ranking": (table[~emulated], "Nothing ran in real time."),
        "ranking-emulated": (table[emulated].drop(columns="Rank"), "No kernel was emulated."),
    }
    return {
        name: rows if len(rows) else pd.DataFrame([{"Problem": why}], columns=rows.columns)
        for name, (rows, why) in parts.items()
    }


def rounded(value: float) -> str:
    """Format a number with three digits, as an integer from 1,000, or as nothing if it is missing."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}" if np.isfinite(value) else ""


def whole(value: float) -> str:
    """Format a count, or nothing if it is missing."""
    return f"{value:,.0f}" if np.isfinite(value) else ""


def _draw(inputs: Inputs) -> dict[str, Figure | pd.DataFrame]:
    hidden, lines = inputs.params["swept"], inputs.table("summary")
    lines = lines[~lines["variant"].isin(hidden)]
    table = ranked_table(lines, inputs.searches(without=hidden))
    return {"median-times": median_times(lines), **races_and_emulated(table)}


EXHIBITS = (
    Exhibit(
        "summary",
        _draw,
        lambda *_: {"summary": "results/summary.csv", "timings": TIMINGS},
        views=(
            View("median-times", "1. Summary", labels={"table": "median times (figure)"}),
            View("ranking", suffix="csv"),
            View("ranking-emulated", suffix="csv"),
        ),
        wanted=lambda plan: bool(plan.runs),
        params=lambda plan, _: {"swept": swept(plan)},
    ),
)
