"""Figures 9, 10 and 12 of Hirakushi and Takahashi over ranks, and how well series of runs scale.

References
----------
"Breadth-first search on a GPU cluster".
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from relaxometer.figures.style import (
    GREY,
    empty_figure,
    emulated_note,
    entitle,
    legend_above,
    look,
    new_figure,
)
from relaxometer.samples import EMULATED, in_words, on_one_clock

NOTHING_PROVEN = "No run over several ranks here was proven right and finished."
PERFECT: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": (0, (3, 2))}
NO_TIMES = "Emulated device: these are no GPU times"


def rates(table: pd.DataFrame) -> Figure:
    """Draw figure 9, the median rate of a search over the number of ranks.

    Parameters
    ----------
    table : DataFrame
        As :func:`relaxometer.scaling.scaling_table` returns it.
    """
    title = "Figure 9: rate of a search over ranks"
    shown = _shown(table)
    if shown.empty:
        return empty_figure(title, NOTHING_PROVEN)
    figure, axes = new_figure(4.4)
    for series, rows in shown.groupby("series", sort=False):
        span = rows["median_gteps"] - rows["gteps_low"], rows["gteps_high"] - rows["median_gteps"]
        style = look(str(series))
        axes.errorbar(
            rows["ranks"],
            rows["median_gteps"],
            yerr=span,
            color=style.colour,
            linestyle=style.dash,
            marker=style.marker,
            markersize=5,
            capsize=2.5,
            label=series,
        )
        axes.plot(rows["ranks"], rows["model_gteps"], color=style.colour, linestyle=":", linewidth=1)
    _over_ranks(axes, shown)
    axes.set(yscale="log", ylabel=f"Median rate [10⁹ edges/s{_note(shown)}]")
    _plain(axes)
    fastest = shown.iloc[int(shown["median_gteps"].to_numpy().argmax())]
    best = f"fastest: {fastest['variant']} with {fastest['median_gteps']:,.3g} on {fastest['ranks']} ranks"
    if shown["model_gteps"].notna().any():
        best += "; dotted: the model's prediction"
    entitle(figure, title, f"{_machine(shown)}\n{best}" if not _is_emulated(shown) else NO_TIMES)
    return figure


def computing(table: pd.DataFrame) -> Figure:
    """Draw figure 10, the time that the slowest rank computes in a search, over the number of ranks.

    Parameters
    ----------
    table : DataFrame
        As :func:`relaxometer.scaling.scaling_table` returns it.
    """
    return _part(table, "computing_ms", "Figure 10: computing time of a search over ranks", "Computing")


def communication(table: pd.DataFrame) -> Figure:
    """Draw figure 12, the time that a search takes for communication, over the number of ranks.

    Parameters
    ----------
    table : DataFrame
        As :func:`relaxometer.scaling.scaling_table` returns it.
    """
    title = "Figure 12: communication time of a search over ranks"
    return _part(table[table["ranks"] > 1], "communication_ms", title, "Communication")


def _part(table: pd.DataFrame, column: str, title: str, what: str) -> Figure:
    shown = _shown(table)
    if shown.empty:
        return empty_figure(title, NOTHING_PROVEN)
    figure, axes = new_figure(4.2)
    _lines(axes, shown, column)
    _over_ranks(axes, shown)
    axes.set(yscale="log", ylabel=f"{what}, median over sources [ms{_note(shown)}]")
    _plain(axes)
    both = shown["computing_ms"] + shown["communication_ms"]
    share = shown[column] / both
    widest = shown.iloc[int(share.to_numpy().argmax())]
    largest = f"largest share of a search: {share.max():.0%}, {widest['variant']}"
    lines = [
        f"{_machine(shown)}; instrumented searches, in which ranks wait for each other at every exchange"
    ]
    entitle(figure, title, "\n".join([*lines, largest]) if not _is_emulated(shown) else NO_TIMES)
    return figure


def scaling(table: pd.DataFrame) -> Figure:
    """Draw the efficiency of weak scaling and the speed-up of strong scaling over the number of ranks.

    Parameters
    ----------
    table : DataFrame
        As :func:`relaxometer.scaling.scaling_table` returns it.
    """
    title = "Weak and strong scaling"
    shown = _shown(table)
    several = shown.groupby("series")["ranks"].transform("nunique") > 1
    shown = shown[several]
    if shown.empty:
        return empty_figure(title, "No series here has proven runs of different numbers of ranks.")
    fewest = shown.groupby("series")["ranks"].transform("min")
    shown = shown.assign(speed_up=shown["efficiency"] * shown["ranks"] / fewest)
    kinds = [(_draw_weak, shown[shown["weak"]]), (_draw_strong, shown[~shown["weak"]])]
    kinds = [(draw, rows) for draw, rows in kinds if len(rows)]
    figure, panels = new_figure(3.8, len(kinds), squeeze=False)
    for axes, (draw, rows) in zip(panels[0], kinds, strict=True):
        draw(axes, rows)
        _over_ranks(axes, rows)
    most = shown.loc[shown.groupby("series", sort=False)["ranks"].idxmax()]
    findings = [
        f"{row.series}: efficiency {row.efficiency:.0%} on {row.ranks} ranks" for row in most.itertuples()
    ]
    lines = [_machine(shown), "; ".join(findings)]
    entitle(figure, title, "\n".join(lines) if not _is_emulated(shown) else NO_TIMES)
    return figure


def _draw_weak(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw the rate a rank over that with the fewest ranks."""
    _lines(axes, rows, "efficiency")
    axes.axhline(1, **PERFECT)
    axes.set_ylim(0, 1.1 * max(1.0, rows["efficiency"].max()))
    axes.set_ylabel(f"Weak scaling: efficiency{_note(rows)}")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{share:.0%}"))


def _draw_strong(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw the rate over that with the fewest ranks."""
    _lines(axes, rows, "speed_up")
    ranks = sorted(set(rows["ranks"]))
    axes.plot(ranks, [count / ranks[0] for count in ranks], **PERFECT)
    axes.set_yscale("log", base=2)
    axes.set_ylabel(f"Strong scaling: speed-up{_note(rows)}")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda factor, _: f"{factor:g}"))


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that finished with proven answers, on one clock."""
    return on_one_clock(table[table["status"] == "ok"])


def _is_emulated(rows: pd.DataFrame) -> bool:
    return bool((rows["device_kind"] == EMULATED).any())


def _note(rows: pd.DataFrame) -> str:
    return emulated_note(str(rows["device_kind"].iloc[0]))


def _machine(rows: pd.DataFrame) -> str:
    ways = " and ".join(sorted(set(rows.loc[rows["ranks"] > 1, "transport"])))
    return in_words(rows, "device") + (f", ranks joined by {ways.upper()}" if ways else "")


def _lines(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    for series, of_series in rows.groupby("series", sort=False):
        style = look(str(series))
        axes.plot(
            of_series["ranks"],
            of_series[column],
            color=style.colour,
            linestyle=style.dash,
            marker=style.marker,
            markersize=5,
            label=series,
        )


def _over_ranks(axes: Axes, rows: pd.DataFrame) -> None:
    """Put the numbers of ranks on the axis below, and the legend above."""
    axes.set(xscale="log", xlabel="Ranks, one device each")
    axes.set_xticks(sorted(set(rows["ranks"])))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda ranks, _: f"{ranks:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    legend_above(axes, 2)


def _plain(axes: Axes) -> None:
    """Write plain numbers on a logarithmic axis of values."""
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
