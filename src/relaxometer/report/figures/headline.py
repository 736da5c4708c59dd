"""The README's figure: what a search takes, and what its preparation takes before it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from relaxometer.report.figures import style
from relaxometer.report.figures.looks import looks_of
from relaxometer.report.figures.names import LEAST_PREPARATION_MS, full_names, label, rounded
from relaxometer.results.samples import with_class

TITLE = "Median time of a search, and of its preparation"
NOTE = "Open markers: rivals. Preparation is done once per graph. Lower is better."
ROW_INCHES = 0.25


def times_and_preparation(summary: pd.DataFrame) -> style.Figure:
    """Draw the median time of each variant with its preparation, one panel per problem and graph.

    The lines of ``summary.csv`` all have a time. Problems and graphs keep their order.
    """
    lines = with_class(summary)
    lines = lines.assign(name=full_names(lines))
    looks = looks_of(lines)
    races = lines.groupby(["problem", "graph"], sort=False)
    heights = races.size() + 1.3
    shown = {"sharex": True, "height_ratios": heights}
    figure, axes = style.panel_column(ROW_INCHES * sum(heights) + 1.8, len(heights), **shown)
    for panel, ((problem, graph), of_race) in zip(axes, races, strict=True):
        rows = of_race.sort_values("median_ms")
        panel.set_title(f"{label(str(problem))} on {graph}", loc="left", fontsize=9.5)
        for y, (_, line) in enumerate(rows.iterrows()):
            _draw_row(panel, y, line, looks[line["variant"]].points)
        panel.set_yticks(range(len(rows)), rows["name"])
        panel.set(xscale="log", ylim=(len(rows) - 0.3, -0.7))
        panel.margins(x=0.14)
        panel.grid(visible=False, axis="y")
    style.plain_log(axes[-1].xaxis)
    axes[-1].set_xlabel("Time [ms]")
    marks = [
        style.legend_mark(linestyle="", marker="o", color="black", label="a search"),
        style.legend_mark(linestyle="", marker="|", markersize=9, color=style.GREY, label="preparation"),
    ]
    # Above the first panel, to the right of its title.
    axes[0].legend(handles=marks, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0.2)
    return style.entitle(figure, TITLE, NOTE)


def _draw_row(axes: style.Axes, y: int, line: pd.Series, points: dict[str, Any]) -> None:
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
        colour = "black" if value == search else style.GREY
        where = {"va": "center", "ha": "left" if side > 0 else "right"}
        style.annotate(axes, rounded(value), (value, y), (7 * side, 0), color=colour, **where)
