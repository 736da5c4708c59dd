"""The README's figure: what a search takes, and what its preparation takes before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from relaxometer.report.figures import style
from relaxometer.report.figures.looks import looks_of
from relaxometer.report.figures.names import full_names, label
from relaxometer.report.figures.summary import LEAST_PREPARATION_MS, rounded
from relaxometer.results.samples import with_class

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Median time of a search, and of its preparation"
ROW_INCHES = 0.25


def times_and_preparation(summary: pd.DataFrame) -> Figure:
    """Draw the median time of each variant with its preparation, one panel per problem and graph.

    Parameters
    ----------
    summary : DataFrame
        Lines of ``summary.csv``; all have a time. Problems and graphs keep their order.
    """
    lines = with_class(summary)
    lines = lines.assign(name=full_names(lines))
    looks = looks_of(lines[["variant", "rival"]].itertuples(index=False, name=None))
    races = lines.groupby(["problem", "graph"], sort=False)
    panels = [
        (f"{label(str(problem))} on {graph}", rows.sort_values("median_ms"))
        for (problem, graph), rows in races
    ]
    heights = [len(rows) + 1.3 for _, rows in panels]
    figure, axes = style.new_figure(
        ROW_INCHES * sum(heights) + 1.8, 1, len(panels), squeeze=False, sharex=True, height_ratios=heights
    )
    for panel, (race, rows) in zip(axes[:, 0], panels, strict=True):
        panel.set_title(race, loc="left", fontsize=9.5)
        for y, (_, line) in enumerate(rows.iterrows()):
            _draw_row(panel, y, line, looks[line["variant"]].points)
        panel.set_yticks(range(len(rows)), rows["name"])
        panel.set(xscale="log", ylim=(len(rows) - 0.3, -0.7))
        panel.margins(x=0.14)
        panel.grid(visible=False, axis="y")
    style.plain_log(axes[-1, 0].xaxis)
    axes[-1, 0].set_xlabel("Time [ms]")
    _explain(axes[0, 0])
    style.entitle(figure, TITLE, "Open markers: rivals. Preparation is done once per graph. Lower is better.")
    return figure


def _draw_row(axes: Axes, y: int, line: pd.Series, points: dict[str, Any]) -> None:
    """Draw a search, its preparation if it is known, and a line between the two."""
    search, preparation = line["median_ms"], line["prepare_ms"]
    axes.plot(search, y, linestyle="", markersize=5.5, zorder=3, **points)
    if pd.isna(preparation) or preparation < LEAST_PREPARATION_MS:
        style.annotate(axes, rounded(search), (search, y), (7, 0), va="center")
        return
    axes.plot([search, preparation], [y, y], color=style.FAINT, linewidth=1, zorder=1)
    axes.plot(preparation, y, linestyle="", marker="|", markersize=9, color=style.GREY, zorder=2)
    is_first = search < preparation
    for value, side in ((search, -1 if is_first else 1), (preparation, 1 if is_first else -1)):
        style.annotate(
            axes,
            rounded(value),
            (value, y),
            (7 * side, 0),
            va="center",
            ha="left" if side > 0 else "right",
            color="black" if value == search else style.GREY,
        )


def _explain(axes: Axes) -> None:
    """Put the legend of the two marks above the first panel, to the right of its title."""
    marks = [
        style.legend_mark(linestyle="", marker="o", color="black", label="a search"),
        style.legend_mark(linestyle="", marker="|", markersize=9, color=style.GREY, label="preparation"),
    ]
    axes.legend(handles=marks, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.2)
