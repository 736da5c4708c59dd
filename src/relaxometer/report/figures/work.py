"""The work of the variants of each problem: relaxed or examined arcs, time and phases."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from relaxometer.report.catalogue import Exhibit, runs_on, table_view, without_curves
from relaxometer.report.figures.names import CLASSES, by_graph, label, rounded, short_names, whole
from relaxometer.results.gather import worst
from relaxometer.results.races import ranking
from relaxometer.results.rows import KEY, PROVEN
from relaxometer.results.samples import proven, source_times


def relaxations(timings: pd.DataFrame, by: Sequence[str] = KEY) -> pd.Series:
    """Return the median relaxations per reachable arc of each variant, by problem, graph and variant.

    Dijkstra's algorithm relaxes each arc once. `phast` relaxes each arc of its hierarchy once; that of a road
    map has 1.5 to 2 times as many arcs as the map. Variants that failed or did not count are left out.
    """
    counted = proven(timings, timings).query("status == 'ok' and reached_arcs > 0 and relaxed_arcs > 0")
    share = counted["relaxed_arcs"] / counted["reached_arcs"]
    return share.groupby([counted[column] for column in by], sort=False).median().rename("relaxations")


def work_table(timings: pd.DataFrame, problem: str = "sssp") -> pd.DataFrame:
    """Return rank, time, phases and work of every variant of a problem as text, by graph and rank."""
    ours = timings[timings["problem"] == problem]
    good = proven(ours, ours)
    good = good[good["status"].isin(PROVEN)]
    keys = [*KEY, "class", "rival"]
    statuses = ours.groupby(keys, sort=False)["status"].agg(worst)
    lines = statuses.reset_index(keys[len(KEY) :])
    phases = good.groupby(KEY, sort=False)["phases"].median()
    medians = source_times(ours).groupby(KEY, sort=False)["time_ms"].median()
    lines = lines.join([medians, phases, relaxations(ours)]).reset_index()
    ranked = ranking(ours).set_index(KEY)
    lines = lines.join(ranked[["rank", "median_ms"]], on=KEY)
    lines["time_ms"] = lines["median_ms"].fillna(lines["time_ms"])  # over the sources that all ranked share
    work = "Relaxations per arc" if problem == "sssp" else "Examined per arc"
    lines = by_graph(lines, "rank", "time_ms")
    return pd.DataFrame(
        {
            "Graph": lines["graph"],
            "Rank": lines["rank"].map(whole),
            "Variant": short_names(lines),
            "Class": lines["class"].map(CLASSES),
            "Median [ms]": lines["time_ms"].map(rounded),
            work: lines["relaxations"].map(lambda each: "" if pd.isna(each) else f"{each:.2f}"),
            "Phases": lines["phases"].map(whole),
            "Status": lines["status"],
        }
    )


def _exhibit(problem: str) -> Exhibit:
    name = f"{problem}-work"
    return Exhibit(
        name,
        lambda inputs: work_table(inputs.searches(), problem),
        (table_view(name, label(problem), "work", "rank, phases and work of all variants"),),
        wanted=runs_on(problem),
        params=without_curves,
    )


EXHIBITS = tuple(map(_exhibit, ("sssp", "bfs")))
