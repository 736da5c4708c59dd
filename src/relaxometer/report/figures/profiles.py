"""Performance profiles: on how many graphs each variant and rival is close to the best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from relaxometer.report.catalogue import Exhibit, View, swept, without_curves
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import Look, looks_of
from relaxometer.report.figures.names import label, with_names
from relaxometer.report.targets import graphs_of
from relaxometer.results.query_sets import takes_queries
from relaxometer.results.races import RACE, relative_times
from relaxometer.results.samples import share_at_or_under

if TYPE_CHECKING:
    from relaxometer.plan.plan import Plan

Floats = npt.NDArray[np.float64]

MIN_GRAPHS = 2  # fewer graphs make no profile; those on which one program finished alone do not count
ROW_INCHES = 0.21  # height of a name in the legend
MIN_FACTOR = 2.0  # the axis reaches at least this factor
DODGE_POINTS = 0.9  # lines that coincide are drawn this far apart
MAX_DODGE_POINTS = 8.0  # the first and the last of many lines are drawn this far apart


def performance_profiles(timings: pd.DataFrame) -> style.Figure:
    """Draw the share of graphs on which each variant and rival is within a factor of the best.

    A panel per problem with at least `MIN_GRAPHS` graphs, in real time only. A run that did not prove an
    answer for every search is within no factor. Source: Dolan and More, "Benchmarking Optimization Software
    with Performance Profiles", Mathematical Programming 91, 2002.
    """
    title = "Performance profile: share of graphs within a factor of the best time"
    profiles = dict(_profiles(timings))
    if not profiles:
        why = f"No problem has {MIN_GRAPHS} graphs and two programs that finished in real time."
        return style.empty_figure(title, why)
    heights = [max(2.6, ROW_INCHES * rows["variant"].nunique() + 1.0) for rows in profiles.values()]
    figure, panels = style.panel_column(sum(heights) + 0.8, len(profiles), height_ratios=heights)
    looks = looks_of(timings)
    for axes, (problem, rows) in zip(panels, profiles.items(), strict=True):
        _draw_profile(axes, rows, looks)
        # The query sets of each name are a separate race.
        races = "pairs of a graph and query sets" if takes_queries(problem) else "graphs"
        axes.set_title(f"{label(problem)}: {rows['graph'].nunique()} {races}", loc="left", fontsize=9.5)
    return style.entitle(figure, title, _finding(profiles))


def _profiles(timings: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each problem that has a profile, with the relative times of its finishers and their names."""
    times = relative_times(timings)
    # A program that ran alone would count as the fastest.
    times = times[times.groupby(RACE)["variant"].transform("nunique") > 1]
    for problem, rows in with_names(times, timings).groupby("problem", sort=False):
        if rows["graph"].nunique() >= MIN_GRAPHS and rows["variant"].nunique() > 1:
            yield str(problem), rows


def _draw_profile(axes: style.Axes, rows: pd.DataFrame, looks: Mapping[str, Look]) -> None:
    """Draw a step line per variant and rival, those with the most area below them first in the legend."""
    graphs = rows["graph"].nunique()
    farthest = max(MIN_FACTOR, 1.15 * rows["ratio"].max())
    curves = {name: profile(of_name["ratio"], graphs, farthest) for name, of_name in rows.groupby("name")}
    variants = rows.groupby("name")["variant"].first()
    areas = {name: np.diff(np.log(at)) @ shares[:-1] for name, (at, shares) in curves.items()}
    order = sorted(curves, key=lambda name: -areas[name])
    apart = min(DODGE_POINTS, MAX_DODGE_POINTS / len(order)) / 72
    for place, name in enumerate(order):
        factors, shares = curves[name]
        line = looks[variants[name]].line | {"drawstyle": "steps-post", "markersize": 5.5, "label": name}
        line["markevery"] = slice(1, -1)  # at the steps
        line["transform"] = axes.transData + style.shift(axes, 0, apart * ((len(order) - 1) / 2 - place))
        axes.plot(factors, shares, **line)
    axes.set(xscale="log", xlim=(1 / 1.03, farthest), ylim=(-0.04, 1.06), ylabel="Share of the graphs")
    axes.set_xlabel("Time within this factor of the best of the graph")
    style.plain_log(axes.xaxis)
    style.label_percent(axes.yaxis)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.03), handlelength=3.4, fontsize=8.5)


def profile(ratios: pd.Series, graphs: int, farthest: float) -> tuple[Floats, Floats]:
    """Return the factors at which a profile rises from 0, up to `farthest`, and its share from each on.

    `ratios` are times over the best, for the graphs that were finished; of all `graphs`, the others are
    within no factor.
    """
    steps = np.unique(ratios)
    shares = share_at_or_under(ratios, steps) * len(ratios) / graphs
    return np.r_[steps[0], steps, farthest], np.r_[0, shares, shares[-1]]


def _finding(profiles: Mapping[str, pd.DataFrame]) -> str:
    said = ["Real time only. Log scale; higher is better. Lines that coincide are drawn side by side"]
    for problem, rows in profiles.items():
        wins = rows[rows["ratio"] == 1].groupby("name", sort=False).size()
        best = " and ".join(wins.index[wins == wins.max()])
        share = f"{wins.max()} of {rows['graph'].nunique()}"
        said.append(f"{label(problem)}: lowest median most often: {best}, {share} graphs")
    if any(rows["rival"].any() for rows in profiles.values()):
        said[0] += ". Open markers: rivals, third-party programs"
    return "\n".join(said)


def _has_profile(plan: Plan) -> bool:
    """Return whether some problem has enough graphs, and two programs to compare."""
    hidden = swept(plan)
    shown = [run for run in plan.runs.values() if run.variant not in hidden]
    return any(
        len(graphs_of(plan, problem)) >= MIN_GRAPHS
        and len({run.variant for run in shown if run.problem == problem}) > 1
        for problem in {run.problem for run in shown}
    )


EXHIBITS = (
    Exhibit(
        "performance-profile",
        lambda inputs: performance_profiles(inputs.searches()),
        (View("performance-profile", "Summary", labels={"table": "performance profile (figure)"}),),
        wanted=_has_profile,
        params=without_curves,
    ),
)
