"""What `auto` chose on each graph, why, and how far from the best it came out."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from relaxometer.report.figures.style import GREY, empty_figure, entitle, look, new_figure
from relaxometer.report.figures.summary import CLOCKS
from relaxometer.results.gather import KEY
from relaxometer.results.samples import EMULATED, paired, source_times

AUTO = "auto"
"""Kernel of the variant that chooses."""

CLOSE = 0.10
"""Regret up to which a choice counts as good."""

ROW_INCHES = 0.32

TICKS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.2, 1.5)
"""Ratios that are labelled where all are near 1."""


def regrets(timings: pd.DataFrame) -> pd.DataFrame:
    """Compare `auto` with the best other variant on each graph, in real time or, if it was, in emulated.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches, with what `auto` resolved as ``parameter_...`` columns.

    Returns
    -------
    DataFrame
        A row for each run of `auto` that was proven and has another to be compared with: ``graph, variant,
        device_kind, chosen, because, probed, prepare_ms, probe_ms, auto_ms, best, best_ms`` and ``regret``,
        the share by which the median of `auto` exceeds that of the best. Medians are over the sources that
        both were run from, so they may differ from those of other tables.
    """
    times = source_times(timings[timings["problem"] == "sssp"])
    first = timings.drop_duplicates(KEY).set_index(KEY).to_dict("index")
    is_auto = times["kernel"] == AUTO
    rows = []
    for (graph, variant), ours in times[is_auto].groupby(["graph", "variant"], sort=False):
        emulated = ours["device_kind"].iloc[0] == EMULATED
        rivals = times[~is_auto & (times["graph"] == graph)]
        rivals = rivals[(rivals["device_kind"] == EMULATED) == emulated]
        compared = {
            name: [float(side.median()) for side in paired(ours, theirs)]
            for name, theirs in rivals.groupby("variant", sort=False)
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
    """Say on how many graphs the choice was good.

    Parameters
    ----------
    table : DataFrame
        As :func:`regrets` makes it.
    """
    real = table[table["device_kind"] != EMULATED] if len(table) else table
    if real.empty:
        return "No graph on which auto and another variant ran in real time"
    good = int((real["regret"] <= CLOSE).sum())
    return f"auto is within {CLOSE:.0%} of the best on {good} of {len(real)} graphs"


def regret_table(timings: pd.DataFrame) -> pd.DataFrame:
    """Return :func:`regrets` in words, a line for each graph and a last one that sums up."""
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
            "of it probe searches [ms]": f"{row['probe_ms']:,.0f}",
        }
        for row in table.to_dict("records")
    ]
    return pd.DataFrame([*lines, {"Graph": in_short(table)}]).fillna("")


def regret_figure(timings: pd.DataFrame) -> Figure:
    """Draw each graph's variants relative to the best, with the one that `auto` chose.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches.
    """
    title = "The choice of auto against every other variant"
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
        axes.annotate(
            text,
            (ratio, y),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    axes.axvline(1, color=GREY, linewidth=0.8)
    axes.axvline(1 + CLOSE, color=GREY, linewidth=0.8, linestyle=(0, (3, 2)))
    emulated = bool((table["device_kind"] == EMULATED).any())
    axes.set_yticks(range(len(table)), table["graph"].iloc[::-1])
    axes.set(
        xscale="log",
        xlabel="Median time over that of the best other variant" + (", emulated" if emulated else ""),
        ylim=(-0.7, len(table) - 0.3),
    )
    axes.margins(x=0.35)
    _set_ticks(axes)
    entitle(
        figure, title, in_short(table) + ". Dashed: the limit of that. Log scale; preparation is not counted"
    )
    return figure


def _set_ticks(axes: Axes) -> None:
    """Label 1, 2, 5, 10, ..., or, where all ratios are near 1, a few around it."""
    least, most = axes.get_xlim()
    if least > TICKS[0] and most < 2:
        axes.set_xticks([ratio for ratio in TICKS if least <= ratio <= most])
    else:
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
