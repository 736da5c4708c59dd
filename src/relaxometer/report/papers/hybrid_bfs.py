"""Figures 9 to 11 of Hirakushi and Takahashi on one GPU, and the direction and time of each level.

Source: "Breadth-first search on a GPU cluster".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relaxometer.core.words import counted
from relaxometer.graphs.degrees import WARP
from relaxometer.graphs.graph import read_degrees
from relaxometer.report.catalogue import Exhibit, Inputs, View, metadata, phase_files, with_graphs
from relaxometer.report.figures import style
from relaxometer.report.figures.graphs import draw_tails
from relaxometer.report.figures.looks import Look, look, looks_of
from relaxometer.report.figures.names import plain, rounded, short_names
from relaxometer.report.targets import graphs_of, is_swept, names, runs_of
from relaxometer.results import samples
from relaxometer.results.graph500_result import edges_per_second, rate_statistics
from relaxometer.results.processes import PROCESS, with_processes
from relaxometer.results.rows import PROVEN

if TYPE_CHECKING:
    from relaxometer.plan.models import Run
    from relaxometer.plan.plan import Plan

Point = tuple[float, float, float, float]  # vertices of a graph, and a median with the ends of its interval

CPU_ONLY, GPU_ONLY, BOTH = "hybrid-cpu", "hybrid", "cooperative"
"""Kernels of the paper's figures: CPU only, GPU only, CPU + GPU."""

PARAMETERS = ("alpha", "beta", "threshold")  # parameters of the hybrid search that are swept
MODES = {"top-down": "o", "bottom-up": "s"}  # marker of a level by its direction
MARKED_LEVELS = 60  # directions are marked up to this many levels
NOTHING_PROVEN = "No run of breadth-first search here was proven correct and finished."


def degree_shares(degrees: npt.NDArray[np.int64], graph: str) -> style.Figure:
    """Draw figure 11: the share of vertices by degree."""
    values, counts = np.unique(degrees, return_counts=True)
    figure, axes = style.new_figure(3.8)
    draw_tails(axes, {"arcs": {"value": values.tolist(), "count": counts.tolist()}})
    axes.set(xlabel="Degree", ylabel="Share of the vertices", ylim=(0.5 / len(degrees), 1.2))
    over_warp, isolated = (degrees > WARP).mean(), (degrees == 0).mean()
    finding = (
        f"{len(degrees):,} vertices; {over_warp:.1%} have more than {WARP} arcs (in the paper: about 10% of "
        f"2^22 vertices), {isolated:.0%} have none"
    )
    return style.entitle(figure, f"Figure 11: vertices by degree, {graph}", finding)


def rates_over_scale(timings: pd.DataFrame, graphs: Sequence[dict[str, Any]]) -> style.Figure:
    """Draw figure 9: the median rate of each variant of BFS over the size of the graph."""
    title = "Figure 9: rate of breadth-first search over the size of the graph"
    rates = samples.on_one_clock(_rates(timings, graphs))
    if rates.empty:
        return style.empty_figure(title, NOTHING_PROVEN)
    kind = rates["device_kind"].iloc[0]
    figure, axes = style.new_figure(4.4)
    best = _draw_over_scale(axes, rates, "gteps", graphs)
    axes.set_ylabel(f"Median rate [10⁹ edges/s{style.emulated_note(kind)}]")
    of = f"{samples.in_words(rates, 'device')}; input edges of the searched component over time"
    said = [
        f"{graph}: highest median {rounded(value)}·10⁹ edges/s, {variant} (harmonic mean "
        f"{rounded(_harmonic_mean(rates, graph, variant))})"
        for graph, (variant, value) in best.items()
    ]
    said = [style.NOT_GPU_TIMES] if kind == samples.EMULATED else said
    return style.entitle(figure, title, f"{of}, median over sources\n{'; '.join(said)}")


def computing_times(timings: pd.DataFrame, graphs: Sequence[dict[str, Any]]) -> style.Figure:
    """Draw figure 10 on one GPU: the time of BFS on the CPU, the GPU and both, over the size of the graph."""
    title = "Figure 10: time of breadth-first search on CPU, GPU and both"
    compared = timings[timings["kernel"].isin((CPU_ONLY, GPU_ONLY, BOTH))]
    times = samples.on_one_clock(samples.source_times(compared))
    if times.empty:
        return style.empty_figure(title, NOTHING_PROVEN)
    figure, axes = style.new_figure(4.2)
    _draw_over_scale(axes, times, "time_ms", graphs)
    kind = times["device_kind"].iloc[0]
    axes.set_ylabel(f"Median time over sources [ms{style.emulated_note(kind)}]")
    findings = [_against_cpu(times, graph["name"]) for graph in graphs]
    speedups = "; ".join(finding for finding in findings if finding) or "no speed-up of a GPU was measured"
    paper = "in the paper, a node's GPUs against its CPUs: 1.4 to 3.3 times"
    return style.entitle(figure, title, f"{samples.in_words(times, 'device')}\n{speedups} ({paper})")


def _harmonic_mean(rates: pd.DataFrame, graph: str, name: str) -> float:
    """Return Graph500's mean of the rates of a run, given its name in figures."""
    of_run = rates[(rates["graph"] == graph) & (short_names(rates) == name)]
    return rate_statistics(of_run["gteps"].to_numpy(dtype=np.float64))["harmonic_mean"]


def _rates(timings: pd.DataFrame, graphs: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return one row per run and source: the median rate over its repetitions, in 10^9 edges per second."""
    timings = with_processes(timings)
    finished = samples.proven(timings, timings)
    finished = finished[finished["status"].isin(PROVEN)]
    directed = {graph["name"]: bool(graph.get("directed")) for graph in graphs}
    parts = [
        rows.assign(gteps=edges_per_second(rows, directed=directed[str(name)]) / 1e9)
        for name, rows in finished.groupby("graph", sort=False)
        if name in directed
    ]
    if not parts:
        return finished.assign(gteps=np.nan)
    run = [*samples.IDENTITY, *PROCESS, "source"]
    rounds = pd.concat(parts).groupby([*run, "round"], sort=False)["gteps"].median()
    rates = rounds.groupby(level=run, sort=False).median().reset_index()
    return rates.assign(**dict.fromkeys(samples.REPEATED, 0.0))


def _draw_over_scale(
    axes: style.Axes, rows: pd.DataFrame, value: str, graphs: Sequence[dict[str, Any]]
) -> dict[str, tuple[str, float]]:
    """Draw the median of a column with its 95% interval over size; return the largest per graph."""
    sizes = {graph["name"]: graph["vertices"] for graph in graphs}
    best: dict[str, tuple[str, float]] = {}
    looks = looks_of(rows)
    series: dict[str, tuple[Look, list[Point]]] = {}
    for (variant, name), of_variant in rows.groupby(["variant", short_names(rows)], sort=False):
        _, points = series.setdefault(str(name), (looks[str(variant)], []))
        for graph in sorted(set(of_variant["graph"]), key=lambda name: sizes[name]):
            median, low, high = samples.run_estimate(of_variant[of_variant["graph"] == graph], value).point()
            points.append((sizes[graph], median, low, high))
            best[graph] = max(best.get(graph, ("", 0.0)), (str(name), median), key=lambda pair: pair[1])
    style.size_axis(axes, {size for _, points in series.values() for size, *_ in points})
    for place, (name, (mark, points)) in enumerate(series.items()):
        style.draw_series(axes, points, mark, name, (place, len(series)))
    axes.set(yscale="log", xlabel="Vertices")
    style.plain_log(axes.yaxis)
    style.legend_above(axes, 3)
    return best


def _against_cpu(times: pd.DataFrame, graph: str) -> str:
    of_graph = times[times["graph"] == graph]
    gpu, cpu = (of_graph[of_graph["variant"] == variant] for variant in (GPU_ONLY, CPU_ONLY))
    if gpu.empty or cpu.empty or (gpu["device_kind"] == samples.EMULATED).any():
        return ""
    (clause,) = samples.in_words_compared([(GPU_ONLY, gpu, CPU_ONLY, cpu)])
    return f"{graph}: {clause}"


def level_times(phases: pd.DataFrame, graph: str) -> style.Figure:
    """Draw the direction, the time and the new vertices of each level of BFS from one source.

    Variants that do not search level by level, or do not time their levels, are left out.
    """
    title = f"Direction and time of each level of breadth-first search, {graph}"
    phases = phases[phases["mode"].isin(MODES)]
    phases = phases[phases.groupby("variant")["time_ms"].transform("sum") > 0]
    if phases.empty:
        return style.empty_figure(title, NOTHING_PROVEN)
    source = phases["source"].iloc[0]
    of_source = samples.on_one_clock(phases[phases["source"] == source])
    kind = of_source["device_kind"].iloc[0]
    figure, (upper, lower) = style.new_figure(5.8, rows=2, sharex=True, height_ratios=(2, 1))
    marked: set[str] = set()
    for variant, rows in of_source.groupby("variant", sort=False):
        mark = look(str(variant))
        level = rows["phase"]
        upper.plot(level, rows["time_ms"], color=mark.colour, linestyle=mark.dash, label=variant)
        for mode in MODES if len(rows) <= MARKED_LEVELS else ():
            these = rows["mode"] == mode
            upper.plot(level[these], rows.loc[these, "time_ms"], MODES[mode], color=mark.colour, markersize=5)
            marked |= {mode} if these.any() else set()
    first = of_source[of_source["variant"] == of_source["variant"].iloc[0]]
    lower.step(first["phase"], first["updated"], where="mid", color=style.GREY)
    lower.set(xlabel="Level (the first expands the source)", ylabel="New vertices")
    # Logarithmic from 1 on, with zero at zero.
    lower.set_yscale("symlog", linthresh=1)
    most = max(1, int(np.ceil(np.log10(max(first["updated"].max(), 1)))))
    lower.set_yticks([0, *(10**power for power in range(0, most + 1, -(-most // 4)))])
    lower.yaxis.set_major_formatter(plain)
    lower.set_ylim(bottom=0)
    style.whole_ticks(lower.xaxis)
    upper.set(yscale="log", ylabel=f"Time of the level [ms{style.emulated_note(kind)}]")
    style.plain_log(upper.yaxis)
    marks = [
        style.legend_mark(linestyle="none", marker=marker, color="black", markersize=5, label=mode)
        for mode, marker in MODES.items()
        if mode in marked
    ]
    style.legend_above(upper, 3, [*upper.get_legend_handles_labels()[0], *marks])
    return style.entitle(figure, title, _level_finding(of_source, int(source), kind))


def _level_finding(rows: pd.DataFrame, source: int, kind: str) -> str:
    parts = [f"Source vertex {source}, instrumented run"]
    hybrid = rows[rows["variant"] == GPU_ONLY]
    if len(hybrid):
        in_time = hybrid["mode"] == "bottom-up"
        total = hybrid["time_ms"].sum()
        share = hybrid.loc[in_time, "time_ms"].sum() / total if total else 0
        levels = f"{int(in_time.sum())} of {len(hybrid)} levels bottom-up"
        parts.append(f"hybrid: {levels}, {share:.0%} of the time")
        examined = hybrid["relaxed_arcs"].sum()
        plain = rows.loc[rows["variant"] == "top-down", "relaxed_arcs"].sum()
        if plain:
            parts.append(f"it examines {examined / plain:.1%} of the arcs that top-down examines")
    if kind == samples.EMULATED:
        parts.append(style.NOT_GPU_TIMES)
    return "; ".join(parts)


def sweeps(timings: pd.DataFrame, swept: Mapping[str, Sequence[str]], graph: str) -> style.Figure:
    """Draw the median time of the hybrid search over each parameter.

    `swept` has by parameter the variants that differ only in it.
    """
    title = f"Time of hybrid breadth-first search over its parameters, {graph}"
    times = samples.on_one_clock(samples.source_times(timings))
    chosen = {name: times[times["variant"].isin(names)] for name, names in swept.items()}
    chosen = {name: rows for name, rows in chosen.items() if len(rows)}
    if not chosen:
        return style.empty_figure(title, NOTHING_PROVEN)
    kind = times["device_kind"].iloc[0]
    figure, panels = style.new_figure(3.4, len(chosen), squeeze=False, sharey=True)
    plain = times[times["variant"] == GPU_ONLY]
    over = counted(next(iter(chosen.values()))["source"].nunique(), "source")
    findings = [f"{samples.in_words(times, 'device')}, {over}"]
    for axes, (name, rows) in zip(panels[0], chosen.items(), strict=True):
        value = rows["variant"].map(timings.groupby("variant")[f"parameter_{name}"].first()).astype(float)
        runs: dict[float, pd.DataFrame] = dict(iter(rows.groupby(value)))
        points = [(at, *samples.run_estimate(part).point()) for at, part in runs.items()]
        style.draw_dots(axes, points, look(GPU_ONLY), label="fixed value")
        axes.plot(*np.array(points).T[:2], color=look(GPU_ONLY).colour, linewidth=0.9)
        if len(plain):
            same = plain[plain["source"].isin(rows["source"])]
            axes.axhline(same["time_ms"].median(), color=style.GREY, linestyle=(0, (3, 2)), label="defaults")
        axes.set(xscale="log", yscale="log", xlabel=name)
        style.plain_log(axes.xaxis, axes.yaxis)
        findings.append(f"{name}: {samples.best_in_words(runs)}")
    panels[0][0].set_ylabel(f"Median time over sources [ms{style.emulated_note(kind)}]")
    style.legend_above(panels[0][0], 2)
    if kind == samples.EMULATED:
        findings[1:] = [style.NOT_GPU_TIMES]
    return style.entitle(figure, title, "; ".join(findings))


def plain_runs(plan: Plan, graph: str) -> list[Run]:
    """Return the runs of breadth-first search on a graph that are not points of a curve."""
    return [run for run in runs_of(plan, "bfs", graph) if not is_swept(plan, run)]


def sweeps_of(plan: Plan, graph: str) -> dict[str, list[str]]:
    """Return by parameter the variants of the hybrid search on a graph that differ only in it."""
    runs = [run for run in runs_of(plan, "bfs", graph) if run.solver == GPU_ONLY and is_swept(plan, run)]
    found = {name: names([run for run in runs if list(run.parameters) == [name]]) for name in PARAMETERS}
    return {name: variants for name, variants in found.items() if variants}


def graph500_graphs(plan: Plan) -> list[str]:
    """Return the Graph500 graphs that are searched."""
    return [graph for graph in _graphs(plan) if plan.datasets[graph].format == "graph500"]


def graph500_results(plan: Plan) -> list[str]:
    """Return the files in the format of Graph500 that a plan wants."""
    if "hybrid-bfs" not in plan.config.report.papers:
        return []
    return [f"results/graph500/{run.graph}-{run.variant}.txt" for run in _graph500_runs(plan)]


def _graph500_runs(plan: Plan) -> list[Run]:
    return [run for graph in graph500_graphs(plan) for run in plain_runs(plan, graph)]


def _graphs(plan: Plan) -> list[str]:
    return [graph for graph in graphs_of(plan, "bfs") if plain_runs(plan, graph)]


def _points(plan: Plan) -> list[str]:
    swept = [sweeps_of(plan, graph) for graph in _graphs(plan)]
    return [variant for of_graph in swept for variants in of_graph.values() for variant in variants]


def _draw_degrees(inputs: Inputs) -> style.Figure:
    (vertices,) = inputs.files("vertices")
    return degree_shares(read_degrees(vertices.parent), inputs.graph)


def _draw_scales(inputs: Inputs) -> dict[str, style.Figure]:
    graphs = inputs.contents("graphs")
    searches = inputs.searches("bfs", variants=inputs.params["variants"])
    shown = searches[searches["graph"].isin([graph["name"] for graph in graphs])]
    return {"figure-9": rates_over_scale(shown, graphs), "figure-10": computing_times(shown, graphs)}


EXHIBITS = (
    Exhibit(
        "bfs-degrees",
        _draw_degrees,
        (View("figure-11", "Graphs", "figure 11", "vertices by degree"),),
        lambda _, one: {"vertices": f"results/graphs/{one}/vertices.parquet", "graphs": metadata([one])},
        wanted=graph500_graphs,
        per_graph=True,
    ),
    Exhibit(
        "bfs-scales",
        _draw_scales,
        (
            View("figure-9", "BFS", "figure 9", "rate over size", graph="all of Graph500"),
            View("figure-10", "BFS", "figure 10", "time on CPU and GPU", graph="all of Graph500"),
        ),
        lambda plan, _: with_graphs(graph500_graphs(plan)),
        wanted=graph500_graphs,
        params=lambda plan, _: {"variants": names(_graph500_runs(plan))},
    ),
    Exhibit(
        "bfs-levels",
        lambda inputs: level_times(inputs.proven_phases(), inputs.graph),
        (View("levels", "BFS", "levels", "direction and time of each level"),),
        lambda plan, graph: phase_files(plain_runs(plan, graph)),
        wanted=_graphs,
        per_graph=True,
    ),
    Exhibit(
        "bfs-sweeps",
        lambda inputs: sweeps(inputs.searches("bfs"), inputs.params, inputs.graph),
        (View("sweeps", "BFS", "sweeps", "time against alpha, beta and threshold"),),
        wanted=lambda plan: [graph for graph in _graphs(plan) if sweeps_of(plan, graph)],
        per_graph=True,
        params=sweeps_of,
        points=_points,
    ),
)
