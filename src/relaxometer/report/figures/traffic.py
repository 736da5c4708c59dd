"""New weights on the same map: the time until the first answer, and how it spreads over many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from relaxometer.report.catalogue import Exhibit, Files, View, table_view
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import look
from relaxometer.report.figures.names import CLOCKS, by_graph, percent, rounded
from relaxometer.results.gather import SEVERITY
from relaxometer.results.samples import EMULATED

if TYPE_CHECKING:
    from relaxometer.plan.plan import Plan

TREES = 10.0 ** np.arange(0, 4.01, 0.25)  # trees per change of the weights in the figure

SHARED = ["way", "class", "threads", "status", "reason"]
"""Columns of the first failed round of a variant, or of any if none failed."""

APART = 0.055  # distance of the names of two lines, as a share of the logarithmic axis


def medians(changes: pd.DataFrame) -> pd.DataFrame:
    """Return the medians over the rounds of each variant on each graph.

    `changes` is as :data:`relaxometer.studies.traffic.TABLE`. ``ready_ms`` is from new weights to the first
    answer; ``searches`` and ``proven`` are sums. If any round of a variant failed, it has no times.
    """
    keys = ["graph", "variant", "pairs", "device_kind", "device"]
    changes = changes.assign(ready_ms=changes["update_ms"] + changes["first_ms"])
    times = ["update_ms", "first_ms", "tree_ms", "ready_ms"]
    worst = changes.sort_values("status", key=lambda of: -of.map(SEVERITY.index), kind="stable")
    table = changes.groupby(keys, sort=False)[times].median()
    table = table.join(changes.groupby(keys)[["searches", "proven"]].sum())
    table = table.join(worst.drop_duplicates(keys).set_index(keys)[SHARED])
    table.loc[table["status"] != "ok", times] = np.nan
    return table.reset_index()


def traffic(changes: pd.DataFrame, graph: str) -> style.Figure:
    """Draw the time per tree over the number of trees for which the weights stay; pairs are left out.

    Emulated and real times are never drawn together.
    """
    title = f"Trees after a change of weights, {graph}"
    changes = changes[changes["pairs"] == 0]
    table = medians(changes[changes["graph"] == graph]).dropna(subset=["ready_ms"])
    if table.empty:
        reason = next(filter(None, changes["reason"].dropna()), "nothing was measured")
        return style.empty_figure(title, f"No search was proven correct and finished: {reason}")
    emulated = table["device_kind"] == EMULATED
    table = table[emulated] if emulated.any() else table
    kind = str(table["device_kind"].iloc[0])
    table = table.sort_values("tree_ms").assign(rival=lambda rows: rows["class"].notna())
    columns = [table[column].tolist() for column in ("variant", "rival", "ready_ms", "tree_ms")]
    figure, axes = style.new_figure(4.0)
    apart = float(table["ready_ms"].max() / table["tree_ms"].min()) ** APART
    lowest = 0.0
    for name, rival, ready_ms, tree_ms in zip(*columns, strict=True):
        per_tree = (ready_ms + (TREES - 1) * tree_ms) / TREES
        axes.plot(TREES, per_tree, color=look(name, rival).colour, label=name)
        lowest = max(per_tree[-1], lowest * apart)
        style.annotate(axes, name, (TREES[-1], lowest), (5, 0), **style.AT_END)
    axes.set(xscale="log", yscale="log", xlabel="Trees until the weights change again")
    axes.set_ylabel(f"Time per tree, change included [ms{style.emulated_note(kind)}]")
    style.plain_log(axes.xaxis, axes.yaxis)
    return style.entitle(figure, title, _finding(table, changes, kind))


def _finding(table: pd.DataFrame, changes: pd.DataFrame, kind: str) -> str:
    first = table.nsmallest(1, "ready_ms").iloc[0]
    proven = int(changes["proven"].fillna(0).sum())
    finding = (
        f"{table['device'].iloc[0]}. First tree after new weights: {first['variant']}, "
        f"{rounded(first['ready_ms'])} ms ({rounded(first['update_ms'])} ms for the weights). "
        f"{proven:,} answers proven"
    )
    if kind == EMULATED:
        return f"{finding}; {style.NOT_GPU_TIMES}"
    best = table.nsmallest(1, "tree_ms").iloc[0]
    if best["variant"] == first["variant"]:
        return finding
    return f"{finding}. Further trees: {best['variant']}, {rounded(best['tree_ms'])} ms each"


def traffic_table(changes: pd.DataFrame) -> pd.DataFrame:
    """Return the medians as text, the first answer that is ready first on top of each graph."""
    table = by_graph(medians(changes), "ready_ms")
    shares = table["proven"] / table["searches"].replace(0, np.nan)
    return pd.DataFrame(
        {
            "Graph": table["graph"],
            "Variant": table["variant"],
            "Answer": [f"{pairs:,} pairs" if pairs else "tree" for pairs in table["pairs"]],
            "New weights": table["way"].fillna(""),
            "Clock": table["device_kind"].map(CLOCKS),
            "Class": [_class(*pair) for pair in zip(table["class"], table["threads"], strict=True)],
            "Weights [ms]": table["update_ms"].map(rounded),
            "First answer [ms]": table["first_ms"].map(rounded),
            "Weights and first answer [ms]": table["ready_ms"].map(rounded),
            "Further answer [ms]": table["tree_ms"].map(rounded),
            "Proven": shares.map(percent),
            "Status": table["status"],
        }
    )


def _class(kind: str | None, threads: float) -> str:
    """Return the class of machine of a rival and, on all cores, its threads; empty for a variant."""
    if pd.isna(kind):
        return ""
    return f"{kind}, threads: {threads:.0f}" if kind == "cpu-all" else str(kind)


def _changes(plan: Plan, graph: str) -> Files:
    graphs = [graph] if graph else plan.config.traffic.graphs
    return {"changes": [f"results/traffic/{name}.parquet" for name in graphs]}


EXHIBITS = (
    Exhibit(
        "traffic",
        lambda inputs: traffic(inputs.table("changes"), inputs.graph),
        (View("traffic", "SSSP", "new weights", "time per tree"),),
        _changes,
        wanted=lambda plan: plan.config.traffic.graphs if plan.config.traffic.variants else [],
        per_graph=True,
    ),
    Exhibit(
        "traffic-table",
        lambda inputs: traffic_table(inputs.table("changes")),
        (table_view("traffic", "SSSP", "new weights", "as a table"),),
        _changes,
        wanted=lambda plan: plan.config.traffic.graphs,
    ),
)
