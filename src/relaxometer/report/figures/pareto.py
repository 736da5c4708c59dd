"""Preparation against search time: which programs no other one beats in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from relaxometer.report.catalogue import TIMINGS, Exhibit, View, swept
from relaxometer.report.figures.looks import Look, looks_of
from relaxometer.report.figures.names import full_names, label
from relaxometer.report.figures.style import (
    GREY,
    MIN_SPAN,
    empty_figure,
    entitle,
    legend_below,
    new_figure,
    plain,
    plain_log,
    shift,
    wide,
)
from relaxometer.report.figures.summary import LEAST_PREPARATION_MS
from relaxometer.report.targets import graphs_of
from relaxometer.results.query_sets import by_set
from relaxometer.results.races import common_medians, finishers
from relaxometer.results.rows import KEY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

COLUMNS = 2
"""Panels in a row."""

PANEL_INCHES = 2.5
ROW_INCHES = 0.2
"""Height of a row of the legend."""

MOST_IN_A_ROW, LETTERS_IN_A_ROW = 3, 92
"""Maximum names per row of the legend; fewer if they do not fit."""

LEAST_MS = LEAST_PREPARATION_MS
"""A program that prepares in less is drawn here: it is ready at once, and the rest is the cost of a call."""

MARKER_POINTS = 6.5
"""Size of a marker. One that would cover another is drawn at its right."""


def front(preparation: Sequence[float], search: Sequence[float]) -> list[int]:
    """Return the places of the points that no other beats, the one with the least preparation first.

    A point is beaten by one that has no more preparation and no longer searches, and less of one of them.
    """
    best, kept = np.inf, []
    for place in sorted(range(len(preparation)), key=lambda one: (preparation[one], search[one])):
        if search[place] < best:
            best = search[place]
            kept.append(place)
    return kept


def legend_columns(names: Sequence[str]) -> int:
    """Return the most columns, filled one after the other, in which the names fit below the panels."""
    for columns in range(min(MOST_IN_A_ROW, len(names)), 1, -1):
        widths = [max(map(len, part)) for part in np.array_split(np.array(names, dtype=object), columns)]
        if sum(widths) <= LETTERS_IN_A_ROW:
            return columns
    return 1


def points(timings: pd.DataFrame) -> pd.DataFrame:
    """Return preparation, median search time and name of every finisher, in real time.

    Medians are over the sources that all finishers of a graph share.
    """
    medians = common_medians(finishers(timings))
    prepared = by_set(timings).groupby(KEY)["prepare_ms"].first()
    found = medians.join(prepared, on=KEY).dropna(subset=["prepare_ms"])
    versions = timings.get("parameter_version", pd.Series(dtype=object)).groupby(timings["variant"]).first()
    named = found.assign(version=found["variant"].map(versions))
    return named.assign(name=full_names(named))


def preparation_against_search(timings: pd.DataFrame, problem: str) -> Figure:
    """Draw the preparation and the median search time of every program of a problem, a panel per graph.

    Graphs that only one program finished are left out.
    """
    title = f"{label(problem)}: preparation against search time"
    shown = points(timings[timings["problem"] == problem])
    shown = shown.assign(prepare_ms=shown["prepare_ms"].clip(lower=LEAST_MS))
    shown = shown[shown.groupby("graph")["variant"].transform("nunique") > 1]
    if shown.empty:
        return empty_figure(title, "On no graph did two programs finish in real time, proven correct.")
    graphs = list(shown["graph"].unique())
    names = shown.drop_duplicates("variant").set_index("variant")["name"]
    names_in_a_row = legend_columns(list(names))
    rows, entries = -(-len(graphs) // COLUMNS), -(-len(names) // names_in_a_row)
    columns = min(COLUMNS, len(graphs))
    height = PANEL_INCHES * rows + ROW_INCHES * entries + 1.1
    figure, axes = new_figure(height, columns, rows, squeeze=False, sharex=True)
    looks = looks_of(shown[["variant", "rival"]].itertuples(index=False, name=None))
    panels = axes.ravel()
    markers = {}
    for panel, graph in zip(panels, graphs, strict=False):
        markers[panel] = _draw_panel(panel, shown[shown["graph"] == graph], looks)
        panel.set_title(graph, loc="left", fontsize=9.5)
    least, most = panels[0].get_xlim()  # shared by all
    panels[0].set_xlim(least, max(most, MIN_SPAN * least))  # nothing is left of the least preparation
    for panel in panels[len(graphs) :]:
        panel.set_axis_off()
    for panel in panels[max(0, len(graphs) - columns) : len(graphs)]:
        panel.set_xlabel("Preparation [ms]")
        panel.tick_params(labelbottom=True)
    for panel in axes[:, 0]:
        panel.set_ylabel("Median search [ms]")
    legend_below(figure, {names[variant]: looks[variant] for variant in names.index}, names_in_a_row)
    entitle(figure, title, _finding(shown))
    figure.draw_without_rendering()  # places the panels, so that distances between markers are known
    for panel, of_panel in markers.items():
        _part(panel, of_panel)
    return figure


def _part(axes: Axes, markers: Sequence[Line2D]) -> None:
    """Move every marker that covers another to its right."""
    to_points = 72 / axes.figure.dpi
    placed: list[npt.NDArray[np.float64]] = []
    for marker in markers:
        place = axes.transData.transform(np.asarray(marker.get_xydata())[0]) * to_points
        start = place.copy()
        while any(np.hypot(*(place - other)) < 0.6 * MARKER_POINTS for other in placed):
            place += np.array([0.8 * MARKER_POINTS, 0.0])
        placed.append(place)
        right = float(place[0] - start[0]) / 72
        marker.set_transform(axes.transData + shift(axes, right, 0))


def _draw_panel(axes: Axes, rows: pd.DataFrame, looks: Mapping[str, Look]) -> list[Line2D]:
    """Draw the programs on one graph, the fastest first, and the front as steps; return the markers."""
    best = rows.iloc[front(rows["prepare_ms"].tolist(), rows["time_ms"].tolist())]
    axes.plot(best["prepare_ms"], best["time_ms"], drawstyle="steps-post", color=GREY, linewidth=1, zorder=1)
    markers = [
        axes.plot(
            row["prepare_ms"],
            row["time_ms"],
            linestyle="none",
            markersize=MARKER_POINTS,
            **looks[row["variant"]].points,
        )[0]
        for row in rows.sort_values("time_ms").to_dict("records")
    ]
    axes.set(xscale="log", yscale="log")
    axes.margins(0.12)
    axes.set_ylim(*wide(*axes.get_ylim()))
    plain_log(axes.xaxis, axes.yaxis)
    axes.xaxis.set_major_formatter(_prepared)
    return markers


def _prepared(value: float, _: float) -> str:
    """Label an axis of preparation: where all stand that are ready at once, and nothing left of there."""
    return "" if value < 0.99 * LEAST_MS else f"≤{value:g}" if abs(value - LEAST_MS) < 1e-9 else plain(value)


def _finding(shown: pd.DataFrame) -> str:
    """Name the programs that are on the front of the most graphs."""
    on_front = pd.concat(
        [
            rows.iloc[front(rows["prepare_ms"].tolist(), rows["time_ms"].tolist())]
            for _, rows in shown.groupby("graph")
        ]
    )
    counts = on_front["name"].value_counts()
    graphs = shown["graph"].nunique()
    named = ", ".join(f"{name} on {count} of {graphs}" for name, count in counts.head(4).items())
    rest = f" and {len(counts) - 4} more" if len(counts) > 4 else ""
    explained = (
        "Grey steps: the Pareto front, the programs that no other one beats in both. Log scales; lower and "
        "further left is better. Markers that would cover each other stand side by side. Real time only"
    ) + ("; open markers: rivals" if shown["rival"].any() else "")
    return f"{explained}\nOn the front: {named}{rest}"


def _exhibit(problem: str) -> Exhibit:
    return Exhibit(
        f"{problem}-pareto",
        lambda inputs: preparation_against_search(inputs.searches(without=inputs.params["swept"]), problem),
        lambda *_: {"timings": TIMINGS},
        views=(
            View(f"{problem}-pareto", label(problem), "preparation", "against search time", caption="pareto"),
        ),
        wanted=lambda plan: bool(graphs_of(plan, problem)),
        params=lambda plan, _: {"swept": swept(plan)},
    )


EXHIBITS = tuple(map(_exhibit, ("sssp", "bfs", "dominators")))
