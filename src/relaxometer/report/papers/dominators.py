"""Dominators: time over size, rates in batches, updates, and the paper's table of steps.

Source: "GPUによる超高速Dominator計算 (1)", on dominators by bitmasks in a persistent kernel, Qiita 2025.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relaxometer.report.catalogue import TIMINGS, Exhibit, Inputs, View, phase_files, table_view, with_graphs
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import Look, looks_of
from relaxometer.report.figures.names import CLOCKS, full_names, rounded, short_names
from relaxometer.report.figures.waits import is_host_to_host, is_streamed
from relaxometer.report.figures.winners import NO_DIFFERENCE
from relaxometer.report.targets import graphs_of
from relaxometer.results.gather import worst
from relaxometer.results.races import common_medians, faster_of, finishers
from relaxometer.results.samples import EMULATED, in_words, source_times
from relaxometer.results.statistics import FEWEST

if TYPE_CHECKING:
    from relaxometer.plan.models import Run
    from relaxometer.plan.plan import Plan

PROBLEM, OVER_ARCS = "dominators", "time over the arcs of an update"

STEPS = {
    "prepare": ("Preparing the graph", 0.849),
    "initialize": ("First kernel: sets and labels", 0.047),
    "persistent": ("Persistent kernel", 0.031),
    "total": ("Total", 1.097),
}
"""By mode of the phase: the step, and its milliseconds in the paper."""

CHANGE_LOOKS = {"removed": Look("#D55E00", "-", "s"), "added": Look("#0072B2", "-", "o")}

FULL_SOLVES = {"removed": (0, (4, 4)), "added": (4, (4, 4))}
"""Line style of full solves, in the colour of the change; where the two coincide, dashes fill gaps."""

UPDATES_TITLE = "Dominators: time to update them after arcs change"

SIDES = {"cuda": "GPU", "cpu": "CPU"}  # the two sides of winners by kind of device

FASTER = {1: "GPU", -1: "CPU", 0: NO_DIFFERENCE, None: f"not compared: fewer than {FEWEST} samples"}
"""What :func:`relaxometer.results.races.faster_of` found, the GPU being the first."""

WINNERS = ["graph", "kernel", "kernel_ms", "program", "program_ms", "gain", "faster"]  # columns of winners
NOTHING_PROVEN = "No run on graphs of this kind was proven correct and finished."


def over_size(timings: pd.DataFrame, graphs: Sequence[Mapping[str, Any]]) -> style.Figure:
    """Draw the median time of every variant over the size of one family of graphs.

    CPU times are shown with GPU times, but not with those of the emulated device.
    """
    title = "Dominators: time over the size of the flow graph"
    medians = median_times(timings, {graph["name"]: graph["vertices"] for graph in graphs})
    if medians.empty:
        return style.empty_figure(title, NOTHING_PROVEN)
    figure, axes = style.new_figure(4.6)
    looks = looks_of(medians)
    for (variant, name), rows in medians.groupby(["variant", "name"], sort=False):
        mark = looks[str(variant)].line
        in_front = 2 if (rows["device_kind"] == "cpu").all() else 3
        points = list(zip(rows["size"], rows["time_ms"], strict=True))
        at, middle = np.array(style.with_gaps(points, medians["size"].unique())).T
        axes.plot(at, middle, markersize=5, label=name, zorder=in_front, **mark)
    kind = _kernel_kind(medians)
    axes.set(yscale="log", xlabel="Vertices")
    style.size_axis(axes, medians["size"])
    style.plain_log(axes.yaxis)
    axes.set_ylabel(f"Median time of a search [ms{style.emulated_note(kind)}]")
    crossover = crossing(medians)
    if crossover is not None:
        axes.axvline(crossover, color=style.GREY, linewidth=0.8, linestyle=(0, (2, 2)))
    style.legend_above(axes, 3)
    return style.entitle(figure, title, _size_finding(medians, crossover, kind))


def median_times(timings: pd.DataFrame, sizes: Mapping[str, int]) -> pd.DataFrame:
    """Return the median time of each variant on each graph, with the column ``size``, ordered by size.

    Only roots that all variants of a graph share are counted. `sizes` are by name of the graph or batch.
    """
    searches = timings[(timings["problem"] == "dominators") & timings["graph"].isin(list(sizes))]
    times = source_times(searches)
    emulated = times["device_kind"] == EMULATED
    times = times[emulated] if emulated.any() else times
    runs = times.groupby(["graph", "source"])["variant"].transform("nunique")
    times = times[runs == times.groupby("graph")["variant"].transform("nunique")]
    key = ["variant", "graph", "kernel", "device_kind", "device", "class", "rival"]
    medians = times.groupby(key, sort=False)["time_ms"].median().reset_index()
    medians = medians.assign(size=medians["graph"].map(sizes), name=short_names(medians))
    return medians.sort_values("size", kind="stable")


def crossing(medians: pd.DataFrame) -> int | None:
    """Return the smallest size above which some GPU kernel always beats every CPU program, if there is one.

    `medians` are from :func:`median_times`.
    """
    times = _without_auto(medians).groupby(["size", "device_kind"])["time_ms"]
    best = times.min().unstack()
    if not {"cuda", "cpu"} <= set(best.columns):
        return None
    wins = (best["cuda"] < best["cpu"]).to_numpy()
    losses = np.flatnonzero(~wins)
    first = losses[-1] + 1 if len(losses) else 0
    return int(best.index[first]) if first < len(best) else None


def _without_auto(medians: pd.DataFrame) -> pd.DataFrame:
    """Leave out `auto`, which counts as a kernel and may have chosen a CPU."""
    return medians[medians["kernel"] != "auto"]


def _size_finding(medians: pd.DataFrame, crossover: int | None, kind: str) -> str:
    devices = in_words(medians, "device")
    if kind == EMULATED:
        return f"{devices}; {style.NOT_GPU_TIMES}"
    if not {"cuda", "cpu"} <= set(medians["device_kind"]):
        return devices
    if crossover is None:
        return f"{devices}; on the largest graph a CPU is faster"
    smaller = medians.loc[medians["size"] < crossover, "size"]
    below = f"; at {smaller.max():,} it does not" if len(smaller) else ""
    above = f"from {crossover:,} vertices on the fastest kernel beats every CPU program"
    return f"{devices}; {above}{below}"


def throughput(timings: pd.DataFrame, batches: Sequence[Mapping[str, Any]]) -> style.Figure:
    """Draw how many graphs of each batch every variant solves per second."""
    title = "Dominators: functions solved per second in batches"
    sizes = {batch["name"]: batch["graphs"] for batch in batches}
    medians = median_times(timings, sizes)
    if medians.empty:
        return style.empty_figure(title, NOTHING_PROVEN)
    rates = medians.assign(rate=medians["size"] / medians["time_ms"] * 1e3)
    names = list(rates["graph"].unique())
    # What else the time of a variant contains, if anything.
    clocks = dict.fromkeys(timings.loc[is_streamed(timings), "variant"], "with transfers")
    clocks |= dict.fromkeys(timings.loc[is_host_to_host(timings), "variant"], "host to host")
    figure, panels = style.panel_column(1.4 + 0.3 * len(rates), len(names))
    for axes, name in zip(panels, names, strict=True):
        of_batch = rates[rates["graph"] == name].sort_values("rate")
        _dots(axes, of_batch, clocks)
        axes.set_title(f"{name}: {sizes[name]:,} graphs", loc="left", fontsize=9)
    kind = _kernel_kind(rates)
    panels[-1].set_xlabel(f"Functions per second{style.emulated_note(kind)}")
    note = f"; {style.NOT_GPU_TIMES}" if kind == EMULATED else _gains(timings, names)
    return style.entitle(figure, title, in_words(rates, "device") + note)


def _gains(timings: pd.DataFrame, names: Sequence[str]) -> str:
    """Compare the fastest kernel with the fastest CPU program on each batch: resident, and host to host."""
    timings = timings[timings["graph"].isin(names)]
    return _in_short("Resident", winners(timings)) + _in_short("Host to host", winners_host_to_host(timings))


def _in_short(clock: str, races: pd.DataFrame) -> str:
    """Return a line with the gain of each race that has both sides; nothing without any."""
    gains = []
    for race in races.dropna().to_dict("records"):
        doubt = "" if race["faster"] in SIDES.values() else f" ({race['faster']})"
        times = f"{rounded(race['gain'])} times as fast as {race['program']}{doubt}"
        gains.append(f"{race['graph']}, {race['kernel']} is {times}")
    return f"\n{clock}: {'; '.join(gains)}" if gains else ""


def winners(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the fastest kernel and the fastest CPU program of every graph and batch, in real time.

    Runs that did not prove an answer for every search take no part, nor do kernels whose time contains
    transfers: graphs are resident. ``gain`` is the program's time over the kernel's; ``faster`` is "GPU",
    "CPU", or why neither is said to be, by :func:`relaxometer.results.races.faster_of`. Values are missing
    where one side has no time. Names tell cores and rivals. Graphs on which a CPU is fastest come first.
    """
    return _winners(timings[~is_host_to_host(timings) & ~is_streamed(timings)])


def winners_host_to_host(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the :func:`winners` from arrays in host memory to the answer there.

    Kernels take part if they were timed so in one call. To the times of CPU programs their preparation is
    added; rivals, whose preparation is not comparable, are left out.
    """
    timings = timings[~timings["rival"]]
    moved, on_cpu = is_host_to_host(timings), timings["device_kind"] == "cpu"
    prepared = timings["prepare_ms"].where(on_cpu & ~moved, 0.0)
    return _winners(timings.assign(time_ms=timings["time_ms"] + prepared)[on_cpu | moved])


def _winners(timings: pd.DataFrame) -> pd.DataFrame:
    """Return the columns `WINNERS` from the searches that are compared."""
    searches = timings[timings["problem"] == "dominators"]
    times = _without_auto(finishers(searches))
    graphs = searches["graph"].unique()
    rows = [{"graph": graph, **_fastest(times[times["graph"] == graph])} for graph in graphs]
    table = pd.DataFrame(rows, columns=WINNERS).astype({"kernel_ms": float, "program_ms": float})
    gain = table["program_ms"] / table["kernel_ms"]
    return table.assign(gain=gain).sort_values("gain", kind="stable", ignore_index=True)


def _fastest(times: pd.DataFrame) -> dict[str, Any]:
    """Return a row of :func:`winners` from the times of the finishers on one graph."""
    medians = common_medians(times).sort_values("time_ms", kind="stable")
    medians = medians.assign(full_name=full_names(medians)).drop_duplicates("device_kind")
    best = {SIDES[row["device_kind"]]: row for row in medians.to_dict("records")}
    row: dict[str, Any] = {}
    for side, column in (("GPU", "kernel"), ("CPU", "program")):
        if side in best:
            row |= {column: best[side]["full_name"], f"{column}_ms": best[side]["time_ms"]}
    if len(best) == len(SIDES):
        gpu, cpu = (times[times["variant"] == best[side]["variant"]] for side in SIDES.values())
        row["faster"] = FASTER[faster_of(gpu, cpu, times)[1]]
    return row


def winners_table(timings: pd.DataFrame) -> pd.DataFrame:
    """Return :func:`winners` as text."""
    table = winners(timings)
    return pd.DataFrame(
        {
            "Graph": table["graph"],
            "Fastest kernel": table["kernel"].fillna(""),
            "GPU [ms]": table["kernel_ms"].map(rounded),
            "Fastest CPU program": table["program"].fillna(""),
            "CPU [ms]": table["program_ms"].map(rounded),
            "CPU / GPU": table["gain"].map(rounded),
            "Faster": table["faster"].fillna(""),
        }
    )


def _dots(axes: style.Axes, rates: pd.DataFrame, clocks: Mapping[str, str]) -> None:
    """Draw and label the rate of each variant; say what is timed besides the search."""
    looks = looks_of(rates)
    for place, (variant, rate) in enumerate(zip(rates["variant"], rates["rate"], strict=True)):
        axes.plot(rate, place, linestyle="none", markersize=6.5, **looks[variant].points)
        figures = f"{rounded(rate / 1e6)} million" if rate >= 1e6 else f"{rate:,.0f}"
        text = ", ".join([figures, *filter(None, [clocks.get(variant)])])
        style.annotate(axes, text, (rate, place), (7, 0), va="center")
    axes.set_yticks(range(len(rates)), rates["name"])
    axes.set(xscale="log", ylim=(-0.6, len(rates) - 0.4))
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.2)
    style.plain_log(axes.xaxis)


def steps_table(phases: pd.DataFrame) -> pd.DataFrame:
    """Return the paper's table of steps, with times from the phases of its method on its example."""
    table = pd.DataFrame({"Step": [name for name, _ in STEPS.values()]})
    table["Paper [ms]"] = [f"{value:.3f}" for _, value in STEPS.values()]
    for device, rows in phases.groupby("device", sort=False):
        note = style.emulated_note(str(rows["device_kind"].iloc[0]))
        medians = rows.groupby("mode")["time_ms"].median()
        table[f"{device} [ms{note}]"] = [f"{medians[mode]:.3f}" for mode in STEPS]
    return table


def _kernel_kind(medians: pd.DataFrame) -> str:
    """Return the kind of the device that kernels ran on, or "cpu" if there were none."""
    return next(iter(set(medians["device_kind"]) - {"cpu"}), "cpu")


def update_medians(updates: pd.DataFrame) -> pd.DataFrame:
    """Return the medians over the draws of each change on each graph.

    `updates` is as :data:`relaxometer.studies.updates.TABLE`; ``gain`` is the time of a full solve over that
    of the update. A change has no times if any draw failed.
    """
    key = ["graph", "change", "arcs", "device_kind", "device"]
    table = updates.groupby(key, sort=False)[["time_ms", "full_ms", "kept"]].median()
    table["status"] = updates.groupby(key)["status"].agg(worst)
    table.loc[table["status"] != "ok", ["time_ms", "full_ms", "kept"]] = np.nan
    return table.assign(gain=table["full_ms"] / table["time_ms"]).reset_index()


def over_arcs(updates: pd.DataFrame) -> style.Figure:
    """Draw the time of updates over the number of arcs, a panel for each graph."""
    table = update_medians(updates).dropna(subset=["time_ms"])
    if table.empty:
        return style.empty_figure(UPDATES_TITLE, "No update was proven correct and finished.")
    names = list(table["graph"].unique())
    kind = str(table["device_kind"].iloc[0])
    figure, panels = style.panel_column(1.2 + 2.2 * len(names), len(names), sharex=True)
    for axes, name in zip(panels, names, strict=True):
        _update_panel(axes, table[table["graph"] == name])
        axes.set_title(name, loc="right", fontsize=9)
        axes.set_ylabel(f"Median time [ms{style.emulated_note(kind)}]")
    panels[-1].set_xlabel("Arcs removed or added per update")
    style.legend_above(panels[0], 2)
    return style.entitle(figure, UPDATES_TITLE, _update_finding(table, kind))


def _update_panel(axes: style.Axes, table: pd.DataFrame) -> None:
    """Draw both changes of one graph, and full solves of the same states."""
    for change, rows in table.groupby("change", sort=False):
        mark, ordered = CHANGE_LOOKS[str(change)], rows.sort_values("arcs")
        axes.plot(ordered["arcs"], ordered["time_ms"], markersize=5, label=f"arcs {change}", **mark.line)
        full: Any = {"color": mark.colour, "linestyle": FULL_SOLVES[str(change)]}
        axes.plot(ordered["arcs"], ordered["full_ms"], label=f"full solve, {change}", **full)
    axes.set(xscale="log", yscale="log")
    least, most = table[["time_ms", "full_ms"]].min().min(), table[["time_ms", "full_ms"]].max().max()
    axes.set_ylim(10 ** np.floor(np.log10(least)), 10 ** np.ceil(np.log10(most)))
    style.plain_log(axes.xaxis, axes.yaxis)


def _update_finding(table: pd.DataFrame, kind: str) -> str:
    devices = in_words(table, "device")
    if kind == EMULATED:
        return f"{devices}; {style.NOT_GPU_TIMES}"
    ranges = [
        f"{change}: {rows['gain'].min():.2g} to {rows['gain'].max():.2g} times as fast as a full solve"
        for change, rows in table.groupby("change", sort=False)
    ]
    return f"{devices}; all states proven. Arcs {'; '.join(ranges)}"


def updates_table(updates: pd.DataFrame) -> pd.DataFrame:
    """Return the times of all changes as text."""
    table = update_medians(updates)
    return pd.DataFrame(
        {
            "Graph": table["graph"],
            "Change": table["change"],
            "Arcs": table["arcs"].map("{:,}".format),
            "Clock": table["device_kind"].map(CLOCKS),
            "Median [ms]": table["time_ms"].map(rounded),
            "Full solve [ms]": table["full_ms"].map(rounded),
            "Times as fast": table["gain"].map(rounded),
            "Kept": [f"{kept:.0%}" if np.isfinite(kept) else "" for kept in table["kept"]],
            "Status": table["status"],
        }
    )


def _family(plan: Plan) -> list[str]:
    """Return the random flow graphs, which differ only in size."""
    return [graph for graph in graphs_of(plan, "dominators") if graph.startswith("flow-random")]


def _batches(plan: Plan) -> list[str]:
    return [name for name in graphs_of(plan, "dominators") if plan.datasets[name].is_batch]


def _step_runs(plan: Plan) -> list[Run]:
    runs = plan.runs.values()
    return [run for run in runs if run.solver == "persistent-warp" and run.graph == "flow-source"]


def _draw_updates(inputs: Inputs) -> dict[str, style.Figure | pd.DataFrame]:
    measured = inputs.table("updates")
    return {"updates": over_arcs(measured), "update-times": updates_table(measured)}


UPDATES_OPTIONS: Any = {"graph": "all of the study", "caption": "updates"}

EXHIBITS = (
    Exhibit(
        "dominator-sizes",
        lambda inputs: over_size(inputs.timings, inputs.contents("graphs")),
        (View("size", PROBLEM, "size", "time over size", graph="random flow graphs"),),
        lambda plan, _: with_graphs(_family(plan)),
        wanted=_family,
    ),
    Exhibit(
        "dominator-batches",
        lambda inputs: throughput(inputs.timings, inputs.contents("batches")),
        (View("batches", PROBLEM, "batches", "functions per second", graph="all batches"),),
        lambda plan, _: {
            "timings": TIMINGS,
            "batches": [f"results/batches/{batch}/batch.json" for batch in _batches(plan)],
        },
        wanted=_batches,
    ),
    Exhibit(
        "dominator-steps",
        lambda inputs: steps_table(inputs.proven_phases()),
        (table_view("steps", PROBLEM, "steps", "time of each step, as a table", graph="flow-source"),),
        lambda plan, _: {
            **phase_files(_step_runs(plan)),
            "contexts": [f"{run.folder()}/context.json" for run in _step_runs(plan)],
        },
        wanted=_step_runs,
    ),
    Exhibit(
        "dominator-winners",
        lambda inputs: winners_table(inputs.timings),
        (table_view("winners", PROBLEM, "winners", "where a GPU wins and where it loses, as a table"),),
        wanted=lambda plan: graphs_of(plan, PROBLEM),
    ),
    Exhibit(
        "dominator-updates",
        _draw_updates,
        (
            View("updates", PROBLEM, "updates", OVER_ARCS, **UPDATES_OPTIONS),
            table_view("update-times", PROBLEM, "updates", f"{OVER_ARCS}, as a table", **UPDATES_OPTIONS),
        ),
        lambda plan, _: {
            "updates": [f"results/updates/{graph}.parquet" for graph in plan.config.updates.graphs]
        },
        wanted=lambda plan: plan.config.updates.graphs,
    ),
)
