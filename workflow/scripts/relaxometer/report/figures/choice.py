"""The choice of `auto` on each graph, its reason, and its regret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

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
from relaxometer.report.figures.summary import CLOCKS
from relaxometer.report.targets import runs_of
from relaxometer.results.gather import KEY
from relaxometer.results.samples import EMULATED, paired, source_times

if TYPE_CHECKING:
    from relaxometer.plan.plan import Plan

AUTO = "auto"
"""The kernel that chooses another."""

CLOSE = 0.10
"""Largest regret of a good choice."""

ROW_INCHES = 0.32


def regrets(timings: pd.DataFrame) -> pd.DataFrame:
    """Compare `auto` with the best other variant on each graph, on the same kind of clock.

    Returns
    -------
    DataFrame
        One row per proven run of `auto` with another variant to compare with: ``graph, variant, device_kind,
        chosen, because, probed, prepare_ms, probe_ms, auto_ms, best, best_ms`` and ``regret``, the share by
        which the median of `auto` exceeds that of the best. Medians are over the sources of both variants,
        so they may differ from those of other tables.
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
        best = max(compared, key=lambda name: compared[name][0] / compared[name][1])
        auto_ms, best_ms = compared[best]
        run = first["sssp", graph, variant]
        resolved = {name: run[f"parameter_{name}"] for name in ("chosen", "because", "probed", "probe_ms")}
        row = {"graph": graph, "variant": variant, "device_kind": run["device_kind"], **resolved}
        row |= {"prepare_ms": run["prepare_ms"], "auto_ms": auto_ms, "best": best, "best_ms": best_ms}
        rows.append(row | {"regret": auto_ms / best_ms - 1})
    return pd.DataFrame(rows)


def in_short(table: pd.DataFrame) -> str:
    """Return the number of graphs on which the choice was good, from the table of :func:`regrets`."""
    real = table[table["device_kind"] != EMULATED] if len(table) else table
    if real.empty:
        return "There is no graph on which auto and another variant ran in real time"
    good = int((real["regret"] <= CLOSE).sum())
    return f"auto is within {CLOSE:.0%} of the best on {good} of {len(real)} graphs"


def regret_table(timings: pd.DataFrame) -> pd.DataFrame:
    """Return :func:`regrets` as text, one row per graph and a summary."""
    table = regrets(timings)
    lines = [
        {
            "Graph": row["graph"],
            "Clock": CLOCKS[row["device_kind"]],
            "Chosen": row["chosen"],
            "Why": f"{row['because']}; fastest of {row['probed']}",
            "auto [ms]": f"{row['auto_ms']:.3g}",
            "Best variant": row["best"],
            "Best [ms]": f"{row['best_ms']:.3g}",
            "Regret": f"{round(row['regret'], 2) + 0.0:.0%}",  # no "-0%"
            "Preparation [ms]": f"{row['prepare_ms']:,.0f}",
            "Probe searches [ms]": f"{row['probe_ms']:,.0f}",
        }
        for row in table.to_dict("records")
    ]
    return pd.DataFrame([*lines, {"Graph": in_short(table)}]).fillna("")


def regret_figure(timings: pd.DataFrame) -> Figure:
    """Draw the time of `auto` relative to the best other variant on each graph."""
    title = "Time of auto relative to the best other variant"
    table = regrets(timings)
    if table.empty:
        return empty_figure(title, in_short(table))
    figure, axes = new_figure(ROW_INCHES * len(table) + 1.9)
    for y, row in enumerate(table.iloc[::-1].to_dict("records")):
        style, ratio = look(row["chosen"]), 1 + row["regret"]
        axes.plot(ratio, y, color=style.colour, marker=style.marker, markersize=7, linestyle="none")
        text = f"{row['chosen']}, {row['auto_ms']:.3g} ms"
        if row["best"] != row["chosen"]:
            text += f"; best: {row['best']}, {row['best_ms']:.3g} ms"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        annotate(axes, text, (ratio, y), (8, 0), va="center", bbox=box)
    axes.axvline(1, color=GREY, linewidth=0.8)
    axes.axvline(1 + CLOSE, color=GREY, linewidth=0.8, linestyle=(0, (3, 2)))
    kind = EMULATED if (table["device_kind"] == EMULATED).any() else ""
    axes.set_yticks(range(len(table)), table["graph"].iloc[::-1])
    axes.set(
        xscale="log",
        xlabel=f"Median time of auto / median time of the best other variant{emulated_note(kind)}",
        ylim=(-0.7, len(table) - 0.3),
    )
    axes.margins(x=0.35)
    plain_log(axes.xaxis)
    entitle(figure, title, f"{in_short(table)} (dashed line). Log scale; preparation not included")
    return figure


def _draw(inputs: Inputs) -> dict[str, Figure | pd.DataFrame]:
    return {"auto-regret": regret_figure(inputs.timings), "auto-choices": regret_table(inputs.timings)}


def _has_choice(plan: Plan) -> bool:
    """Whether `auto` runs on some graph together with another variant."""
    return any(
        run.problem == "sssp" and run.solver == AUTO and len(runs_of(plan, "sssp", run.graph)) > 1
        for run in plan.runs.values()
    )


EXHIBITS = (
    Exhibit(
        "auto-regret",
        _draw,
        lambda *_: {"timings": TIMINGS},
        views=(
            View("auto-regret", "SSSP", "auto", "its time against the best"),
            View(
                "auto-choices",
                "SSSP",
                "auto",
                "its choices and why, as a table",
                caption="auto-regret",
                suffix="csv",
            ),
        ),
        wanted=_has_choice,
    ),
)
