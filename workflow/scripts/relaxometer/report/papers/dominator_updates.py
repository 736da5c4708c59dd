"""Updates of dominators over the number of arcs that change, beside full solves."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from relaxometer.report.figures.style import (
    Look,
    empty_figure,
    emulated_note,
    entitle,
    legend_above,
    new_figure,
)
from relaxometer.report.figures.summary import CLOCKS, rounded
from relaxometer.results.samples import EMULATED, in_words

LOOKS = {"removed": Look("#D55E00", "-", "s"), "added": Look("#0072B2", "-", "o")}
"""By change."""

FULL = (0, (4, 2))
"""How full solves are drawn, in the colour of the change."""

TITLE = "Dominators of a graph that changes"


def medians(updates: pd.DataFrame) -> pd.DataFrame:
    """Return the medians over the draws of every change on every graph.

    Parameters
    ----------
    updates : DataFrame
        As :data:`relaxometer.measure.updates.TABLE`, of any graphs.

    Returns
    -------
    DataFrame
        With the columns ``graph, change, arcs, device_kind, device, time_ms, full_ms, kept, status`` and
        ``gain``: how many times as fast as a full solve. A change of which any draw failed has no times.
    """
    key = ["graph", "change", "arcs", "device_kind", "device"]
    table = updates.groupby(key, sort=False)[["time_ms", "full_ms", "kept"]].median()
    worst = updates.sort_values("status", key=lambda status: status == "ok", kind="stable")
    table["status"] = worst.groupby(key)["status"].first()
    table.loc[table["status"] != "ok", ["time_ms", "full_ms", "kept"]] = np.nan
    return table.assign(gain=table["full_ms"] / table["time_ms"]).reset_index()


def over_arcs(updates: pd.DataFrame) -> Figure:
    """Draw the time of updates over the number of arcs, a panel for each graph.

    Parameters
    ----------
    updates : DataFrame
        As :data:`relaxometer.measure.updates.TABLE`.
    """
    table = medians(updates).dropna(subset=["time_ms"])
    if table.empty:
        return empty_figure(TITLE, "No update was proven right and finished.")
    names = list(table["graph"].unique())
    kind = str(table["device_kind"].iloc[0])
    figure, panels = new_figure(1.2 + 2.2 * len(names), rows=len(names), sharex=True, squeeze=False)
    for axes, name in zip(panels[:, 0], names, strict=True):
        _panel(axes, table[table["graph"] == name])
        axes.set_title(name, loc="right", fontsize=9)
        axes.set_ylabel(f"Median time [ms{emulated_note(kind)}]")
    panels[-1, 0].set_xlabel("Arcs of an update")
    legend_above(panels[0, 0], 2)
    entitle(figure, TITLE, _finding(table, kind))
    return figure


def _panel(axes: Axes, table: pd.DataFrame) -> None:
    """Draw both changes of one graph, and the full solves of the states that they lead to."""
    for change, rows in table.groupby("change", sort=False):
        style, ordered = LOOKS[str(change)], rows.sort_values("arcs")
        options = {"color": style.colour, "linestyle": style.dash, "marker": style.marker, "markersize": 5}
        axes.plot(ordered["arcs"], ordered["time_ms"], label=f"arcs {change}", **options)
        label = f"full solve, {change}"
        axes.plot(ordered["arcs"], ordered["full_ms"], color=style.colour, linestyle=FULL, label=label)
    axes.set(xscale="log", yscale="log")
    least, most = table[["time_ms", "full_ms"]].min().min(), table[["time_ms", "full_ms"]].max().max()
    axes.set_ylim(10 ** np.floor(np.log10(least)), 10 ** np.ceil(np.log10(most)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        axis.set_minor_formatter(NullFormatter())


def _finding(table: pd.DataFrame, kind: str) -> str:
    """Say for each change how much faster than a full solve it is at least and at most."""
    devices = in_words(table, "device")
    if kind == EMULATED:
        return f"{devices}; emulated device: these are no GPU times"
    ranges = [
        f"{change}: {rows['gain'].min():.2g} to {rows['gain'].max():.2g} times as fast as a full solve"
        for change, rows in table.groupby("change", sort=False)
    ]
    return f"{devices}; all states proven. Arcs {'; '.join(ranges)}"


def updates_table(updates: pd.DataFrame) -> pd.DataFrame:
    """Return the times of all changes, in words."""
    table = medians(updates)
    return pd.DataFrame(
        {
            "Graph": table["graph"],
            "Change": table["change"],
            "Arcs": table["arcs"].map("{:,}".format),
            "Clock": table["device_kind"].map(CLOCKS),
            "Median [ms]": table["time_ms"].map(rounded),
            "Full solve [ms]": table["full_ms"].map(rounded),
            "Times as fast": table["gain"].map(rounded),
            "Kept": [f"{kept:.0%}" if np.isfinite(kept) else "" for kept in table["kept"]],
            "Status": table["status"],
        }
    )
