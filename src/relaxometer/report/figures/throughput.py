"""Searches per second: many sources in one launch, compared with single searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from relaxometer.report.catalogue import TIMINGS, Exhibit, Files, View, table_view
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import look
from relaxometer.report.figures.names import CLOCKS, by_graph, percent, rounded, short_names
from relaxometer.results.gather import worst
from relaxometer.results.samples import EMULATED, source_times

if TYPE_CHECKING:
    from relaxometer.plan.plan import Plan

CLOSE = 1.5  # lines share a label if their rates differ by a smaller factor
ONE_BY_ONE = ", one after the other"
SHOWN = 6  # single-search variants in a figure, the fastest first


def rates(launches: pd.DataFrame, timings: pd.DataFrame, problem: str = "sssp") -> pd.DataFrame:
    """Return the searches per second of every variant on every graph of the study.

    `launches` is as :data:`relaxometer.studies.throughput.TABLE`; in the timings, variants that failed are
    left out. ``name`` marks rivals; ``together`` tells whether one launch made all ``searches``; ``time_ms``
    is the median of a launch or a search, ``proven`` the share of the answers, and ``status`` the worst of
    any launch. If any launch of a number of searches failed, that number has no ``rate``.
    """
    number = ["graph", "variant", "searches", "device_kind"]
    shares = launches["proven"].fillna(0) / launches["searches"]
    groups = launches.assign(proven=shares).groupby(number, sort=False)
    many = groups.agg({"time_ms": "median", "proven": "mean", "status": worst}).reset_index()
    many.loc[many["status"] != "ok", "time_ms"] = np.nan
    of_graphs = timings["graph"].isin(launches["graph"]) & (timings["problem"] == problem)
    times = source_times(timings[of_graphs])
    keys = ["graph", "variant", "rival", "device_kind"]
    single = times.groupby(keys, sort=False)["time_ms"].median().reset_index()
    single = single.assign(together=False, searches=1, proven=1.0, status="ok")
    many = many.assign(rival=False, together=True)
    both = pd.concat([many, single], ignore_index=True)
    return both.assign(name=short_names(both), rate=both["searches"] / both["time_ms"] * 1e3)


def throughput(
    launches: pd.DataFrame, timings: pd.DataFrame, graph: str, problem: str = "sssp"
) -> style.Figure:
    """Draw searches per second on a graph over the number of simultaneous searches.

    Level lines show the variants that search from one source after another. Emulated and real times are
    never drawn together.
    """
    title = f"Throughput of simultaneous searches, {graph}"
    table = rates(launches, timings, problem).dropna(subset=["rate"])
    many = table[table["together"]].sort_values("searches")
    if many.empty:
        failed = launches[launches["status"] != "ok"]
        all_failed = len(failed) == len(launches)
        said = "No launch finished" if all_failed else "Of each number of searches, a launch failed"
        return style.empty_figure(title, f"{said}: {failed['reason'].iloc[0]}")
    kind = str(launches["device_kind"].iloc[0])
    alike = (table["device_kind"] == EMULATED) == (kind == EMULATED)
    others = table[alike & ~table["together"]].nlargest(SHOWN, "rate")
    figure, axes = style.new_figure(4.0)
    for variant, points in many.groupby("variant", sort=False):
        mark = look(str(variant))
        axes.plot(points["searches"], points["rate"], color=mark.colour, marker=mark.marker, label=variant)
        end = points["searches"].iloc[-1], points["rate"].iloc[-1]
        style.annotate(axes, str(variant), end, (6, 0), **style.AT_END)
    for row in others.itertuples():
        colour = look(str(row.variant), rival=bool(row.rival)).colour
        axes.axhline(row.rate, color=colour, linewidth=1, linestyle=(0, (4, 2)))
    for rate, names in _labels(others):
        style.annotate(axes, names, (1, rate), (4, 0), xycoords=("axes fraction", "data"), **style.AT_END)
    axes.set(xscale="log", yscale="log", xlabel="Simultaneous searches")
    axes.set_ylabel(f"Searches per second{style.emulated_note(kind)}")
    axes.set_xticks(many["searches"].unique(), labels=[f"{count:,}" for count in many["searches"].unique()])
    axes.xaxis.set_minor_formatter("")
    style.plain_log(axes.yaxis)
    return style.entitle(figure, title, _finding(many, others, launches, kind))


def _labels(others: pd.DataFrame) -> list[tuple[float, str]]:
    """Return the heights and texts of the level lines' labels; lines close to each other share one."""
    groups: list[dict[str, float]] = []
    previous = np.inf
    for name, rate in others.set_index("name")["rate"].items():
        if previous > CLOSE * rate:
            groups.append({})
        groups[-1][str(name)] = previous = float(rate)
    middles = [float(np.sqrt(max(group.values()) * min(group.values()))) for group in groups]
    return [(middle, ",\n".join(group) + ONE_BY_ONE) for middle, group in zip(middles, groups, strict=True)]


def _finding(many: pd.DataFrame, others: pd.DataFrame, launches: pd.DataFrame, kind: str) -> str:
    best = many.nlargest(1, "rate").iloc[0]
    proven, searched = int(launches["proven"].sum()), int(launches["searches"].sum())
    finding = (
        f"{launches['device'].iloc[0]}. {best['rate']:,.0f} searches per second by {best['variant']} with "
        f"{best['searches']:,} at once; {proven:,} of {searched:,} answers proven"
    )
    if kind == EMULATED:
        return f"{finding}; {style.NOT_GPU_TIMES}"
    if others.empty:
        return finding
    single = others.iloc[0]
    gain = best["rate"] / single["rate"]
    return f"{finding}. {rounded(gain)} times the rate of {single['name']}, one after the other"


def throughput_table(launches: pd.DataFrame, timings: pd.DataFrame, problem: str = "sssp") -> pd.DataFrame:
    """Return the searches per second of every variant as text, the fastest of each graph first."""
    table = by_graph(rates(launches, timings, problem), "rate", ascending=False)
    return pd.DataFrame(
        {
            "Graph": table["graph"],
            "Variant": table["name"],
            "At once": table["searches"].map("{:,}".format),
            "Clock": table["device_kind"].map(CLOCKS),
            "Median [ms]": table["time_ms"].map(rounded),
            "Searches per second": table["rate"].map(rounded),
            "Proven": table["proven"].map(percent),
            "Status": table["status"],
        }
    )


def _exhibits(section: str, problem: str, category: str) -> tuple[Exhibit, Exhibit]:
    """Return the figure and the table of a study, which are called like its section, with hyphens."""
    name = section.replace("_", "-")

    def graphs(plan: Plan) -> list[str]:
        named: list[str] = getattr(plan.config, section).graphs
        return named

    def files(plan: Plan, graph: str) -> Files:
        tables = [f"results/{section}/{one}.parquet" for one in ([graph] if graph else graphs(plan))]
        return {"launches": tables, "timings": TIMINGS}

    return (
        Exhibit(
            name,
            lambda inputs: throughput(inputs.table("launches"), inputs.timings, inputs.graph, problem),
            (View(name, category, "throughput", "searches per second"),),
            files,
            wanted=graphs,
            per_graph=True,
        ),
        Exhibit(
            f"{name}-table",
            lambda inputs: throughput_table(inputs.table("launches"), inputs.timings, problem),
            (table_view(name, category, "throughput", "searches per second, as a table"),),
            files,
            wanted=graphs,
        ),
    )


EXHIBITS = (*_exhibits("throughput", "sssp", "SSSP"), *_exhibits("bfs_throughput", "bfs", "BFS"))
