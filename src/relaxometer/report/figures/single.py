"""The samples behind the medians: the times of single searches, by graph, variant and process."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd

from relaxometer.report.figures import style
from relaxometer.report.figures.names import label, short_names
from relaxometer.results.query_sets import by_set
from relaxometer.results.rows import PROVEN
from relaxometer.results.samples import is_emulated

TITLE = "Times of single searches"
ROW_INCHES, PANEL_INCHES = 0.22, 0.75
"""Height of a variant, and of what else belongs to a panel."""


def single_times(timings: pd.DataFrame) -> style.Figure:
    """Draw a panel per graph: for each program in real time, a box per process over all its searches."""
    timings = by_set(timings[~is_emulated(timings) & timings["status"].isin(PROVEN)])
    graphs = list(timings.groupby(["problem", "graph"], sort=False))
    if not graphs:
        return style.empty_figure(TITLE, "No program has proven a search in real time.")
    rows = [of_graph["variant"].nunique() for _, of_graph in graphs]
    inches = [PANEL_INCHES + ROW_INCHES * count for count in rows]
    figure, axes = style.new_figure(sum(inches) + 0.6, rows=len(graphs), squeeze=False, height_ratios=inches)
    for panel, ((problem, graph), of_graph) in zip(axes[:, 0], graphs, strict=True):
        _draw(panel, of_graph)
        panel.set_title(f"{label(str(problem))}, {graph}", loc="left", fontsize=9.5)
    axes[-1, 0].set_xlabel("ms")
    return style.entitle(
        figure, TITLE, "Boxes: quartiles of a process; whiskers: its fastest and slowest search"
    )


def _draw(panel: style.Axes, searches: pd.DataFrame) -> None:
    import seaborn as sns  # takes longer to load than to draw with

    named = searches.assign(name=short_names(searches))
    order = named.groupby("name")["time_ms"].median().sort_values().index
    columns: dict[str, Any] = {"x": "time_ms", "y": "name", "hue": "round", "order": order, "legend": False}
    looks: dict[str, Any] = {"palette": "deep", "whis": (0, 100), "linewidth": 0.7, "width": 0.7}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="vert: bool was deprecated")  # by Matplotlib, of seaborn
        sns.boxplot(named, **columns, **looks, ax=panel)
    panel.set(xscale="log", xlabel="", ylabel="")
    style.plain_log(panel.xaxis)
