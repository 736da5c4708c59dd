"""The figures and tables of the article on Bellman-Ford over edges, and the bandwidth of its kernels.

References
----------
"GPU SSSP implementation", an article on Bellman-Ford over edges on a GTX Titan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from relaxometer.report.figures.style import (
    GREY,
    Look,
    empty_figure,
    emulated_note,
    entitle,
    legend_above,
    new_figure,
)
from relaxometer.report.papers.adaptive import compare
from relaxometer.results.gather import KEY
from relaxometer.results.samples import EMULATED, in_words, source_times

CORNERS = {
    (True, True): "cache and order",
    (False, True): "order alone",
    (True, False): "cache alone",
    (False, False): "neither",
}
"""Whether the read-only cache is used, whether the edges are sorted: what the figures call it."""

CPU = "CPU Dijkstra"

LOOKS = {
    "cache and order": Look("#009E73", "-", "o"),
    "order alone": Look("#0072B2", (0, (5, 1.5)), "s"),
    "cache alone": Look("#D55E00", (0, (1.5, 1)), "D"),
    "neither": Look("#CC79A7", (0, (4, 1, 1, 1)), "^"),
    CPU: Look("#404040", "-", "v"),
}

OTHER_LOOKS = (
    Look("#E69F00", "-", "P"),
    Look("#56B4E9", (0, (5, 1.5)), "X"),
    Look("#7F3C8D", (0, (1.5, 1)), "<"),
    Look("#A5642A", (0, (4, 1, 1, 1)), ">"),
)
"""For what is not in the source, in the order of the runs."""

GAINS = {
    "cache, edges sorted": ("cache and order", "order alone"),
    "cache, edges not sorted": ("cache alone", "neither"),
    "order, cache on": ("cache and order", "cache alone"),
    "order, cache off": ("order alone", "neither"),
    "both": ("cache and order", "neither"),
}
"""A gain: what is timed with it and what without."""

CLAIMED_RATE, CLAIMED_SPEEDUP, CLAIMED_AT = 100, 40, (2**20, 2**22)
"""What the source gives: million arcs a second, the gain over its CPU, and the vertices of that gain."""

EDGE_BYTES, DISTANCE_BYTES = 16, 8
"""Of an edge, two vertices and a weight, and of a distance, in the source."""

NOTHING_PROVEN = "No run of edge-bf on an R-MAT graph was proven right and finished."
NO_GPU_TIME = "Emulated device: these are no GPU times, so nothing is compared."


def label(run: Mapping[Any, Any]) -> str | None:
    """Return what the figures call a run, from its kernel and parameters; None if they do not show it."""
    if run["kernel"] == "dijkstra-cpu":
        return CPU
    if run["kernel"] == "edge-bf-atomic":
        return "atomic" if run["parameter_blocked"] else "atomic, not sorted"
    if run["kernel"] != "edge-bf":
        return None
    ours = ["32 bits"] if run["parameter_distance"] == "uint32" else []
    ours += ["4 edges a thread"] if run["parameter_edges_per_thread"] == 4 else []
    corner = CORNERS[bool(run["parameter_read_only_cache"]), bool(run["parameter_blocked"])]
    return ", ".join(ours if ours and corner == "cache and order" else [corner, *ours])


def rates(timings: pd.DataFrame, graphs: Sequence[Mapping[str, Any]], swept: Sequence[str]) -> pd.DataFrame:
    """Return the searches that the figures show, each with its arcs a second.

    Times of a CPU stand beside those of a GPU; beside those of the emulated device they are left out.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches.
    graphs : sequence of dict
        Contents of ``graph.json``, of the graphs to show.
    swept : sequence of str
        Variants that only stand in a sweep of a parameter.

    Returns
    -------
    DataFrame
        Rows of :func:`relaxometer.results.samples.source_times` with the columns ``label``, ``vertices``,
        ``arcs`` and ``mega_arcs_per_s``. Of several variants with one label on a graph the first is taken.
    """
    sizes = pd.DataFrame(
        [(graph["name"], graph["vertices"], graph["arcs"]) for graph in graphs],
        columns=["graph", "vertices", "arcs"],
    )
    shown = timings[timings["graph"].isin(sizes["graph"]) & ~timings["variant"].isin(swept)]
    runs = shown[shown["status"] == "ok"].drop_duplicates(KEY).set_index(KEY)
    labels = pd.Series([label(run) for run in runs.to_dict("records")], index=runs.index, dtype=object)
    named = labels.dropna().rename("label").reset_index().drop_duplicates(["graph", "label"])
    times = source_times(shown).merge(named, on=KEY)
    emulated = times["device_kind"] == EMULATED
    times = times[emulated] if emulated.any() else times
    times = times.merge(sizes, on="graph")
    return times.assign(mega_arcs_per_s=times["arcs"] / times["time_ms"] / 1e3)


def performance(measured: pd.DataFrame) -> Figure:
    """Draw the source's first figure, arcs a second over the size of the graph.

    Parameters
    ----------
    measured : DataFrame
        From :func:`rates`.
    """
    title = "Arcs a second: Bellman-Ford over edges"
    kernels = measured[measured["label"] != CPU]
    if kernels.empty:
        return empty_figure(title, NOTHING_PROVEN)
    kind = kernels["device_kind"].iloc[0]
    ours: list[str] = [name for name in measured["label"].unique() if name not in LOOKS]
    panels = [("As in the source", list(LOOKS))]
    panels += [("What is ours", ["cache and order", *ours])] if ours else []
    figure, axes = new_figure(3.4 * len(panels) + 0.6, 1, len(panels), squeeze=False)
    for panel, (name, labels) in zip(axes[:, 0], panels, strict=True):
        _lines(panel, measured[measured["label"].isin(labels)], "mega_arcs_per_s", ours)
        _log_axis(panel, f"Million arcs a second{emulated_note(kind)}")
        legend_above(panel, 4)
        panel.get_legend().set(title=name, alignment="left")
    entitle(figure, title, _best_rate(kernels, kind))
    return figure


def _lines(axes: Axes, rows: pd.DataFrame, column: str, others: Sequence[str]) -> None:
    """Draw the mean over sources for each label, with whiskers from the least to the largest."""
    for name, of_label in rows.groupby("label", sort=False):
        found = of_label.groupby("vertices")[column].agg(["mean", "min", "max"])
        style = LOOKS.get(str(name)) or OTHER_LOOKS[others.index(str(name)) % len(OTHER_LOOKS)]
        axes.errorbar(
            found.index,
            found["mean"],
            yerr=[found["mean"] - found["min"], found["max"] - found["mean"]],
            color=style.colour,
            linestyle=style.dash,
            marker=style.marker,
            markersize=4,
            linewidth=1.3,
            elinewidth=0.8,
            capsize=2,
            label=name,
        )
    _vertices_axis(axes, rows["vertices"])


def _log_axis(axes: Axes, name: str) -> None:
    """Give the vertical axis a name and a log scale with plain numbers."""
    axes.set(yscale="log", ylabel=name)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _vertices_axis(axes: Axes, sizes: pd.Series) -> None:
    """Mark the sizes that were measured as powers of two."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(sizes.unique()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"$2^{{{np.log2(value):.3g}}}$"))
    axes.set_xlabel("Vertices")


def _best_rate(kernels: pd.DataFrame, kind: str) -> str:
    """Say which of the source's four ways has the best mean rate, and where."""
    over = f"{in_words(kernels, 'device')}; mean, least and largest over sources"
    if kind == EMULATED:
        return f"{over}. Emulated device: these are no GPU times"
    corners = kernels[kernels["label"].isin(CORNERS.values())]
    found = [("best of the source's four ways", corners), ("best of all", kernels)]
    said = [f"{what} {_best(rows, 'mega_arcs_per_s')}" for what, rows in found if len(rows)]
    claimed = f"in the source about {CLAIMED_RATE} at 2^21 vertices"
    return f"{over}; {'; '.join(said)} million arcs a second; {claimed}"


def _best(rows: pd.DataFrame, column: str) -> str:
    """Return the largest mean over sources of a column, and the label and graph that have it."""
    means = rows.groupby(["label", "graph"])[column].mean()
    value, (name, graph) = max(zip(means.tolist(), means.index.tolist(), strict=True))
    return f"{value:{',.0f' if value >= 100 else '.3g'}} ({name}, {graph})"


def speedup(measured: pd.DataFrame) -> Figure:
    """Draw the source's second figure, the gain over Dijkstra's algorithm on a CPU.

    Parameters
    ----------
    measured : DataFrame
        From :func:`rates`.
    """
    title = "Gain over Dijkstra's algorithm on one CPU core"
    kernels, cpu = measured[measured["label"] != CPU], measured[measured["label"] == CPU]
    if (kernels["device_kind"] == EMULATED).any():
        return empty_figure(title, NO_GPU_TIME)
    key = ["graph", "source"]
    both = kernels.merge(cpu[[*key, "time_ms", "device"]], on=key, suffixes=("", "_cpu"))
    if both.empty:
        return empty_figure(title, NOTHING_PROVEN if kernels.empty else "dijkstra-cpu was not run.")
    both = both.assign(gain=both["time_ms_cpu"] / both["time_ms"])
    figure, axes = new_figure(4.6)
    _lines(axes, both, "gain", [name for name in both["label"].unique() if name not in LOOKS])
    axes.hlines(CLAIMED_SPEEDUP, *CLAIMED_AT, color=GREY, linewidth=4, alpha=0.5, label="the source's mean")
    _log_axis(axes, "Time of the CPU over time of the GPU")
    legend_above(axes, 4)
    finding = (
        f"{in_words(both, 'device')} against {in_words(both, 'device_cpu')}; mean, least and largest over "
        f"sources; best mean {_best(both, 'gain')}; in the source "
        f"about {CLAIMED_SPEEDUP} from 2^20 to 2^22 vertices"
    )
    entitle(figure, title, finding)
    return figure


def gains(measured: pd.DataFrame) -> Figure:
    """Draw what each optimisation of the source gains, over the size of the graph.

    Parameters
    ----------
    measured : DataFrame
        From :func:`rates`.
    """
    title = "Gain of each optimisation"
    kernels = measured[measured["label"].isin(CORNERS.values())]
    if kernels.empty:
        return empty_figure(title, NOTHING_PROVEN)
    if (kernels["device_kind"] == EMULATED).any():
        return empty_figure(title, NO_GPU_TIME)
    means = kernels.groupby(["label", "vertices"])["time_ms"].mean()
    figure, axes = new_figure(4.2)
    for (name, (candidate, baseline)), style in zip(GAINS.items(), LOOKS.values(), strict=True):
        if {candidate, baseline} <= set(kernels["label"]):
            gain = (means[baseline] / means[candidate]).dropna()
            axes.plot(
                gain.index, gain, color=style.colour, linestyle=style.dash, marker=style.marker, label=name
            )
    axes.axhline(1, color=GREY, linewidth=0.9)
    _vertices_axis(axes, kernels["vertices"])
    axes.set_ylabel("Mean time without over mean time with")
    legend_above(axes, 3)
    entitle(figure, title, f"{in_words(kernels, 'device')}; {_gains_on_largest(kernels)}")
    return figure


def _gains_on_largest(kernels: pd.DataFrame) -> str:
    """Say what a paired test shows of each optimisation on the largest graph."""
    largest = kernels[kernels["vertices"] == kernels["vertices"].max()]
    graph = largest["graph"].iloc[0]
    of_label = dict(iter(largest[largest["graph"] == graph].groupby("label")))
    said = [
        f"{candidate} {compare(of_label[candidate], of_label[baseline])} {baseline}"
        for candidate, baseline in GAINS.values()
        if {candidate, baseline} <= of_label.keys()
    ]
    return (
        f"on {graph} {'; '.join(said)}" if said else "no two of the four ways were run on the largest graph"
    )


def blocks(timings: pd.DataFrame, swept: Sequence[str], graph: str) -> Figure:
    """Draw the mean time against the vertices in a block of the order of edges.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches on `graph`.
    swept : sequence of str
        The variants of edge-bf that differ in the size of the block alone.
    graph : str
    """
    title = f"Mean time against the size of a block, {graph}"
    times = source_times(timings)
    sizes = _parameter(timings, "block").groupby(timings["variant"]).first()
    sweep = times[times["variant"].isin(swept)].assign(block=lambda rows: rows["variant"].map(sizes))
    if sweep.empty:
        return empty_figure(title, "No run of the sweep was proven right and finished.")
    kind = sweep["device_kind"].iloc[0]
    figure, axes = new_figure(3.8)
    _lines(axes, sweep.assign(vertices=sweep["block"], label="cache and order"), "time_ms", [])
    unsorted = _labelled(timings, "cache alone", sweep["source"])
    if len(unsorted):
        style = LOOKS["cache alone"]
        mean = unsorted["time_ms"].mean()
        axes.axhline(mean, color=style.colour, linestyle=style.dash, label="cache alone (not sorted)")
    axes.set(ylabel=f"Time of a search [ms{emulated_note(kind)}]", xlabel="Vertices in a block (P)")
    axes.set_ylim(bottom=0)
    legend_above(axes, 2)
    means = sweep.groupby("block")["time_ms"].mean()
    finding = f"{in_words(sweep, 'device')}, {sweep['source'].nunique()} sources: mean, least and largest"
    if kind == EMULATED:
        finding += ". Emulated device: these are no GPU times"
    else:
        worst = means.max() / means.min()
        finding += f"; best at P = {means.idxmin():,.0f}, the worst takes {worst:.2f} times as long"
    entitle(figure, title, finding)
    return figure


def _labelled(timings: pd.DataFrame, wanted: str, sources: pd.Series) -> pd.DataFrame:
    """Return the times of the first variant of a label, over given sources."""
    runs = timings[timings["status"] == "ok"].drop_duplicates("variant")
    named = [run["variant"] for run in runs.to_dict("records") if label(run) == wanted]
    times = source_times(timings[timings["variant"].isin(named[:1])])
    return times[times["source"].isin(sources)]


def graph_table(graphs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the source's table of its graphs, beside what the same graphs have here.

    Parameters
    ----------
    graphs : sequence of dict
        Contents of ``graph.json``. Sizes are those of the source's arrays: 8 bytes a distance, and 16 an edge
        in MB of 2**20 bytes.
    """
    mega = 1 << 20
    return pd.DataFrame(
        {
            "Graph": [graph["name"] for graph in graphs],
            "Vertices": [graph["vertices"] for graph in graphs],
            "Arcs in the source": [32 * graph["vertices"] for graph in graphs],
            "Arcs here": [graph["arcs"] for graph in graphs],
            "Distances [MB]": [f"{graph['vertices'] * DISTANCE_BYTES / mega:.3f}" for graph in graphs],
            "Edges [MB]": [f"{graph['arcs'] // 2 * EDGE_BYTES / mega:.3f}" for graph in graphs],
        }
    )


def bandwidth_table(timings: pd.DataFrame, rate: Mapping[str, Any]) -> pd.DataFrame:
    """Return the effective bandwidth of every variant that says what a phase must move.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches.
    rate : dict
        From :func:`relaxometer.device.rates.copy_rate`.

    Returns
    -------
    DataFrame
        A line a (graph, variant). The bandwidth is bytes a phase times phases over the time of the whole
        search, so that what is done outside phases counts against it. On the emulated device, or on another
        than the copy was measured on, there is no share of the copy rate.
    """
    known = timings.assign(bytes_per_phase=_parameter(timings, "bytes_per_phase")).query("status == 'ok'")
    lines = []
    for (_, graph, variant), rows in known.dropna(subset="bytes_per_phase").groupby(KEY, sort=False):
        per_phase = float(rows["bytes_per_phase"].iloc[0])
        gb_s = float((per_phase * rows["phases"] / rows["time_ms"]).median()) / 1e6
        comparable = rows["device"].iloc[0] == rate["device"] and rate["device_kind"] != EMULATED
        lines.append(
            {
                "Graph": graph,
                "Variant": variant,
                "MB a phase": f"{per_phase / 1e6:,.3g}" if per_phase < 1e9 else f"{per_phase / 1e6:,.0f}",
                "Phases": f"{rows['phases'].median():.0f}",
                "Median [ms]": f"{rows['time_ms'].median():.3g}",
                "GB/s": f"{gb_s:.3g}" if gb_s < 1000 else f"{gb_s:,.0f}",
                "Share of copy rate": f"{gb_s / rate['copy_gb_s']:.0%}" if comparable else "",
            }
        )
    columns = ["Graph", "Variant", "MB a phase", "Phases", "Median [ms]", "GB/s", "Share of copy rate"]
    return pd.DataFrame(lines, columns=columns)


def _parameter(timings: pd.DataFrame, name: str) -> pd.Series:
    """Return a parameter of each search; NaN where it has none, and everywhere if no run has it."""
    missing = pd.Series(np.nan, index=timings.index)
    found: pd.Series = timings.get(f"parameter_{name}", missing)
    return found
