"""Figures 9, 10 and 12 of Hirakushi and Takahashi over ranks, and the scaling of series of runs.

All are drawn from the table of :func:`relaxometer.results.scaling.scaling_table`. Source: "Breadth-first
search on a GPU cluster".
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import pandas as pd

from relaxometer.core.words import counted
from relaxometer.report.catalogue import SUMMARY, Exhibit, Inputs, View
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import LOOKS, Look
from relaxometer.report.figures.names import rounded
from relaxometer.results.readable import number_text
from relaxometer.results.samples import EMULATED, in_words, on_one_clock

NOTHING_PROVEN = "No breadth-first search over several ranks here was proven correct and finished."
WAYS = {"nccl": "NCCL", "mpi": "MPI", "peers": "each other's memory"}  # names of the transports between ranks

SERIES = ("top-down", "bottom-up", "adaptive", "dijkstra-cpu", "cooperative", "level-array")
"""Variants whose looks the series of a panel take in turn."""


def rates(table: pd.DataFrame) -> style.Figure:
    """Draw figure 9: the median rate of a search over the number of ranks."""
    title = "Figure 9: rate of breadth-first search over the number of ranks"
    shown = _shown(table[table["problem"] == "bfs"])
    if shown.empty:
        return style.empty_figure(title, NOTHING_PROVEN)

    def draw(axes: style.Axes, rows: pd.DataFrame) -> None:
        _scale_by_logarithm(axes, f"Median rate [10⁹ edges/s{_note(rows)}]")
        _lines(axes, rows, "median_gteps", "gteps_low", "gteps_high")
        for series, mark in _looks(rows).items():
            of_series = rows[rows["series"] == series]
            ranks, model = of_series["ranks"], of_series["model_gteps"]
            axes.plot(ranks, model, color=mark.colour, linestyle=":", linewidth=1)

    fastest = shown.iloc[int(shown["median_gteps"].to_numpy().argmax())]
    rate = f"{rounded(fastest['median_gteps'])}·10⁹ edges/s"
    best = f"fastest: {fastest['variant']} with {rate} on {counted(fastest['ranks'], 'rank')}"
    if shown["model_gteps"].notna().any():
        best += "; dotted: cost model"
    return _panels(shown, title, draw, f"{_machine(shown)}\n{best}")


def computing(table: pd.DataFrame) -> style.Figure:
    """Draw figure 10: the computing time of the slowest rank in a search over the number of ranks."""
    return _part(table, "computing_ms", "10", "Computing")


def communication(table: pd.DataFrame) -> style.Figure:
    """Draw figure 12: the communication time of a search over the number of ranks."""
    return _part(table[table["ranks"] > 1], "communication_ms", "12", "Communication")


def _part(table: pd.DataFrame, column: str, number: str, part: str) -> style.Figure:
    title = f"Figure {number}: {part.lower()} time of breadth-first search over the number of ranks"
    shown = _shown(table[table["problem"] == "bfs"])
    if shown.empty:
        return style.empty_figure(title, NOTHING_PROVEN)

    def draw(axes: style.Axes, rows: pd.DataFrame) -> None:
        _scale_by_logarithm(axes, f"{part} time [ms{_note(rows)}]")
        _lines(axes, rows, column)

    share = shown[column] / (shown["computing_ms"] + shown["communication_ms"])
    widest = shown.iloc[int(share.to_numpy().argmax())]
    largest = f"largest share of a search: {share.max():.0%}, {widest['variant']}"
    return _panels(shown, title, draw, f"{_machine(shown)}; medians of instrumented searches, {largest}")


def scaling(table: pd.DataFrame) -> style.Figure:
    """Draw the efficiency of weak scaling and the speed-up of strong scaling over the number of ranks."""
    title = "Weak and strong scaling over the number of ranks"
    shown = _shown(table)
    shown = shown[shown.groupby("series")["ranks"].transform("nunique") > 1]
    if shown.empty:
        return style.empty_figure(title, "No series here has proven runs of different numbers of ranks.")
    fewest = shown.groupby("series")["ranks"].transform("min")
    shown = shown.assign(speed_up=shown["efficiency"] * shown["ranks"] / fewest)
    most = shown.loc[shown.groupby("series", sort=False)["ranks"].idxmax()]
    fastest = most.loc[most.groupby("weak")["median_gteps"].idxmax()].sort_values("weak", ascending=False)
    each = [f"{row.series} {row.efficiency:.0%} on {row.ranks} ranks" for row in fastest.itertuples()]
    finding = f"efficiency of the fastest: {', '.join(each)}; dashed: perfect"

    def draw(axes: style.Axes, rows: pd.DataFrame) -> None:
        (_draw_weak if rows["weak"].iloc[0] else _draw_strong)(axes, rows)

    return _panels(shown, title, draw, f"{_machine(shown)}\n{finding}")


def _draw_weak(axes: style.Axes, rows: pd.DataFrame) -> None:
    """Draw the rate per rank, relative to the fewest ranks."""
    _lines(axes, rows, "efficiency")
    axes.axhline(1, **style.DASHED)
    axes.set_ylim(0, 1.1 * max(1.0, rows["efficiency"].max()))
    axes.set_ylabel(f"Efficiency{_note(rows)}")
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")


def _draw_strong(axes: style.Axes, rows: pd.DataFrame) -> None:
    """Draw the rate, relative to the fewest ranks."""
    _lines(axes, rows, "speed_up")
    ranks = sorted(set(rows["ranks"]))
    axes.plot(ranks, [count / ranks[0] for count in ranks], **style.DASHED)
    axes.set_yscale("log", base=2)
    axes.set_ylabel(f"Speed-up{_note(rows)}")
    axes.yaxis.set_major_formatter(lambda factor, _: f"{factor:g}")


def _panels(
    shown: pd.DataFrame, title: str, draw: Callable[[style.Axes, pd.DataFrame], None], finding: str
) -> style.Figure:
    """Draw one panel for series whose graph grows with the ranks and one for those of a fixed graph."""
    kinds = [("Weak scaling", shown[shown["weak"]]), ("Strong scaling", shown[~shown["weak"]])]
    kinds = [(name, rows) for name, rows in kinds if len(rows)]
    figure, panels = style.panel_column(0.6 + 2.4 * len(kinds), len(kinds))
    for axes, (name, rows) in zip(panels, kinds, strict=True):
        draw(axes, rows)
        axes.set_title(name, loc="left", fontsize=9.5)
        _over_ranks(axes, rows)
    if (shown["device_kind"] == EMULATED).any():
        finding = f"{in_words(shown, 'device')}; {style.NOT_GPU_TIMES}"
    return style.entitle(figure, title, finding)


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that finished with proven answers, on one clock."""
    return on_one_clock(table[table["status"] == "ok"])


def _note(rows: pd.DataFrame) -> str:
    return style.emulated_note(str(rows["device_kind"].iloc[0]))


def _machine(rows: pd.DataFrame) -> str:
    ways = " or ".join(WAYS[way] for way in sorted(set(rows.loc[rows["ranks"] > 1, "transport"])))
    return in_words(rows, "device") + (f", ranks joined by {ways}" if ways else "")


def _looks(rows: pd.DataFrame) -> dict[str, Look]:
    return dict(zip(rows["series"].unique(), cycle(LOOKS[name] for name in SERIES), strict=False))


def _scale_by_logarithm(axes: style.Axes, label: str) -> None:
    """Make the vertical axis logarithmic and label it, before anything is drawn.

    Later, Matplotlib would first choose a range by a locator of its own, and that range has no width for a
    single value that rounding has moved off a power of ten.
    """
    axes.set(yscale="log", ylabel=label)
    style.plain_log(axes.yaxis)


def _lines(axes: style.Axes, rows: pd.DataFrame, column: str, low: str = "", high: str = "") -> None:
    """Draw a solid line for each series, with whiskers from `low` to `high` if these are given."""
    for series, mark in _looks(rows).items():
        of_series = rows[rows["series"] == series]
        middle = of_series[column]
        ends = (middle - of_series[low], of_series[high] - middle) if low else None
        line = mark.line | {"linestyle": "-", "markersize": 5, "capsize": 2.5, "label": series}
        axes.errorbar(of_series["ranks"], middle, yerr=ends, **line)


def _over_ranks(axes: style.Axes, rows: pd.DataFrame) -> None:
    """Label the axis with the numbers of ranks, and put the legend at the right."""
    axes.set(xscale="log", xlabel="Ranks, one device each")
    axes.set_xticks(sorted(set(rows["ranks"])))
    axes.xaxis.set_major_formatter(lambda ranks, _: f"{ranks:g}")
    axes.xaxis.minorticks_off()
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), borderaxespad=0.2, handlelength=2.6)


def _draw(inputs: Inputs) -> dict[str, style.Figure | pd.DataFrame]:
    table = inputs.table("ranks")
    numbers = table.select_dtypes("number").columns
    return {
        "distributed": table.assign(**{name: table[name].map(number_text) for name in numbers}),
        "rate-over-ranks": rates(table),
        "computing-over-ranks": computing(table),
        "communication-over-ranks": communication(table),
        "scaling-over-ranks": scaling(table),
    }


def _view(name: str, figure: str, view: str, caption: str = "") -> View:
    return View(name, "BFS", figure, view, graph="several ranks", caption=caption)


EXHIBITS = (
    Exhibit(
        "ranks",
        _draw,
        (
            View("distributed", SUMMARY, labels={"table": "searches over several ranks"}, suffix="html"),
            _view("rate-over-ranks", "figure 9", "rate over ranks"),
            _view("computing-over-ranks", "figure 10", "computing over ranks", "parts-over-ranks"),
            _view("communication-over-ranks", "figure 12", "communication over ranks", "parts-over-ranks"),
            _view("scaling-over-ranks", "scaling", "weak and strong scaling"),
        ),
        lambda *_: {"ranks": "results/distributed.csv"},
        wanted=lambda plan: bool(plan.distributed),
    ),
)
