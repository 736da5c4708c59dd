"""Preparation against search time: which programs no other one beats in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from relaxometer.report.catalogue import Exhibit, View, runs_on, without_curves
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import Look, looks_of
from relaxometer.report.figures.names import MIN_SPAN, full_names, label, plain, wide
from relaxometer.report.figures.summary import LEAST_PREPARATION_MS
from relaxometer.results.query_sets import by_set
from relaxometer.results.races import common_medians, finishers
from relaxometer.results.rows import KEY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

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
        return style.empty_figure(title, "On no graph did two programs finish in real time, proven correct.")
    graphs = list(shown["graph"].unique())
    names = shown.drop_duplicates("variant").set_index("variant")["name"]
    figure, panels, in_a_row = style.panel_grid(len(graphs), list(names), sharex=True)
    looks = looks_of(shown[["variant", "rival"]].itertuples(index=False, name=None))
    markers = {}
    for panel, graph in zip(panels, graphs, strict=True):
        markers[panel] = _draw_panel(panel, shown[shown["graph"] == graph], looks)
        panel.set_title(graph, loc="left", fontsize=9.5)
    least, most = panels[0].get_xlim()  # shared by all
    panels[0].set_xlim(least, max(most, MIN_SPAN * least))  # nothing is left of the least preparation
    for panel in panels[-style.PANELS_IN_A_ROW :]:
        panel.set_xlabel("Preparation [ms]")
        panel.tick_params(labelbottom=True)
    for panel in panels[:: style.PANELS_IN_A_ROW]:
        panel.set_ylabel("Median search [ms]")
    style.legend_below(figure, {names[variant]: looks[variant] for variant in names.index}, in_a_row)
    style.entitle(figure, title, _finding(shown))
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
        marker.set_transform(axes.transData + style.shift(axes, right, 0))


def _draw_panel(axes: Axes, rows: pd.DataFrame, looks: Mapping[str, Look]) -> list[Line2D]:
    """Draw the programs on one graph, the fastest first, and the front as steps; return the markers."""
    best = rows.iloc[front(rows["prepare_ms"].tolist(), rows["time_ms"].tolist())]
    axes.plot(
        best["prepare_ms"], best["time_ms"], drawstyle="steps-post", color=style.GREY, linewidth=1, zorder=1
    )
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
    style.plain_log(axes.xaxis, axes.yaxis)
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
    name = f"{problem}-pareto"
    return Exhibit(
        name,
        lambda inputs: preparation_against_search(inputs.searches(), problem),
        (View(name, label(problem), "preparation", "against search time", caption="pareto"),),
        wanted=runs_on(problem),
        params=without_curves,
    )


EXHIBITS = tuple(map(_exhibit, ("sssp", "bfs", "dominators")))
