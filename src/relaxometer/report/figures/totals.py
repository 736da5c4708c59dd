"""Which program to use for how many searches: the time per search, beginning with a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from relaxometer.report.figures import style
from relaxometer.report.figures.looks import Look, look
from relaxometer.report.figures.names import label, short_names
from relaxometer.report.figures.waits import is_host_to_host
from relaxometer.results.calls import call_times
from relaxometer.results.query_sets import by_set
from relaxometer.results.rows import KEY
from relaxometer.results.samples import is_emulated, source_times

TITLE = "Time per search by number of searches, the first from host memory"
MAX_SEARCHES = 100_000
POINTS = 61  # of a line


class Program(NamedTuple):
    """A proven run in real time: what its first search costs more than others, and the median of a search."""

    name: str
    before_ms: float
    search_ms: float
    look: Look

    def total_ms(self, searches: int) -> float:
        """Return the time of a number of searches, with all that precedes the first."""
        return self.before_ms + searches * self.search_ms

    def pays_from(self, other: Program) -> float:
        """Return the number of searches from which on this program, whose searches are faster, takes less."""
        return (self.before_ms - other.before_ms) // (other.search_ms - self.search_ms) + 1


def programs(timings: pd.DataFrame) -> dict[tuple[str, str], list[Program]]:
    """Return the programs by problem and graph, without `auto`, which runs one of the others.

    The first search is a call (:func:`relaxometer.results.calls.call_times`), of variants and rivals alike:
    from arrays in host memory to the answer there. For runs without calls, it follows the upload, which CPU
    programs lack, and the preparation. A search from host to host contains both. Query sets of each name
    count as a graph.
    """
    timings = by_set(timings[~is_emulated(timings) & (timings["kernel"] != "auto")])
    keys = [*KEY, "rival", "device_kind"]
    lines = source_times(timings).groupby(keys, sort=False)["time_ms"].median().reset_index()
    lines = lines.join(timings.groupby(KEY)[["upload_ms", "prepare_ms"]].first(), on=KEY)
    lines = lines.dropna(subset=["prepare_ms"])
    calls = lines.join(call_times(timings), on=KEY)["call_ms"]
    uploads = lines["upload_ms"].fillna(0).where(lines["device_kind"] != "cpu", 0)
    moved = pd.MultiIndex.from_frame(timings.loc[is_host_to_host(timings), KEY])
    before = (calls - lines["time_ms"]).clip(lower=0).fillna(lines["prepare_ms"] + uploads)
    before = before.mask(pd.MultiIndex.from_frame(lines[KEY]).isin(moved), 0)
    columns = short_names(lines), before, lines["time_ms"]
    looks = [look(name, rival=rival) for name, rival in zip(lines["variant"], lines["rival"], strict=True)]
    found: dict[tuple[str, str], list[Program]] = {}
    for problem, graph, *one in zip(lines["problem"], lines["graph"], *columns, looks, strict=True):
        found.setdefault((problem, graph), []).append(Program(*one))
    return found


def best_from(programs: Sequence[Program]) -> list[tuple[int, Program]]:
    """Return the programs that take least of all, and from which number of searches on, beginning with 1."""
    found = [(1, min(programs, key=lambda one: one.total_ms(1)))]
    while True:
        best = found[-1][1]
        faster = [one for one in programs if one.search_ms < best.search_ms]
        following = min(faster, key=lambda one: (one.pays_from(best), one.search_ms), default=None)
        if not following or following.pays_from(best) > MAX_SEARCHES:
            return found
        found.append((int(following.pays_from(best)), following))


def total_times(timings: pd.DataFrame) -> style.Figure:
    """Draw a panel per graph of several programs, a line for each; the best ones are named."""
    graphs = {key: of_graph for key, of_graph in programs(timings).items() if len(of_graph) > 1}
    if not graphs:
        return style.empty_figure(TITLE, "On no graph have two programs proven searches in real time.")
    best = {key: best_from(of_graph) for key, of_graph in graphs.items()}
    looks = {one.name: one.look for of_graph in best.values() for _, one in of_graph}
    figure, axes, in_a_row = style.panel_grid(len(graphs), list(looks), inches=2.2)
    for panel, (key, of_graph) in zip(axes, graphs.items(), strict=True):
        _draw(panel, of_graph, {one.name: one.look for _, one in best[key]})
        panel.set_title(f"{label(key[0])}, {key[1]}", loc="left", fontsize=9.5)
    for panel in axes[-style.PANELS_IN_A_ROW :]:
        panel.set_xlabel("searches on the graph")
    for panel in axes[:: style.PANELS_IN_A_ROW]:
        panel.set_ylabel("ms per search")
    style.legend_below(figure, looks, in_a_row)
    said = [f"{label(problem)}, {graph}: {_in_words(best[problem, graph])}." for problem, graph in graphs]
    return style.entitle(figure, TITLE, "\n".join(said))


def _draw(panel: style.Axes, programs: Sequence[Program], named: Mapping[str, Look]) -> None:
    counts = np.logspace(0, np.log10(MAX_SEARCHES), POINTS)
    for one in programs:
        options: dict[str, Any] = {"color": style.FAINT, "zorder": 1}
        if one.name in named:
            options = {**one.look.line, "zorder": 3, "markevery": (POINTS - 1) // 5}
        panel.plot(counts, one.before_ms / counts + one.search_ms, **options)
    panel.set(xscale="log", yscale="log")
    style.plain_log(panel.xaxis, panel.yaxis)


def _in_words(best: Sequence[tuple[int, Program]]) -> str:
    (_, first), *others = best
    said = [f"from {count:,} searches on {one.name}" for count, one in others]
    return ", ".join([first.name, *said])
