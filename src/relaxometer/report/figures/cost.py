"""The energy of searches against their time, and a table of what they cost besides time."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from relaxometer.report.catalogue import SUMMARY, Exhibit, View, table_view, with_graphs, without_curves
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import Look, looks_of
from relaxometer.report.figures.names import CLASSES, full_names, label, rounded, short_names, whole
from relaxometer.results.cost import costs, weight_types

TITLE = "Energy against time of a search"
NOTHING_MEASURED = "No energy was measured: no counter is readable, or cost.energy_s is 0."


def energy_against_time(timings: pd.DataFrame) -> style.Figure:
    """Draw the energy and the median time of a search of every variant, a panel per problem and graph."""
    shown = costs(timings)
    shown = shown[(shown["energy_j"] > 0) & shown["median_ms"].notna()]
    if shown.empty:
        return style.empty_figure(TITLE, NOTHING_MEASURED)
    groups = list(shown.groupby(["problem", "graph"], sort=False))
    names = shown.assign(name=full_names(shown)).drop_duplicates("variant").set_index("variant")["name"]
    figure, panels, in_a_row = style.panel_grid(len(groups), list(names))
    looks = looks_of(shown)
    for panel, ((problem, graph), of_race) in zip(panels, groups, strict=True):
        _draw_panel(panel, of_race, looks)
        panel.set_title(f"{label(str(problem))} on {graph}", loc="left", fontsize=9.5)
    style.legend_below(figure, {names[variant]: looks[variant] for variant in names.index}, in_a_row)
    return style.entitle(figure, TITLE, _finding(shown))


def _draw_panel(axes: style.Axes, rows: pd.DataFrame, looks: Mapping[str, Look]) -> None:
    for row in rows.to_dict("records"):
        points = looks[row["variant"]].points
        axes.plot(row["median_ms"], row["energy_j"], linestyle="none", markersize=6.5, **points)
    axes.set(xscale="log", yscale="log", xlabel="Median search [ms]", ylabel="Energy of a search [J]")
    axes.margins(0.15)
    style.plain_log(axes.xaxis, axes.yaxis)


def _finding(shown: pd.DataFrame) -> str:
    """Say what is drawn, and how often the fastest needs the least energy."""
    explained = (
        "Net of the idle power; CPU runs: all processors of the machine. Log scales; lower and "
        "further left is better."
    )
    # A program alone would count as both the fastest and the thriftiest.
    races = [rows for _, rows in shown.groupby(["problem", "graph"]) if len(rows) > 1]
    if not races:
        return explained
    same = sum(rows["median_ms"].idxmin() == rows["energy_j"].idxmin() for rows in races)
    return f"{explained}\nThe fastest program needs the least energy in {same} of {len(races)} races"


def cost_table(timings: pd.DataFrame, types: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return the costs as text, in the order of the runs; parameters as of `costs`."""
    rows = costs(timings, types)
    numbers = rows.filter(regex="_(j|w|bytes|share)$|^watts$|^throttled$").columns
    rows = rows.assign(**{name: pd.to_numeric(rows[name]) for name in numbers})
    return pd.DataFrame(
        {
            "Problem": rows["problem"].map(label),
            "Graph": rows["graph"],
            "Variant": short_names(rows),
            "Class": rows["class"].map(lambda kind: CLASSES.get(kind, kind)),
            "Median [ms]": rows["median_ms"].map(rounded),
            "Energy [mJ]": (rows["energy_j"] * 1e3).map(rounded),
            "Processes": rows["rounds"].astype(str),
            "Between repeats": (rows["repeats_j"] / rows["energy_j"]).map(_share),
            "Between processes": (rows["spread_j"] / rows["energy_j"]).map(_share),
            "With idle [mJ]": (rows["gross_j"] * 1e3).map(rounded),
            "Between processes, with idle": (rows["gross_spread_j"] / rows["gross_j"]).map(_share),
            "Power [W]": rows["watts"].map(rounded),
            "Idle [W]": rows["idle_w"].map(rounded),
            "Idle by process [W]": [_span(*ends) for ends in rows[["idle_low_w", "idle_high_w"]].to_numpy()],
            "Pool [MiB]": (rows["peak_bytes"] / 2**20).map(rounded),
            "Loaded outside pool [MiB]": (rows["kernel_bytes"] / 2**20).map(rounded),
            "Driver [MiB]": (rows["driver_bytes"] / 2**20).map(rounded),
            "Later outside pool [MiB]": (rows["later_bytes"] / 2**20).map(rounded),
            "Leak [B]": rows["leaked_bytes"].map(whole),
            "Must move [MB]": (rows["least_bytes"] / 1e6).map(rounded),
            "Of copy rate": rows["copy_share"].map(_share),
            "Throttled searches": rows["throttled"].map(whole),
        }
    )


def _span(low: float, high: float) -> str:
    return "" if pd.isna(low) else f"{low:.1f} to {high:.1f}"


def _share(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.1%}"


EXHIBITS = (
    Exhibit(
        "energy",
        lambda inputs: energy_against_time(inputs.searches()),
        (View("energy", SUMMARY, "energy", "against time", caption="runs/energy"),),
        wanted=lambda plan: plan.config.cost.energy_s > 0,
        params=without_curves,
    ),
    Exhibit(
        "cost",
        lambda inputs: cost_table(inputs.timings, weight_types(inputs.contents("graphs"))),
        (table_view("cost", SUMMARY, "cost", "energy and memory", caption="runs/cost"),),
        lambda plan, _: with_graphs(plan.graphs),
        wanted=lambda plan: plan.config.cost.energy_s > 0,
    ),
)
