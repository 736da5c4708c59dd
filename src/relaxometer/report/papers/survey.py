"""Table 1 of the survey, and its queues and buckets, whose published results are lost.

Source: "Single-source shortest paths in parallel with CUDA" (in Chinese).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relaxometer.core.words import counted
from relaxometer.report.catalogue import Exhibit, Inputs, View, runs_on, table_view, with_rate, without_curves
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import Look, look
from relaxometer.report.figures.names import CLOCKS, rounded
from relaxometer.report.figures.roofline import bytes_moved, medians
from relaxometer.report.figures.work import relaxations
from relaxometer.report.targets import graphs_of, is_swept, names, runs_of
from relaxometer.results import samples
from relaxometer.results.cost import weight_types
from relaxometer.results.rows import KEY
from relaxometer.results.statistics import Estimate, Part, median_of

if TYPE_CHECKING:
    from relaxometer.plan.models import Run
    from relaxometer.plan.plan import Plan

METHODS = {
    "reduction-128": Look("#56B4E9", (0, (1.5, 1)), "o"),
    "reduction-256": Look("#0072B2", (0, (5, 1.5)), "s"),
    "reduction-512": Look("#009E73", "-", "D"),
    "reduction-1024": Look("#7F3C8D", (0, (4, 1, 1, 1)), "^"),
    "cub": Look("#E69F00", "-", "P"),
    "loop": Look("#404040", "-", "v"),
    "heap": Look("#D55E00", "-", "X"),
}
"""How each method of ExtractMin is drawn."""

TABLE_1, EXTRACT_MIN_TABLE = "survey table 1", "time of ExtractMin, as a table"
EXTRACT_MIN: Any = {"graph": "none", "caption": "extract-min"}
BANDWIDTH = "effective bandwidth of all variants against a copy"

METHOD_LABELS = {"cub": "CUB", "loop": "loop (CPU)", "heap": "heap (CPU)"}

ORDERS = ("fifo", "slf", "lll", "slf-lll")
"""The orders of the queues of ``bellman-ford-queue``, the plain one first."""

COUNTED = Part(0.0, float("inf"))  # numbers of relaxations do not differ between processes

CITED_GAINS = {"slf": "15 to 20% faster", "slf-lll": "50% faster"}
"""Gains over the plain queue on a CPU that the survey cites."""

CLOSE = 0.1  # rules share a label if their widths differ by less than this share of the axis
NOTHING_PROVEN = "No run of {} on this graph was proven correct and finished."


def extract_min(trials: pd.DataFrame) -> style.Figure:
    """Draw table 1: the time of ExtractMin over the number of values, without emulated times.

    `trials` is as :data:`relaxometer.studies.extract_min.TABLE`.
    """
    shown = samples.on_one_clock(samples.median_extract_min(trials))
    figure, axes = style.new_figure(4.4)
    for method, mark in METHODS.items():
        rows = shown[shown["method"] == method].sort_values("values")
        if len(rows):
            label = _method_label(method)
            axes.plot(rows["values"], rows["time_us"], markersize=4.5, label=label, **mark.line)
    axes.set(xscale="log", yscale="log", xlabel="Values", ylabel="Time of one ExtractMin [µs]")
    style.plain_log(axes.xaxis, axes.yaxis)
    style.legend_above(axes, 3)
    title = "Table 1 of the survey: time to extract the smallest of many values"
    return style.entitle(figure, title, _extract_min_finding(shown))


def _method_label(method: str) -> str:
    return METHOD_LABELS.get(method, method.replace("reduction-", "reduction, ") + " threads")


def _extract_min_finding(shown: pd.DataFrame) -> str:
    """Name the best block size for the most values, and its gain over the loop."""
    most = shown["values"].max()
    times = shown[shown["values"] == most].set_index("method")["time_us"]
    reductions = times[times.index.str.startswith("reduction")]
    devices = samples.in_words(shown, "device")
    if reductions.empty:
        return f"{devices}. No GPU: the reductions ran on the emulated device, whose times are not shown"
    best = str(reductions.idxmin())
    threads = best.removeprefix("reduction-")
    finding = f"{devices}. At {most:,} values {threads} threads per block are best (in the paper: 512)"
    faster = [
        f"{rounded(times['loop'] / times[method])} times as fast as the loop (in the paper: {claimed})"
        for method, claimed in ((best, "1.65"), ("cub", "6.07, Thrust"))
    ]
    return f"{finding}: {faster[0]}; CUB {faster[1]}"


def extract_min_table(trials: pd.DataFrame) -> pd.DataFrame:
    """Return table 1 in microseconds, one row per method, with emulated times marked."""
    medians = samples.median_extract_min(trials)
    wide = medians.pivot(index=["method", "device_kind"], columns="values", values="time_us").reset_index()
    wide = wide.set_index("method").loc[[name for name in METHODS if name in set(wide["method"])]]
    sizes = {n: wide[n].map(rounded) for n in sorted(medians["values"].unique())}
    return pd.DataFrame(
        {
            "Method": [_method_label(str(method)) for method in wide.index],
            "Clock": wide["device_kind"].map(CLOCKS),
            **{f"{counted(n, 'value')} [µs]": column for n, column in sizes.items()},
        }
    ).reset_index(drop=True)


def queue_orders(timings: pd.DataFrame, graph: str) -> style.Figure:
    """Draw the time and the relaxed arcs of ``bellman-ford-queue`` for each order of its queues."""
    title = f"Bellman-Ford with queues: time and work by order of the queues, {graph}"
    order_of = timings.groupby("variant")["parameter_order"].first()
    times = samples.on_one_clock(samples.source_times(timings))
    times = times.assign(order=times["variant"].map(order_of))
    if times.empty:
        return style.empty_figure(title, NOTHING_PROVEN.format("bellman-ford-queue"))
    kind = times["device_kind"].iloc[0]
    orders = [order for order in ORDERS if order in set(times["order"])]
    looks = {order: look(str(variant)) for variant, order in order_of.items()}
    figure, (left, right) = style.new_figure(3.4, 2)
    _dots(left, {order: samples.run_estimate(times[times["order"] == order]) for order in orders}, looks)
    left.set_ylabel(f"Median time of a search\n[ms{style.emulated_note(kind)}]")
    work = relaxations(timings, ["variant", "source"]).reset_index()
    work = work.assign(order=work["variant"].map(order_of))
    counts = {order: work.loc[work["order"] == order, "relaxations"] for order in orders}
    _dots(right, {order: median_of(of, COUNTED) for order, of in counts.items() if len(of)}, looks)
    right.set_ylabel("Relaxations\nper reachable arc")
    return style.entitle(figure, title, _order_finding(times, orders, kind))


def _dots(axes: style.Axes, medians: Mapping[str, Estimate], looks: Mapping[str, Look]) -> None:
    for place, (order, median) in enumerate(medians.items()):
        style.draw_dots(axes, [(place, *median.point())], looks[order])
        style.annotate(axes, rounded(median.value), (place, median.value), (7, 0), va="center")
    axes.set_xticks(range(len(medians)), list(medians))
    axes.set(yscale="log", xlim=(-0.5, len(medians) - 0.2))
    style.plain_log(axes.yaxis)
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.15)


def _order_finding(times: pd.DataFrame, orders: list[str], kind: str) -> str:
    sources = f"{times['source'].nunique():,} sources"
    over = f"{samples.in_words(times, 'device')}, {sources}; whiskers: 95% intervals"
    if kind == samples.EMULATED:
        return f"{over}; {style.NOT_GPU_TIMES}"
    of_order = {order: times[times["order"] == order] for order in orders}
    if "fifo" not in of_order:
        return over
    others = [order for order in orders if order != "fifo"]
    pairs = [(order, of_order[order], "fifo", of_order["fifo"]) for order in others]
    clauses = samples.in_words_compared(pairs)
    cited = [f" (cited in the paper: {CITED_GAINS[one]})" if one in CITED_GAINS else "" for one in others]
    return "\n".join([over, *map("".join, zip(clauses, cited, strict=True))])


def widths(timings: pd.DataFrame, graph: str) -> style.Figure:
    """Draw time, phases and relaxed arcs of ``delta-stepping`` over the width of a bucket."""
    title = f"Delta-stepping: time and work over the width of a bucket, {graph}"
    times = samples.on_one_clock(samples.source_times(timings))
    if times.empty:
        return style.empty_figure(title, NOTHING_PROVEN.format("delta-stepping"))
    kind = times["device_kind"].iloc[0]
    points = _points(timings, times)
    figure, panels = style.new_figure(5.6, 1, 3, sharex=True)
    mark = look("delta-stepping")
    columns = {
        "time_ms": f"Median time\n[ms{style.emulated_note(kind)}]",
        "phases": "Phases",
        "relaxations": "Relaxations per\nreachable arc",
    }
    for axes, (column, label) in zip(panels, columns.items(), strict=True):
        axes.plot(points["delta"], points[column], color=mark.colour, marker="o", markersize=4)
        axes.set(xscale="log", yscale="log", ylabel=label)
        style.plain_log(axes.xaxis, axes.yaxis)
        for delta in points.loc[points["rule"] != "given", "delta"]:
            axes.axvline(delta, color=style.GREY, linewidth=0.8, linestyle=(0, (3, 2)))
    _name_rules(panels[0], points)
    panels[-1].set_xlabel("Width of a bucket [unit of the weights]")
    return style.entitle(figure, title, _width_finding(times, points, kind))


def _points(timings: pd.DataFrame, times: pd.DataFrame) -> pd.DataFrame:
    """Return one row per variant, by width: its rule, median time, phases and relaxations."""
    of_run = timings.groupby(KEY, sort=False).agg(
        delta=("parameter_delta", "first"),
        rule=("parameter_delta_rule", "first"),
        phases=("phases", "median"),
    )
    medians = times.groupby(KEY, sort=False)["time_ms"].median()
    points = of_run.join(medians, how="inner").join(relaxations(timings))
    return points.sort_values("delta").reset_index()


def _name_rules(axes: style.Axes, points: pd.DataFrame) -> None:
    """Write the names of the rules above a panel; rules with close widths share a label."""
    ruled = points[points["rule"] != "given"]
    close = CLOSE * np.log10(points["delta"].max() / points["delta"].min())
    place = np.log10(ruled["delta"])
    for _, group in ruled.groupby((place.diff() > close).cumsum()):
        middle = np.sqrt(group["delta"].iloc[0] * group["delta"].iloc[-1])
        options = {"xycoords": ("data", "axes fraction"), "ha": "center", "va": "bottom", "color": style.GREY}
        style.annotate(axes, ", ".join(group["rule"]), (middle, 1.0), (0, 2), **options)


def _width_finding(times: pd.DataFrame, points: pd.DataFrame, kind: str) -> str:
    over = f"{samples.in_words(times, 'device')}, {times['source'].nunique():,} sources"
    if kind == samples.EMULATED:
        return f"{over}; {style.NOT_GPU_TIMES}"
    best = points.nsmallest(1, "time_ms").iloc[0]
    ends = {points["delta"].min(): "the narrowest tried", points["delta"].max(): "the widest tried"}
    end = f", {ends[best['delta']]}" if len(points) > 1 and best["delta"] in ends else ""
    finding = f"{over}; fastest at a width of {best['delta']:,.0f}{end}: {rounded(best['time_ms'])} ms"
    by_rule = points[points["rule"] != "given"]
    if by_rule.empty:
        return finding
    ruled = by_rule.nsmallest(1, "time_ms").iloc[0]
    return f"{finding}. Best rule of the paper: {ruled['rule']}, {rounded(ruled['time_ms'])} ms"


def bandwidth_table(
    timings: pd.DataFrame, rate: Mapping[str, Any], types: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return the bytes that each variant must at least move on the GPU, as a bandwidth against a copy.

    Parameters are those of :func:`relaxometer.report.figures.roofline.medians` and ``bytes_moved``.
    """
    searches = bytes_moved(timings, types).query("device_kind != 'cpu' and relaxed_arcs > 0")
    speed = searches["relaxed_arcs"] / searches["time_ms"] / 1e6
    runs = medians(searches.assign(speed=speed), rate, decimals=1)
    return pd.DataFrame(
        {
            "Graph": runs["graph"],
            "Variant": runs["variant"],
            "GB per search": (runs["moved"] / 1e9).map(rounded),
            "Billion relaxations/s": runs["speed"].map(rounded),
            "GB/s": runs["gb_s"].map(rounded),
            "Share of copy rate": runs["share"],
        }
    )


def _runs(plan: Plan, graph: str, solver: str) -> list[Run]:
    return [run for run in runs_of(plan, "sssp", graph) if run.solver == solver]


def _draw_extract_min(inputs: Inputs) -> dict[str, style.Figure | pd.DataFrame]:
    trials = inputs.table("trials")
    return {"extract-min": extract_min(trials), "extract-min-times": extract_min_table(trials)}


def _draw_bandwidth(inputs: Inputs) -> pd.DataFrame:
    (rate,) = inputs.contents("rate")
    types = weight_types(inputs.contents("graphs"))
    return bandwidth_table(inputs.searches("sssp"), rate, types)


def _widths_swept(plan: Plan) -> list[str]:
    runs = [run for graph in plan.graphs for run in _runs(plan, graph, "delta-stepping")]
    return names([run for run in runs if is_swept(plan, run)])


def _exhibit(
    name: str, solver: str, draw: Callable[[pd.DataFrame, str], style.Figure], view: View, **options: Any
) -> Exhibit:
    """Return the record of a figure that compares the variants of a solver on each graph."""
    return Exhibit(
        name,
        lambda inputs: draw(inputs.searches("sssp", **inputs.params), inputs.graph),
        (view,),
        wanted=lambda plan: [graph for graph in plan.graphs if len(_runs(plan, graph, solver)) > 1],
        per_graph=True,
        params=lambda plan, graph: {"variants": names(_runs(plan, graph, solver))},
        **options,
    )


EXHIBITS = (
    Exhibit(
        "extract-min",
        _draw_extract_min,
        (
            View("extract-min", "SSSP", TABLE_1, "time of ExtractMin", **EXTRACT_MIN),
            table_view("extract-min-times", "SSSP", TABLE_1, EXTRACT_MIN_TABLE, **EXTRACT_MIN),
        ),
        lambda *_: {"trials": "results/extract_min.parquet"},
    ),
    _exhibit(
        *("queue-orders", "bellman-ford-queue", queue_orders),
        View("queues", "SSSP", "survey, queues", "order of the queues"),
    ),
    _exhibit(
        *("widths", "delta-stepping", widths),
        View("widths", "SSSP", "survey, delta-stepping", "width of a bucket"),
        points=_widths_swept,
    ),
    Exhibit(
        "survey-bandwidth",
        _draw_bandwidth,
        (table_view("bandwidth", "SSSP", "survey, bandwidth", BANDWIDTH),),
        lambda plan, _: with_rate(graphs_of(plan, "sssp")),
        wanted=runs_on("sssp"),
        params=without_curves,
    ),
)
