"""Figures and tables of "GPU SSSP implementation", an article on Bellman-Ford over edges on a GTX Titan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from relaxometer.core.words import counted
from relaxometer.report.catalogue import (
    Exhibit,
    Inputs,
    View,
    table_view,
    with_graphs,
    with_rate,
    without_curves,
)
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import Look, look
from relaxometer.report.figures.names import rounded
from relaxometer.report.figures.roofline import bytes_moved, medians
from relaxometer.report.targets import is_swept, names, runs_of
from relaxometer.results import samples
from relaxometer.results.rows import KEY

if TYPE_CHECKING:
    from relaxometer.plan.models import Run
    from relaxometer.plan.plan import Plan

CORNERS = {
    (True, True): "cache and order",
    (False, True): "order only",
    (True, False): "cache only",
    (False, False): "neither",
}
"""By use of the read-only cache and order of the edges: the name in the figures."""

CPU = "CPU Dijkstra"

VARIANTS = {
    "cache and order": "edge-bf",
    "order only": "edge-bf-no-cache",
    "cache only": "edge-bf-no-order",
    "neither": "edge-bf-plain",
    CPU: "dijkstra-cpu",
    "32 bits": "edge-bf-uint32",
    "32 bits, 4 edges per thread": "edge-bf-uint32-four",
    "atomic": "edge-bf-atomic",
}
"""The variants of the suite by their names in the figures, which have their looks."""

IN_THE_PAPER = (*CORNERS.values(), CPU)

GAINS = {
    "cache, edges sorted": ("cache and order", "order only"),
    "cache, edges not sorted": ("cache only", "neither"),
    "order, cache on": ("cache and order", "cache only"),
    "order, cache off": ("order only", "neither"),
    "both": ("cache and order", "neither"),
}
"""The variant with each optimisation and the one without it."""

GAIN_LOOKS = {
    "cache, edges sorted": Look("#0072B2", "-", "o"),
    "cache, edges not sorted": Look("#56B4E9", (0, (5, 1.5)), "s"),
    "order, cache on": Look("#D55E00", (0, (1.5, 1)), "D"),
    "order, cache off": Look("#CC79A7", (0, (4, 1, 1, 1)), "^"),
    "both": Look("#404040", "-", "v"),
}
"""Optimisations are not variants: blues for the cache, reds for the order."""

CLAIMED_RATE, CLAIMED_SPEEDUP, CLAIMED_AT = 100, 40, (2**20, 2**22)
"""Values in the paper: million arcs per second, the speed-up over its CPU, and the vertices of that."""

EDGE_BYTES, DISTANCE_BYTES = 16, 8
"""Sizes in the paper of an edge (two vertices and a weight) and of a distance."""

NOTHING_PROVEN = "No run of edge-bf on an R-MAT graph was proven correct and finished."
NO_GPU_TIME = f"Not compared: {style.NOT_GPU_TIMES}."


def label(run: Mapping[Any, Any]) -> str | None:
    """Return the name of a run in the figures by its kernel and parameters, or None if it is not shown."""
    if run["kernel"] == "dijkstra-cpu":
        return CPU
    if run["kernel"] == "edge-bf-atomic":
        return "atomic" if run["parameter_blocked"] else "atomic, not sorted"
    if run["kernel"] != "edge-bf":
        return None
    ours = ["32 bits"] if run["parameter_distance"] == "uint32" else []
    ours += ["4 edges per thread"] if run["parameter_edges_per_thread"] == 4 else []
    corner = CORNERS[bool(run["parameter_read_only_cache"]), bool(run["parameter_blocked"])]
    return ", ".join(ours if ours and corner == "cache and order" else [corner, *ours])


def rates(timings: pd.DataFrame, graphs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the searches that the figures show, each with its arcs per second.

    CPU times are shown with GPU times, but not with those of the emulated device. Rows are those of
    :func:`relaxometer.results.samples.source_times` with the columns ``label``, ``vertices``, ``arcs`` and
    ``mega_arcs_per_s``. Of several variants with one label on a graph the first is taken.
    """
    sizes = pd.DataFrame(graphs, columns=["name", "vertices", "arcs"]).rename(columns={"name": "graph"})
    shown = timings[timings["graph"].isin(sizes["graph"])]
    runs = shown[shown["status"] == "ok"].drop_duplicates(KEY).set_index(KEY)
    labels = pd.Series([label(run) for run in runs.to_dict("records")], index=runs.index, dtype=object)
    named = labels.dropna().rename("label").reset_index().drop_duplicates(["graph", "label"])
    times = samples.source_times(shown).merge(named, on=KEY)
    emulated = times["device_kind"] == samples.EMULATED
    times = times[emulated] if emulated.any() else times
    times = times.merge(sizes, on="graph")
    return times.assign(mega_arcs_per_s=times["arcs"] / times["time_ms"] / 1e3)


def performance(measured: pd.DataFrame) -> style.Figure:
    """Draw the paper's first figure from :func:`rates`: arcs per second over the size of the graph."""
    title = "Bellman-Ford over edges: arcs per second over the size of the graph"
    kernels = measured[measured["label"] != CPU]
    if kernels.empty:
        return style.empty_figure(title, NOTHING_PROVEN)
    kind = kernels["device_kind"].iloc[0]
    ours: list[str] = [name for name in measured["label"].unique() if name not in IN_THE_PAPER]
    panels = [("As in the paper", list(IN_THE_PAPER))]
    panels += [("Not in the paper", ["cache and order", *ours])] if ours else []
    figure, axes = style.panel_column(3.4 * len(panels) + 0.6, len(panels))
    for panel, (name, labels) in zip(axes, panels, strict=True):
        _lines(panel, measured[measured["label"].isin(labels)], "mega_arcs_per_s")
        panel.set(yscale="log", ylabel=f"Million arcs per second{style.emulated_note(kind)}")
        style.plain_log(panel.yaxis)
        style.legend_above(panel, 4).set(title=name, alignment="left")
    return style.entitle(figure, title, _best_rate(kernels, kind))


def _lines(axes: style.Axes, rows: pd.DataFrame, column: str) -> None:
    """Draw the mean over sources for each label side by side, with whiskers to the extremes."""
    style.size_axis(axes, rows["vertices"])
    axes.set_xlabel("Vertices")
    looks = _looks(rows["label"].unique())
    for place, (name, of_label) in enumerate(rows.groupby("label", sort=False)):
        found = of_label.groupby("vertices")[column].agg(["mean", "min", "max"])
        points = list(found.itertuples(name=None))
        style.draw_series(axes, points, looks[str(name)], str(name), (place, len(looks)))


def _looks(labels: Iterable[str]) -> dict[str, Look]:
    """Return the looks of the variants that the labels of a figure stand for."""
    return {label: look(VARIANTS.get(label, label)) for label in labels}


def _best_rate(kernels: pd.DataFrame, kind: str) -> str:
    over = f"{samples.in_words(kernels, 'device')}; mean and range over sources"
    if kind == samples.EMULATED:
        return f"{over}; {style.NOT_GPU_TIMES}"
    corners = kernels[kernels["label"].isin(CORNERS.values())]
    found = [("best of the paper's four variants", corners), ("best of all", kernels)]
    said = [f"{what} {_best(rows, 'mega_arcs_per_s')}" for what, rows in found if len(rows)]
    claimed = f"in the paper about {CLAIMED_RATE} at 2^21 vertices"
    return f"{over}; {'; '.join(said)} million arcs per second; {claimed}"


def _best(rows: pd.DataFrame, column: str) -> str:
    """Return the largest mean over sources of a column, and the label and graph that have it."""
    means = rows.groupby(["label", "graph"])[column].mean()
    value, (name, graph) = max(zip(means.tolist(), means.index.tolist(), strict=True))
    return f"{value:{',.0f' if value >= 100 else '.3g'}} ({name}, {graph})"


def speedup(measured: pd.DataFrame) -> style.Figure:
    """Draw the paper's second figure from :func:`rates`: the speed-up over Dijkstra's algorithm on a CPU."""
    title = "Bellman-Ford over edges: speed-up over Dijkstra's algorithm on one CPU core"
    kernels, cpu = measured[measured["label"] != CPU], measured[measured["label"] == CPU]
    if (kernels["device_kind"] == samples.EMULATED).any():
        return style.empty_figure(title, NO_GPU_TIME)
    key = ["graph", "source"]
    both = kernels.merge(cpu[[*key, "time_ms", "device"]], on=key, suffixes=("", "_cpu"))
    if both.empty:
        return style.empty_figure(title, NOTHING_PROVEN if kernels.empty else "dijkstra-cpu was not run.")
    both = both.assign(gain=both["time_ms_cpu"] / both["time_ms"])
    figure, axes = style.new_figure(4.6)
    _lines(axes, both, "gain")
    claimed = {"color": style.GREY, "linewidth": 4, "alpha": 0.5, "label": "mean in the paper"}
    axes.hlines(CLAIMED_SPEEDUP, *CLAIMED_AT, **claimed)
    axes.set(yscale="log", ylabel="CPU time / GPU time")
    style.plain_log(axes.yaxis)
    style.legend_above(axes, 4)
    finding = (
        f"{samples.in_words(both, 'device')} against {samples.in_words(both, 'device_cpu')}; mean and range "
        f"over sources; best mean {_best(both, 'gain')}; in the paper about {CLAIMED_SPEEDUP} from 2^20 "
        "to 2^22 vertices"
    )
    return style.entitle(figure, title, finding)


def gains(measured: pd.DataFrame) -> style.Figure:
    """Draw the speed-up by each of the paper's optimisations over the size, from :func:`rates`."""
    title = "Bellman-Ford over edges: speed-up by the read-only cache and by sorted edges"
    kernels = measured[measured["label"].isin(CORNERS.values())]
    if kernels.empty:
        return style.empty_figure(title, NOTHING_PROVEN)
    if (kernels["device_kind"] == samples.EMULATED).any():
        return style.empty_figure(title, NO_GPU_TIME)
    figure, axes = style.new_figure(4.4)
    style.size_axis(axes, kernels["vertices"])
    runs: dict[Any, pd.DataFrame] = dict(iter(kernels.groupby(["label", "vertices"])))
    shown = {name: pair for name, pair in GAINS.items() if set(pair) <= set(kernels["label"])}
    for place, (name, (candidate, baseline)) in enumerate(shown.items()):
        points = [
            (size, *samples.ratio_estimate(of_size, runs[baseline, size]).point())
            for (label, size), of_size in runs.items()
            if label == candidate and (baseline, size) in runs
        ]
        style.draw_series(axes, points, GAIN_LOOKS[name], name, (place, len(shown)))
    axes.axhline(1, color=style.GREY, linewidth=0.9)
    axes.set(yscale="log", xlabel="Vertices", ylabel="Speed-up, median over sources")
    style.plain_log(axes.yaxis)
    style.legend_above(axes, 3)
    devices = samples.in_words(kernels, "device")
    return style.entitle(figure, title, f"{devices}; whiskers: 95% intervals; {_gains_on_largest(kernels)}")


def _gains_on_largest(kernels: pd.DataFrame) -> str:
    largest = kernels[kernels["vertices"] == kernels["vertices"].max()]
    graph = largest["graph"].iloc[0]
    of_label = dict(iter(largest[largest["graph"] == graph].groupby("label")))
    both = [pair for pair in GAINS.values() if set(pair) <= of_label.keys()]
    if not both:
        return "no two of the four variants were run on the largest graph"
    said = samples.in_words_compared([(a, of_label[a], b, of_label[b]) for a, b in both])
    return f"on {graph} {'; '.join(said)}"


def blocks(timings: pd.DataFrame, swept: Sequence[str], graph: str) -> style.Figure:
    """Draw the median time over the vertices per block of the edge order, in which the `swept` differ."""
    title = f"Bellman-Ford over edges: median time over the size of the blocks, {graph}"
    times = samples.source_times(timings)
    sweep = times[times["variant"].isin(swept)]
    if sweep.empty:
        return style.empty_figure(title, "No run of the sweep was proven correct and finished.")
    sweep = sweep.assign(block=sweep["variant"].map(timings.groupby("variant")["parameter_block"].first()))
    kind = sweep["device_kind"].iloc[0]
    figure, axes = style.new_figure(3.8)
    runs: dict[float, pd.DataFrame] = dict(iter(sweep.groupby("block")))  # type: ignore[arg-type]
    style.size_axis(axes, runs)
    points = [(block, *samples.run_estimate(rows).point()) for block, rows in runs.items()]
    style.draw_series(axes, points, look(VARIANTS["cache and order"]), "cache and order")
    unsorted = _labelled(timings, "cache only", sweep["source"])
    if len(unsorted):
        mark = look(VARIANTS["cache only"])
        median = unsorted["time_ms"].median()
        axes.axhline(median, color=mark.colour, linestyle=mark.dash, label="cache only (not sorted)")
    axes.set(xlabel="Vertices per block (P)", ylim=(0, None))
    axes.set_ylabel(f"Median time of a search [ms{style.emulated_note(kind)}]")
    style.legend_above(axes, 2)
    said = style.NOT_GPU_TIMES if kind == samples.EMULATED else samples.best_in_words(runs)
    over = counted(sweep["source"].nunique(), "source")
    return style.entitle(figure, title, f"{samples.in_words(sweep, 'device')}, {over}; {said}")


def _labelled(timings: pd.DataFrame, wanted: str, sources: pd.Series) -> pd.DataFrame:
    runs = timings[timings["status"] == "ok"].drop_duplicates("variant")
    named = [run["variant"] for run in runs.to_dict("records") if label(run) == wanted]
    times = samples.source_times(timings[timings["variant"].isin(named[:1])])
    return times[times["source"].isin(sources)]


def graph_table(graphs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the paper's table of graphs, with the numbers of the same graphs here.

    Sizes are those of the paper's arrays in MB of 2**20 bytes: 8 bytes per distance, 16 bytes per edge.
    """
    mega = 1 << 20
    return pd.DataFrame(
        {
            "Graph": [graph["name"] for graph in graphs],
            "Vertices": [graph["vertices"] for graph in graphs],
            "Arcs in the paper": [32 * graph["vertices"] for graph in graphs],
            "Arcs here": [graph["arcs"] for graph in graphs],
            "Distances [MB]": [f"{graph['vertices'] * DISTANCE_BYTES / mega:.3f}" for graph in graphs],
            "Edges [MB]": [f"{graph['arcs'] // 2 * EDGE_BYTES / mega:.3f}" for graph in graphs],
        }
    )


def bandwidth_table(timings: pd.DataFrame, rate: Mapping[str, Any]) -> pd.DataFrame:
    """Return the effective bandwidth of every variant that states the bytes a phase must move, by graph.

    It is the bytes per phase times the phases over the time of the whole search, so time outside the phases
    lowers it. `rate` is as for :func:`relaxometer.report.figures.roofline.medians`.
    """
    runs = medians(bytes_moved(timings).dropna(subset="stated"), rate)
    return pd.DataFrame(
        {
            "Graph": runs["graph"],
            "Variant": runs["variant"],
            "MB per phase": (runs["stated"] / 1e6).map(rounded),
            "Phases": runs["phases"].map("{:.0f}".format),
            "Median [ms]": runs["time_ms"].map(rounded),
            "GB/s": runs["gb_s"].map(rounded),
            "Share of copy rate": runs["share"],
        }
    )


def edge_runs(plan: Plan, graph: str) -> list[Run]:
    """Return the runs of Bellman-Ford over edges on a graph."""
    return [run for run in runs_of(plan, "sssp", graph) if run.solver == "edge-bf"]


def block_runs(plan: Plan, graph: str) -> list[Run]:
    """Return the runs on a graph that are points of the sweep of the size of a block."""
    runs = edge_runs(plan, graph)
    return [run for run in runs if "block" in run.parameters and is_swept(plan, run)]


def _graphs(plan: Plan) -> list[str]:
    """Return the R-MAT graphs that some run of edge-bf searches."""
    return [one for one in plan.graphs if plan.datasets[one].format == "rmat" and edge_runs(plan, one)]


def _draw_figures(inputs: Inputs) -> dict[str, style.Figure]:
    measured = rates(inputs.searches(), inputs.contents("graphs"))
    return {"performance": performance(measured), "speedup": speedup(measured), "gains": gains(measured)}


def _draw_tables(inputs: Inputs) -> dict[str, pd.DataFrame]:
    bandwidth = bandwidth_table(inputs.timings, *inputs.contents("rate"))
    return {"graphs": graph_table(inputs.contents("graphs")), "bandwidth": bandwidth}


EXHIBITS = (
    Exhibit(
        "edge-bf",
        _draw_figures,
        (
            View("performance", "SSSP", "edge-bf 1", "arcs per second", graph="R-MAT"),
            View("speedup", "SSSP", "edge-bf 2", "gain over a CPU", graph="R-MAT"),
            View("gains", "SSSP", "edge-bf 3", "gain of each optimisation", graph="R-MAT"),
        ),
        lambda plan, _: with_graphs(_graphs(plan)),
        wanted=_graphs,
        params=without_curves,
    ),
    Exhibit(
        "edge-bf-blocks",
        lambda inputs: blocks(inputs.searches("sssp"), inputs.params["points"], inputs.graph),
        (View("blocks", "SSSP", "edge-bf 4", "median time against the size of a block"),),
        wanted=lambda plan: [graph for graph in _graphs(plan) if block_runs(plan, graph)],
        per_graph=True,
        params=lambda plan, graph: {"points": names(block_runs(plan, graph))},
        points=lambda plan: names([run for graph in _graphs(plan) for run in block_runs(plan, graph)]),
    ),
    Exhibit(
        "edge-bf-tables",
        _draw_tables,
        (
            table_view("graphs", "Graphs", "edge-bf table", "outline of the graphs", graph="R-MAT"),
            table_view("bandwidth", "SSSP", "bandwidth", "effective bandwidth against a copy"),
        ),
        lambda plan, _: with_rate(_graphs(plan)),
        wanted=_graphs,
    ),
)
