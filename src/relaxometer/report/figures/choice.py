"""The choice of `auto` on each graph, its reason, and its regret."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relaxometer.report.catalogue import TIMINGS, Exhibit, Inputs, View
from relaxometer.report.figures.looks import look
from relaxometer.report.figures.style import (
    GREY,
    annotate,
    empty_figure,
    emulated_note,
    entitle,
    new_figure,
    plain_log,
)
from relaxometer.report.figures.summary import CLOCKS, prepared, rounded
from relaxometer.report.targets import runs_of
from relaxometer.results.rows import KEY
from relaxometer.results.samples import EMULATED, paired, source_times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from relaxometer.plan.plan import Plan

AUTO = "auto"
"""The kernel that chooses another."""

CLOSE = 0.10
"""Largest regret of a good choice."""

NO_CHOICES = "No graph has real times of both auto and another variant"

ROW_INCHES = 0.32

RESOLVED = ("chosen", "because", "expected", "probed", "probe_ms")
"""Columns of `auto`'s choice, besides the number of searches."""


def regrets(timings: pd.DataFrame) -> pd.DataFrame:
    """Compare `auto` with the best other variant on each graph, on the same kind of clock.

    The best has the least total of preparation and the searches that `auto` was to choose for.

    Returns
    -------
    DataFrame
        One row per proven run of `auto` with another variant to compare with: ``graph, variant, device_kind,
        chosen, because, searches, expected, probed, prepare_ms, probe_ms, auto_ms, total_ms, best, best_ms,
        best_total_ms`` and ``regret``, the share by which the total of `auto` exceeds that of the best. A
        search takes its median over the sources of both variants, so times may differ from other tables.
    """
    times = source_times(timings[timings["problem"] == "sssp"])
    first = timings.drop_duplicates(KEY).set_index(KEY).to_dict("index")
    is_auto = times["kernel"] == AUTO
    rows = []
    for (graph, variant), ours in times[is_auto].groupby(["graph", "variant"], sort=False):
        emulated = ours["device_kind"].iloc[0] == EMULATED
        others = times[~is_auto & ~times["rival"] & (times["graph"] == graph)]
        others = others[(others["device_kind"] == EMULATED) == emulated]
        compared = {
            name: [float(side.median()) for side in paired(ours, theirs)]
            for name, theirs in others.groupby("variant", sort=False)
        }
        compared = {name: medians for name, medians in compared.items() if np.isfinite(medians).all()}
        if not compared:
            continue
        run = first["sssp", graph, variant]
        resolved = {name: run[f"parameter_{name}"] for name in RESOLVED}
        searches = int(run["parameter_searches"])
        totals = {
            name: (
                run["prepare_ms"] + searches * auto_ms,
                first["sssp", graph, name]["prepare_ms"] + searches * other_ms,
            )
            for name, (auto_ms, other_ms) in compared.items()
        }
        best = max(totals, key=lambda name: totals[name][0] / totals[name][1])
        (auto_ms, best_ms), (total_ms, best_total_ms) = compared[best], totals[best]
        row = {"graph": graph, "variant": variant, "device_kind": run["device_kind"], **resolved}
        row |= {"searches": searches, "prepare_ms": run["prepare_ms"], "auto_ms": auto_ms, "best": best}
        row |= {"total_ms": total_ms, "best_ms": best_ms, "best_total_ms": best_total_ms}
        rows.append(row | {"regret": total_ms / best_total_ms - 1})
    return pd.DataFrame(rows)


def in_short(table: pd.DataFrame) -> str:
    """Return the number of good choices, from the table of :func:`regrets`."""
    real = table[table["device_kind"] != EMULATED] if len(table) else table
    if real.empty:
        return NO_CHOICES
    good = int((real["regret"] <= CLOSE).sum())
    return f"auto is within {CLOSE:.0%} of the least total in {good} of {len(real)} choices"


def _reason(row: dict[Any, Any]) -> str:
    """Return the kind of graph, the expected totals and what was probed."""
    reason = f"{row['because']}; expected {row['expected']}"
    return f"{reason}; probed {row['probed']} per search" if row["probed"] else reason


def regret_table(timings: pd.DataFrame) -> pd.DataFrame:
    """Return :func:`regrets` as text, one row per choice and a summary."""
    table = regrets(timings)
    lines = [
        {
            "Graph": row["graph"],
            "Clock": CLOCKS[row["device_kind"]],
            "Searches": f"{row['searches']:,}",
            "Chosen": row["chosen"],
            "Why": _reason(row),
            "auto [ms]": rounded(row["auto_ms"]),
            "Preparation [ms]": prepared(row["prepare_ms"]),
            "Total [ms]": rounded(row["total_ms"]),
            "Best variant": row["best"],
            "Best [ms]": rounded(row["best_ms"]),
            "Best total [ms]": rounded(row["best_total_ms"]),
            "Regret": f"{round(row['regret'], 2) + 0.0:.0%}",  # no "-0%"
            "Probe searches [ms]": f"{row['probe_ms']:,.0f}",
        }
        for row in table.to_dict("records")
    ]
    return pd.DataFrame([*lines, {"Graph": in_short(table)}]).fillna("")


def regret_figure(timings: pd.DataFrame) -> Figure:
    """Draw the total of `auto` relative to the best other variant, for each graph and number of searches."""
    title = "Preparation and searches of auto relative to the best other variant"
    table = regrets(timings)
    if table.empty:
        return empty_figure(title, in_short(table))
    table = table.sort_values("searches", kind="stable")
    figure, axes = new_figure(ROW_INCHES * len(table) + 1.9)
    for y, row in enumerate(table.iloc[::-1].to_dict("records")):
        style, ratio = look(row["chosen"]), 1 + row["regret"]
        axes.plot(ratio, y, color=style.colour, marker=style.marker, markersize=7, linestyle="none")
        text = f"{row['chosen']}, {rounded(row['total_ms'])} ms"
        if row["best"] != row["chosen"]:
            text += f"; best: {row['best']}, {rounded(row['best_total_ms'])} ms"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        annotate(axes, text, (ratio, y), (8, 0), va="center", bbox=box)
    axes.axvline(1, color=GREY, linewidth=0.8)
    axes.axvline(1 + CLOSE, color=GREY, linewidth=0.8, linestyle=(0, (3, 2)))
    kind = EMULATED if (table["device_kind"] == EMULATED).any() else ""
    labels = [f"{graph}, {count:,}" for graph, count in zip(table["graph"], table["searches"], strict=True)]
    axes.set_yticks(range(len(table)), labels[::-1])
    axes.set(
        xscale="log",
        xlabel=f"Total of auto / least total of another variant{emulated_note(kind)}",
        ylabel="Graph, number of searches",
        ylim=(-0.7, len(table) - 0.3),
    )
    axes.margins(x=0.35)
    plain_log(axes.xaxis)
    entitle(figure, title, f"{in_short(table)} (dashed line). Log scale")
    return figure


def _draw(inputs: Inputs) -> dict[str, Figure | pd.DataFrame]:
    return {"auto-regret": regret_figure(inputs.timings), "auto-choices": regret_table(inputs.timings)}


def has_choice(plan: Plan, problem: str) -> bool:
    """Return whether `auto` runs on some graph together with another variant."""
    return any(
        run.problem == problem and run.solver == AUTO and len(runs_of(plan, problem, run.graph)) > 1
        for run in plan.runs.values()
    )


EXHIBITS = (
    Exhibit(
        "auto-regret",
        _draw,
        lambda *_: {"timings": TIMINGS},
        views=(
            View("auto-regret", "SSSP", "auto", "its total against the least"),
            View(
                "auto-choices",
                "SSSP",
                "auto",
                "its choices and why, as a table",
                caption="auto-regret",
                suffix="csv",
            ),
        ),
        wanted=lambda plan: has_choice(plan, "sssp"),
    ),
)
