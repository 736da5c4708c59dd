"""Preparation against search time: which programs no other one beats in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relaxometer.report.catalogue import Exhibit, View, runs_on, without_curves
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import Look, looks_of
from relaxometer.report.figures.names import LEAST_PREPARATION_MS, MIN_SPAN, label, plain, wide, with_names
from relaxometer.results.query_sets import by_set
from relaxometer.results.races import common_medians, finishers
from relaxometer.results.rows import KEY

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

EXPLAINED = (
    "Grey steps: the Pareto front, the programs that no other one beats in both. Log scales; lower and "
    "further left is better. Markers that would cover each other stand side by side. Real time only"
)
MARKER_POINTS = 6.5  # size of a marker. One that would cover another is drawn at its right


def on_front(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the programs on a graph that no other beats, the one with the least preparation first.

    One is beaten by another that has no more preparation and no longer searches, and less of one of them.
    """
    ordered = rows.sort_values(["prepare_ms", "time_ms"], kind="stable")
    return ordered[ordered["time_ms"] < ordered["time_ms"].cummin().shift(fill_value=np.inf)]


def points(timings: pd.DataFrame) -> pd.DataFrame:
    """Return preparation, median search time and name of every finisher, in real time.

    Medians are over the sources that all finishers of a graph share.
    """
    medians = common_medians(finishers(timings))
    prepared = by_set(timings).groupby(KEY)["prepare_ms"].first()
    found = medians.join(prepared, on=KEY).dropna(subset=["prepare_ms"])
    return with_names(found, timings)


def preparation_against_search(timings: pd.DataFrame, problem: str) -> style.Figure:
    """Draw the preparation and the median search time of every program of a problem, a panel per graph.

    Graphs that only one program finished are left out.
    """
    title = f"{label(problem)}: preparation against search time"
    shown = points(timings[timings["problem"] == problem])
    shown = shown.assign(prepare_ms=shown["prepare_ms"].clip(lower=LEAST_PREPARATION_MS))
    shown = shown[shown.groupby("graph")["variant"].transform("nunique") > 1]
    if shown.empty:
        return style.empty_figure(title, "On no graph did two programs finish in real time, proven correct.")
    graphs = list(shown["graph"].unique())
    names = shown.drop_duplicates("variant").set_index("variant")["name"]
    figure, panels, in_a_row = style.panel_grid(len(graphs), list(names), sharex=True)
    looks = looks_of(shown)
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


def _part(axes: style.Axes, markers: Sequence[Line2D]) -> None:
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


def _draw_panel(axes: style.Axes, rows: pd.DataFrame, looks: Mapping[str, Look]) -> list[Line2D]:
    """Draw the programs on one graph, the fastest first, and the front as steps; return the markers."""
    best = on_front(rows)
    steps: Any = {"drawstyle": "steps-post", "color": style.GREY, "linewidth": 1, "zorder": 1}
    axes.plot(best["prepare_ms"], best["time_ms"], **steps)
    markers = []
    for row in rows.sort_values("time_ms").to_dict("records"):
        mark = {"linestyle": "none", "markersize": MARKER_POINTS, **looks[row["variant"]].points}
        markers += axes.plot(row["prepare_ms"], row["time_ms"], **mark)
    axes.set(xscale="log", yscale="log")
    axes.margins(0.12)
    axes.set_ylim(*wide(*axes.get_ylim()))
    style.plain_log(axes.xaxis, axes.yaxis)
    axes.xaxis.set_major_formatter(_prepared)
    return markers


def _prepared(value: float, _: float) -> str:
    """Label an axis of preparation: where all stand that are ready at once, and nothing left of there."""
    if abs(value - LEAST_PREPARATION_MS) < 1e-9:
        return f"≤{value:g}"
    return plain(value) if value > LEAST_PREPARATION_MS else ""


def _finding(shown: pd.DataFrame) -> str:
    best = pd.concat([on_front(rows) for _, rows in shown.groupby("graph")])
    counts = best["name"].value_counts()
    graphs = shown["graph"].nunique()
    named = ", ".join(f"{name} on {count} of {graphs}" for name, count in counts.head(4).items())
    rest = f" and {len(counts) - 4} more" if len(counts) > 4 else ""
    rivals = "; open markers: rivals" if shown["rival"].any() else ""
    return f"{EXPLAINED}{rivals}\nOn the front: {named}{rest}"


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
