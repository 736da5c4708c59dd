"""The headline: the median times of all variants and rivals, as a figure and as ranked tables."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Mapping, Sequence
from textwrap import shorten

import numpy as np
import pandas as pd

from relaxometer.report.catalogue import SUMMARISED, SUMMARY, Content, Exhibit, Inputs, View, without_curves
from relaxometer.report.figures import names, style
from relaxometer.report.figures.looks import Look, looks_of
from relaxometer.report.figures.names import CLASSES, label, percent, prepared, rounded, whole
from relaxometer.report.figures.single import single_times
from relaxometer.report.figures.totals import total_times
from relaxometer.report.pages import NOTHING
from relaxometer.results.calls import CALLS
from relaxometer.results.contexts import MAX_DRIFT
from relaxometer.results.gather import with_sets
from relaxometer.results.races import ranking
from relaxometer.results.rows import KEY, NOT_TRIED
from relaxometer.results.samples import is_emulated, with_class
from relaxometer.results.statistics import FEWEST

ROW_INCHES = 0.24

EMULATED_NOTE = ", emulated kernels"
NOT_RUN = "not run"  # shown instead of a share of proven answers where no search was made
MAX_REASON = 240  # characters of a reason in the ranked table; the whole is in ``summary.csv``


def call_figure(summary: pd.DataFrame) -> style.Figure:
    """Draw what a caller waits for as :func:`median_times` draws searches; sums of parts are named so."""
    lines = summary.reindex(columns=[*summary, *(name for name in CALLS if name not in summary)])
    shown = dict(zip(("median_ms", "ci95_low_ms", "ci95_high_ms"), CALLS, strict=False))
    columns = {name: lines[of] for name, of in shown.items()}
    columns["sources"] = lines["calls"].where(lines["sources"] > 1, lines["sources"])
    mark = np.where(lines["calls"].eq(0), names.ADDED_UP, "")
    return median_times(lines.assign(**columns, mark=mark), "a call, from and to host memory")


def median_times(summary: pd.DataFrame, what: str = "a search") -> style.Figure:
    """Draw the median time of every variant and rival, with its 95% interval, by problem and graph.

    Real times come first; emulated times have separate panels and a separate axis below them. Lines of
    ``summary.csv`` without a time are named, not drawn.
    """
    title = f"Median time of {what}, by graph and variant"
    lines = with_class(summary)
    lines = lines.assign(name=names.full_names(lines) + lines.get("mark", ""))
    timed = lines.dropna(subset=["median_ms"])
    if timed.empty:
        return style.empty_figure(title, "No variant finished with every answer proven correct.")
    panels = [
        (f"{graph} ({label(str(problem))}){note}", of_race, bool(note))
        for note, of_clock in (("", timed[~is_emulated(timed)]), (EMULATED_NOTE, timed[is_emulated(timed)]))
        for (problem, graph), of_race in of_clock.groupby(["problem", "graph"], sort=False)
    ]
    heights = [len(rows) + 1.6 for _, rows, _ in panels]
    looks = looks_of(lines)
    figure, axes = style.panel_column(ROW_INCHES * sum(heights) + 1.5, len(panels), height_ratios=heights)
    for axis, (name, rows, _) in zip(axes, panels, strict=True):
        _draw_panel(axis, rows, name, looks)
    for emulated in (False, True):
        together = [axis for axis, panel in zip(axes, panels, strict=True) if panel[2] == emulated]
        _share_axis(together, f"Median time of {what} [ms{', emulated' * emulated}]")
    return style.entitle(figure, title, _headline_finding(lines))


def _share_axis(axes: Sequence[style.Axes], title: str) -> None:
    """Give panels one range, and the last of them the labels of the axis.

    The label of a program says whether it ran on a GPU or a CPU.
    """
    if axes:
        ranges = [axis.get_xlim() for axis in axes]
        for axis in axes:
            axis.set_xlim(*names.wide(min(low for low, _ in ranges), max(high for _, high in ranges)))
            style.plain_log(axis.xaxis)
            axis.tick_params(labelbottom=axis is axes[-1])
        axes[-1].set_xlabel(title)


def _draw_panel(axes: style.Axes, rows: pd.DataFrame, title: str, looks: Mapping[str, Look]) -> None:
    """Draw the variants of one problem on one graph, the fastest on top."""
    axes.set_title(title, loc="left", fontsize=9.5)
    ordered = rows.sort_values("median_ms", ascending=False).reset_index(drop=True)
    for y, (_, line) in enumerate(ordered.iterrows()):
        mark = looks[line["variant"]]
        median, low, high = line[["median_ms", "ci95_low_ms", "ci95_high_ms"]]
        if low < high and not 1 < line["sources"] < FEWEST:  # old summaries have intervals of fewer
            span = [[median - low], [high - median]]
            axes.errorbar(median, y, xerr=span, fmt="none", color=mark.colour, capsize=2.5)
        axes.plot(median, y, linestyle="", markersize=6 if mark.is_open else 5, zorder=3, **mark.points)
        style.annotate(axes, rounded(median), (np.fmax(median, high), y), (7, 0), va="center")
    axes.set_yticks(range(len(ordered)), ordered["name"])
    axes.set(xscale="log", ylim=(-0.7, len(ordered) - 0.3))
    axes.margins(x=0.18)
    axes.grid(visible=False, axis="y")


def _headline_finding(lines: pd.DataFrame) -> str:
    """Explain the intervals and markers, and name the missing variants, disputed and emulated times."""
    timed = lines.dropna(subset=["median_ms"])
    said = [f"{_whiskers(timed)}. Log scale; lower is better"]
    if timed["rival"].any():
        said.append("Open markers: rivals, third-party programs")
    if is_emulated(timed).any():
        said.append("Emulated kernels: a CPU ran the CUDA kernels; these are not GPU times")
    disputed = timed[timed["status"] == "disputed"]
    if len(disputed):
        said.append(f"Own clock disputed, timed by ours: {_named(disputed, lines)}")
    missing = lines[lines["median_ms"].isna()]
    if len(missing):
        said.append(f"Not shown: {_named(missing, lines)}")
    return "\n".join(said)


def _whiskers(timed: pd.DataFrame) -> str:
    """Say over how many sources or repetitions the intervals are, if there are any."""
    drawn = timed[timed["ci95_low_ms"] < timed["ci95_high_ms"]]
    sources = drawn.loc[drawn["sources"] >= FEWEST, "sources"]
    said = []
    if len(sources):
        least, most = int(sources.min()), int(sources.max())
        said.append(f"{least}{f' to {most}' if least < most else ''} sources")
    if (drawn["sources"] == 1).any():
        said.append("the repetitions of one search")
    if not said:
        return f"No intervals: fewer than {FEWEST} sources"
    return f"Whiskers: 95% intervals of the median over {' or '.join(said)}"


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
    lines = with_ranks(with_class(with_sets(summary, timings)), timings)
    return pd.DataFrame(
        {
            "Problem": lines["problem"].map(label),
            "Graph": lines["graph"],
            "Rank": lines["rank"].map(whole),
            "Variant": names.short_names(lines),
            "Class": lines["class"].map(CLASSES).fillna(""),
            "Device": lines["device"].map(names.shown_device),
            "Answer": lines["answer"].fillna("") if "answer" in lines else "",
            "Version": lines["version"].map(names.shown_version) if "version" in lines else "",
            "Median [ms]": lines["median_ms"].map(rounded),
            "95% interval": names.intervals(lines["ci95_low_ms"], lines["ci95_high_ms"]),
            "Preparation [ms]": lines["prepare_ms"].map(prepared) if "prepare_ms" in lines else "",
            "Cold [ms]": lines["cold_ms"].map(rounded) if "cold_ms" in lines else "",
            "Call [ms]": names.shown_calls(lines),
            "Memory [MiB]": (lines["peak_bytes"] / 2**20).map(rounded) if "peak_bytes" in lines else "",
            "Slowed": _slowed(lines),
            "Million edges/s": lines["mteps"].map(rounded),
            "Harmonic mean": lines["mteps_harmonic"].map(rounded) if "mteps_harmonic" in lines else "",
            "Phases": lines["phases"].map(whole),
            "Sources": lines["sources"].map(whole),
            "Proven": lines["certified"].map(percent).mask(~was_run(lines), NOT_RUN),
            "Status": lines["status"],
            "Reason": lines["reason"].map(_shown_reason),
        }
    )


def _slowed(lines: pd.DataFrame) -> pd.Series | str:
    """Return the factor of each line whose machine was slowed while it ran."""
    if "slowed" not in lines:  # published before it was kept
        return ""
    factors = lines["slowed"].where(lines["slowed"] > 1 + MAX_DRIFT)
    return factors.map(lambda factor: "" if pd.isna(factor) else f"{factor:.2f} times")


def was_run(lines: pd.DataFrame) -> pd.Series:
    """Return whether each line of ``summary.csv`` is of a run that was made: others have nothing to prove."""
    return ~lines["status"].isin(NOT_TRIED) & lines["device"].notna()


def unmarked(table: pd.DataFrame) -> pd.DataFrame:
    """Return a ranked table for a page, on which the reasons need no protection from reStructuredText."""
    return table.assign(Reason=table["Reason"].str.replace(r"\\(.)", r"\1", regex=True))


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


def emulated_section(table: pd.DataFrame) -> str:
    """Return the section of the landing page on emulated kernels, from a ranked table."""
    rows = table[table["Class"] == CLASSES["emulated"]]
    rows = rows[rows["Proven"] != NOT_RUN]
    if rows.empty:
        return NOTHING
    proven = int((rows["Status"] == "ok").sum())
    shown = ", ".join(dict.fromkeys(rows["Variant"]))
    return f"""<h1>Emulated kernels</h1>
<p>A processor ran these CUDA kernels: {html.escape(shown)}. {proven} of {len(rows)} of their runs were proven
correct all the same. Their times say nothing about a GPU: they have no rank and are compared with no time in
the race. The page of all variants and rivals under Summary has them.</p>
"""


def memory_section(lines: pd.DataFrame) -> str:
    """Return the section of the landing page on the peak of each variant's memory on a GPU, by graph."""
    if "peak_bytes" not in lines:  # published before it was measured
        return NOTHING
    known = with_class(lines).dropna(subset=["median_ms", "peak_bytes"])
    known = known[known["class"] == "gpu"]
    if known.empty:
        return NOTHING
    place = known["problem"].map(label) + ", " + known["graph"]
    table = known.assign(place=place, mib=(known["peak_bytes"] / 2**20).map(rounded))
    shown = table.pivot_table(index="variant", columns="place", values="mib", aggfunc="first", sort=False)
    shown = shown.rename_axis(index=None, columns=None).fillna("")
    return f"""<h1>Memory on the GPU</h1>
<p>Peak in MiB while a variant prepared and searched, the graph included. Rivals are not measured.</p>
<div class="scrolls">
{shown.to_html(border=0, classes="race")}
</div>
"""


def _draw(inputs: Inputs) -> dict[str, Content]:
    lines, searches = inputs.summary(), inputs.searches()
    table = ranked_table(lines, searches)
    return {
        "median-times": median_times(with_sets(lines, searches)),
        "call-times": call_figure(with_sets(lines, searches)),
        "total-times": total_times(searches),
        "single-times": single_times(searches),
        "memory": memory_section(lines),
        "emulated": emulated_section(table),
        "runs": unmarked(table),
        **races_and_emulated(table),
    }


RUNS = {"table": "all variants and rivals"}

EXHIBITS = (
    Exhibit(
        "summary",
        _draw,
        (
            View("median-times", "Summary", labels={"table": "median times (figure)"}),
            View("call-times", SUMMARY, labels={"table": "times of a call (figure)"}),
            View("total-times", SUMMARY, labels={"table": "time per search by number of searches (figure)"}),
            View("single-times", SUMMARY, labels={"table": "times of single searches (figure)"}),
            View("runs", SUMMARY, labels=RUNS, suffix="html", caption="summary"),
            View("memory", suffix="html"),
            View("emulated", suffix="html"),
            View("ranking", suffix="csv"),
            View("ranking-emulated", suffix="csv"),
        ),
        lambda *_: SUMMARISED,
        wanted=lambda plan: bool(plan.runs),
        params=without_curves,
    ),
)
