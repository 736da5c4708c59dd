"""The times of every variant over the commits that were measured."""

from __future__ import annotations

import pandas as pd

from relaxometer.report.figures import style
from relaxometer.report.figures.looks import Look, looks_of
from relaxometer.report.figures.names import CLASSES, label

PANEL = ["problem", "graph", "content", "class", "device"]
LETTERS_OF_A_COMMIT = 10
NOTE = "Whiskers: 95% intervals. Log scales; lower is better. Real time only"


def times_over_commits(lines: pd.DataFrame) -> style.Figure:
    """Draw the median time of every variant over commits, a panel per problem, graph and device.

    Graphs of one name with different content have separate panels, which show their hashes. `lines` are from
    :func:`relaxometer.results.history.history`; emulated variants are left out.
    """
    title = "Median time of a search over commits"
    shown = lines[lines["class"] != "emulated"]
    if shown.empty:
        return style.empty_figure(title, "No variant was measured in real time.")
    groups = list(shown.groupby(PANEL, sort=False))
    looks = looks_of(shown)
    figure, panels, in_a_row = style.panel_grid(len(groups), list(looks), style.PANEL_INCHES + 0.5)
    contents = shown.groupby(["problem", "graph"])["content"].transform("nunique")
    for panel, ((problem, graph, content, kind, device), of_panel) in zip(panels, groups, strict=True):
        of_content = f" ({content or 'unknown content'})" if contents[of_panel.index[0]] > 1 else ""
        machine = f"{device}, {CLASSES.get(str(kind), kind)}"
        panel.set_title(f"{label(str(problem))} on {graph}{of_content}\n{machine}", loc="left", fontsize=9)
        _draw_panel(panel, of_panel, looks)
    style.legend_below(figure, looks, in_a_row)
    return style.entitle(figure, title, NOTE)


def _draw_panel(axes: style.Axes, rows: pd.DataFrame, looks: dict[str, Look]) -> None:
    runs = dict.fromkeys(zip(rows["date"], rows["commit"], strict=True))
    places = {run: place for place, run in enumerate(runs)}
    for variant, of_variant in rows.groupby("variant", sort=False):
        at = [places[run] for run in zip(of_variant["date"], of_variant["commit"], strict=True)]
        middle = of_variant["median_ms"]
        ends = (middle - of_variant["low_ms"].fillna(middle), of_variant["high_ms"].fillna(middle) - middle)
        axes.errorbar(at, middle, yerr=ends, markersize=5, **style.WHISKERS, **looks[str(variant)].line)
    axes.set_yscale("log")
    axes.set_ylabel("Median search [ms]")
    names = [commit[:LETTERS_OF_A_COMMIT] for _, commit in places]
    axes.set_xticks(range(len(places)), labels=names, rotation=30, ha="right")
    axes.margins(x=0.1, y=0.15)
    style.plain_log(axes.yaxis)
