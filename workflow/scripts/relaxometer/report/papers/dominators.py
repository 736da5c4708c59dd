"""Dominators over the size of a graph and in batches, and the source's table of steps.

References
----------
"GPUによる超高速Dominator計算 (1)", an article on dominators by bitmasks in a persistent kernel, Qiita 2025.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from relaxometer.report.figures.style import (
    GREY,
    Look,
    empty_figure,
    emulated_note,
    entitle,
    legend_above,
    new_figure,
)
from relaxometer.report.figures.summary import rounded
from relaxometer.results.samples import EMULATED, in_words, source_times

LOOKS = {
    "persistent-warp": Look("#0072B2", "-", "o"),
    "multiword": Look("#D55E00", (0, (5, 1.5)), "s"),
    "iterative-tree": Look("#009E73", (0, (1.5, 1)), "D"),
    "batch-warp": Look("#0072B2", "-", "o"),
    "batch-block": Look("#009E73", (0, (1.5, 1)), "D"),
    "lengauer-tarjan": Look("#404040", (0, (4, 1, 1, 1)), "v"),
    "cooper-harvey-kennedy": Look("#404040", (0, (5, 1.5)), "^"),
    "semi-nca": Look("#404040", "-", "P"),
    "igraph": Look("#999999", (0, (1.5, 1)), "<"),
    "rustworkx": Look("#999999", "-", ">"),
}
"""Kernels in colours, what runs on a CPU in greys."""

OTHER = Look("#CC79A7", "-", "X")

STEPS = {
    "prepare": ("Preparing the graph", 0.849),
    "initialize": ("First kernel: sets and labels", 0.047),
    "persistent": ("Persistent kernel", 0.031),
    "total": ("In all", 1.097),
}
"""Mode of the phase: what the source calls the step, and its milliseconds there."""

NOTHING_PROVEN = "No run on graphs of this kind was proven right and finished."


def over_size(timings: pd.DataFrame, graphs: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the median time of every variant over the size of one family of graphs.

    Times of a CPU stand beside those of a GPU; beside those of the emulated device they are left out.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches.
    graphs : sequence of dict
        Contents of ``graph.json``, of the graphs to show.
    """
    title = "Dominators: time over the size of a flow graph"
    medians = median_times(timings, {graph["name"]: graph["vertices"] for graph in graphs})
    if medians.empty:
        return empty_figure(title, NOTHING_PROVEN)
    figure, axes = new_figure(4.6)
    for variant, rows in medians.groupby("variant", sort=False):
        style = LOOKS.get(str(variant), OTHER)
        axes.plot(
            rows["size"],
            rows["time_ms"],
            color=style.colour,
            linestyle=style.dash,
            marker=style.marker,
            markersize=5,
            label=variant,
            # Where marks meet, those of kernels are seen.
            zorder=2 if (rows["device_kind"] == "cpu").all() else 3,
        )
    kind = _kernel_kind(medians)
    axes.set(xscale="log", yscale="log", xlabel="Vertices")
    axes.set_ylabel(f"Median time of a search [ms{emulated_note(kind)}]")
    crossover = crossing(medians)
    if crossover is not None:
        axes.axvline(crossover, color=GREY, linewidth=0.8, linestyle=(0, (2, 2)))
    legend_above(axes, 3)
    entitle(figure, title, _size_finding(medians, crossover, kind))
    return figure


def median_times(timings: pd.DataFrame, sizes: Mapping[str, int]) -> pd.DataFrame:
    """Return the median time of each variant on each of the graphs, with the column ``size``, by size.

    Where variants were run from different roots, only those that all of a graph have in common count.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches.
    sizes : mapping of str to int
        By name of the graph or batch.
    """
    searches = timings[(timings["problem"] == "dominators") & timings["graph"].isin(list(sizes))]
    times = source_times(searches)
    emulated = times["device_kind"] == EMULATED
    times = _from_common_roots(times[emulated] if emulated.any() else times)
    key = ["variant", "graph", "kernel", "device_kind", "device"]
    medians = times.groupby(key, sort=False)["time_ms"].median().reset_index()
    return medians.assign(size=medians["graph"].map(sizes)).sort_values("size", kind="stable")


def _from_common_roots(times: pd.DataFrame) -> pd.DataFrame:
    """Return the times from the roots that all variants of a graph were run from."""
    runs = times.groupby(["graph", "source"])["variant"].transform("nunique")
    return times[runs == times.groupby("graph")["variant"].transform("nunique")]


def crossing(medians: pd.DataFrame) -> int | None:
    """Return the size from which the fastest kernel on a GPU is always faster than the fastest on a CPU.

    Parameters
    ----------
    medians : DataFrame
        From :func:`median_times`.
    """
    best = medians.pivot_table(index="size", columns="device_kind", values="time_ms", aggfunc="min")
    if not {"cuda", "cpu"} <= set(best.columns):
        return None
    wins = (best["cuda"] < best["cpu"]).to_numpy()
    losses = np.flatnonzero(~wins)
    first = losses[-1] + 1 if len(losses) else 0
    return int(best.index[first]) if first < len(best) else None


def _size_finding(medians: pd.DataFrame, crossover: int | None, kind: str) -> str:
    """Say where the lines cross."""
    devices = in_words(medians, "device")
    if kind == EMULATED:
        return f"{devices}; emulated device: these are no GPU times, so nothing is compared with a CPU"
    if not {"cuda", "cpu"} <= set(medians["device_kind"]):
        return devices
    if crossover is None:
        return f"{devices}; on the largest graph a CPU is faster"
    smaller = medians.loc[medians["size"] < crossover, "size"]
    below = f"; at {smaller.max():,} it does not" if len(smaller) else ""
    above = f"from {crossover:,} vertices on the fastest kernel beats every program on the CPU"
    return f"{devices}; {above}{below}"


def throughput(timings: pd.DataFrame, batches: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw how many graphs of each batch a second every variant solves.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches.
    batches : sequence of dict
        Contents of ``batch.json``.
    """
    title = "Dominators: functions per second"
    sizes = {batch["name"]: batch["graphs"] for batch in batches}
    medians = median_times(timings, sizes)
    if medians.empty:
        return empty_figure(title, NOTHING_PROVEN)
    rates = medians.assign(rate=medians["size"] / medians["time_ms"] * 1e3)
    names = list(rates["graph"].unique())
    moving = _moving(timings)
    figure, panels = new_figure(1.4 + 0.3 * len(rates), rows=len(names), squeeze=False)
    for axes, name in zip(panels[:, 0], names, strict=True):
        of_batch = rates[rates["graph"] == name].sort_values("rate")
        _bars(axes, of_batch, moving)
        axes.set_title(f"{name}: {sizes[name]:,} graphs", loc="left", fontsize=9)
    kind = _kernel_kind(rates)
    panels[-1, 0].set_xlabel(f"Graphs per second [1/s{emulated_note(kind)}]")
    note = "; emulated device: these are no GPU rates" if kind == EMULATED else _gains(timings, names)
    entitle(figure, title, in_words(rates, "device") + note)
    return figure


def _moving(timings: pd.DataFrame) -> set[str]:
    """Return the variants whose time includes moving a batch to the device and its answer back."""
    if "parameter_streams" not in timings:
        return set()
    return set(timings.loc[timings["parameter_streams"] > 0, "variant"])


def _gains(timings: pd.DataFrame, names: Sequence[str]) -> str:
    """Say how much faster the fastest kernel is than the fastest program on a CPU, batch by batch."""
    fastest = winners(timings[timings["graph"].isin(names)]).dropna()
    return "".join(
        f"; {row.kernel} finds those of {row.graph} {row.gain:.3g} times as fast as {row.program} on one core"
        for row in fastest.itertuples()
    )


def winners(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the fastest kernel and the fastest program on a CPU of every graph and batch.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches. Emulated times are left out.

    Returns
    -------
    DataFrame
        With the columns ``graph, kernel, kernel_ms, program, program_ms`` and ``gain``, the program's time
        over the kernel's; missing where one side has no time. Graphs on which a CPU is fastest come first.
    """
    graphs = timings.loc[timings["problem"] == "dominators", "graph"].unique()
    medians = median_times(timings[timings["device_kind"] != EMULATED], dict.fromkeys(graphs, 0))
    table = pd.DataFrame({"graph": graphs})
    for kind, who in (("cuda", "kernel"), ("cpu", "program")):
        rows = medians[medians["device_kind"] == kind].sort_values("time_ms", kind="stable")
        best = rows.drop_duplicates("graph")[["graph", "variant", "time_ms"]]
        table = table.merge(best.set_axis(["graph", who, f"{who}_ms"], axis=1), on="graph", how="left")
    gain = table["program_ms"] / table["kernel_ms"]
    return table.assign(gain=gain).sort_values("gain", kind="stable", ignore_index=True)


def winners_table(timings: pd.DataFrame) -> pd.DataFrame:
    """Return where a GPU wins and where it loses, in words."""
    table = winners(timings)
    faster = np.where(table["gain"] >= 1, "GPU", "CPU")
    return pd.DataFrame(
        {
            "Graph": table["graph"],
            "Fastest kernel": table["kernel"].fillna(""),
            "GPU [ms]": table["kernel_ms"].map(rounded),
            "Fastest on one core": table["program"].fillna(""),
            "CPU [ms]": table["program_ms"].map(rounded),
            "CPU / GPU": table["gain"].map(rounded),
            "Faster": np.where(table["gain"].isna(), "", faster),
        }
    )


def _bars(axes: Axes, rates: pd.DataFrame, moving: Collection[str]) -> None:
    """Draw a bar for each variant, its rate written at the end; say where moving the batch is in it."""
    colours = [LOOKS.get(str(kernel), OTHER).colour for kernel in rates["kernel"]]
    axes.barh(rates["variant"], rates["rate"], color=colours, height=0.65)
    axes.set_xscale("log")
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.12)
    for place, (variant, rate) in enumerate(zip(rates["variant"], rates["rate"], strict=True)):
        figures = f"{rate / 1e6:,.3g} million" if rate >= 1e6 else f"{rate:,.0f}"
        axes.annotate(
            figures + (", with transfers" if variant in moving else ""),
            (rate, place),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )


def steps_table(phases: pd.DataFrame) -> pd.DataFrame:
    """Return the source's table of steps beside what was measured.

    Parameters
    ----------
    phases : DataFrame
        The gathered phases of runs of the source's method on its example.
    """
    table = pd.DataFrame({"Step": [name for name, _ in STEPS.values()]})
    table["Source [ms]"] = [f"{value:.3f}" for _, value in STEPS.values()]
    for device, rows in phases.groupby("device", sort=False):
        note = emulated_note(str(rows["device_kind"].iloc[0]))
        medians = rows.groupby("mode")["time_ms"].median()
        table[f"{device} [ms{note}]"] = [f"{medians[mode]:.3f}" for mode in STEPS]
    return table


def _kernel_kind(medians: pd.DataFrame) -> str:
    """Return the kind of the device that kernels ran on; that of the CPU if none did."""
    kinds = set(medians["device_kind"]) - {"cpu"}
    return kinds.pop() if kinds else "cpu"
