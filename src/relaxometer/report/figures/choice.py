"""The choice of `auto` on each graph, its reason, and its regret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relaxometer.report.catalogue import Exhibit, Inputs, View, table_view
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import look
from relaxometer.report.figures.names import CLOCKS, prepared, rounded
from relaxometer.report.targets import runs_of
from relaxometer.results.rows import KEY
from relaxometer.results.samples import EMULATED, paired, source_times

if TYPE_CHECKING:
    from relaxometer.plan.plan import Plan

AUTO = "auto"  # the kernel that chooses another
CLOSE = 0.10  # largest regret of a good choice
CHOICES = "its choices and why, as a table"

NO_CHOICES = "No graph has real times of both auto and another variant"

ROW_INCHES = 0.32

RESOLVED = ("chosen", "because", "expected", "probed")  # and the number of searches


def regrets(timings: pd.DataFrame, problem: str = "sssp") -> pd.DataFrame:
    """Compare `auto` with the best other variant on each graph, on the same kind of clock.

    The best has the least total of preparation and the searches that `auto` was to choose for: the time of
    preparation and the first search, and for each further one the median over the sources of both variants,
    so times may differ from other tables. What `auto` lost in first searches by other variants counts. There
    is a row per proven run of `auto` with another variant to compare with, batches apart; ``regret`` is the
    share by which its total exceeds that of the best.
    """
    timings = timings[(timings["problem"] == problem) & ~timings["rival"]]
    first = timings.drop_duplicates(KEY).set_index(KEY).to_dict("index")
    rows = []
    for graph, variant, ours, others in choices(source_times(timings)):
        run = first[problem, graph, variant]
        if pd.isna(searches := run.get("parameter_searches")):
            continue
        row = {"graph": graph, "variant": variant, "device_kind": run["device_kind"]}
        row |= (
            {"searches": int(searches)}
            | {name: run[f"parameter_{name}"] for name in RESOLVED}
            | {"prepare_ms": run["prepare_ms"]}
        )
        before = {name: first[problem, graph, name]["cold_ms"] for name in (variant, *others["variant"])}
        lost = run.get("parameter_lost_ms", 0.0)
        before[variant] += 0.0 if pd.isna(lost) else lost
        totals = {name: (cold_ms, int(searches) - 1) for name, cold_ms in before.items()}
        rows += [row | found for found in against_best(ours, others, totals)]
    return pd.DataFrame(rows)


def choices(times: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame, pd.DataFrame]]:
    """Yield graph and name of each run of `auto`, its times, and those of other variants on its clock."""
    is_auto = times["kernel"] == AUTO
    emulated = times["device_kind"] == EMULATED
    for (graph, variant), ours in times[is_auto].groupby(["graph", "variant"], sort=False):
        alike = emulated == emulated[ours.index[0]]
        yield str(graph), str(variant), ours, times[~is_auto & alike & (times["graph"] == graph)]


def against_best(
    ours: pd.DataFrame, others: pd.DataFrame, totals: Mapping[str, tuple[float, int]] | None = None
) -> list[dict[str, Any]]:
    """Compare the times of `auto` with those of the other variant with the least total, if there is one.

    `totals` has by variant the time before the searches that count, and their number; by default a search
    alone.
    """
    auto = str(ours["variant"].iloc[0])
    found: list[dict[str, Any]] = []
    for name, theirs in others.groupby("variant", sort=False):
        medians = [float(side.median()) for side in paired(ours, theirs)]
        spent = [(totals or {}).get(one, (0.0, 1)) for one in (auto, str(name))]
        both = [before + count * ms for (before, count), ms in zip(spent, medians, strict=True)]
        if np.isfinite(medians).all():
            row = {"auto_ms": medians[0], "best": name, "best_ms": medians[1], "total_ms": both[0]}
            found.append(row | {"best_total_ms": both[1], "regret": both[0] / both[1] - 1})
    return sorted(found, key=lambda row: -row["regret"])[:1]


def good_choices(table: pd.DataFrame, best: str) -> str:
    """Return how many choices are good, compared with what is best."""
    good = int((table["regret"] <= CLOSE).sum())
    return f"auto is within {CLOSE:.0%} of the {best} in {good} of {len(table)} choices"


def shown_regret(regret: float) -> str:
    """Format a regret, without "-0%"."""
    return f"{round(regret, 2) + 0.0:.0%}"


def in_short(table: pd.DataFrame) -> str:
    """Return the number of good choices, from the table of :func:`regrets`."""
    real = table[table["device_kind"] != EMULATED] if len(table) else table
    return NO_CHOICES if real.empty else good_choices(real, "least total")


def _reason(row: dict[Any, Any]) -> str:
    reason = f"{row['because']}; expected {row['expected']}"
    return f"{reason}; probed {row['probed']} per search" if row["probed"] else reason


def regret_table(timings: pd.DataFrame, problem: str = "sssp") -> pd.DataFrame:
    """Return :func:`regrets` as text, one row per choice and a summary."""
    table = regrets(timings, problem)
    lines = [
        {
            "Graph": row["graph"],
            "Clock": CLOCKS[row["device_kind"]],
            "Searches": f"{row['searches']:,}",
            "Chosen": row["chosen"],
            "Why": _reason(row),
            "auto [ms]": rounded(row["auto_ms"]),
            "Preparation [ms]": prepared(row["prepare_ms"]),
            "Total [ms]": rounded(row["total_ms"]),
            "Best variant": row["best"],
            "Best [ms]": rounded(row["best_ms"]),
            "Best total [ms]": rounded(row["best_total_ms"]),
            "Regret": shown_regret(row["regret"]),
        }
        for row in table.to_dict("records")
    ]
    return pd.DataFrame([*lines, {"Graph": in_short(table)}]).fillna("")


def regret_figure(timings: pd.DataFrame, problem: str = "sssp") -> style.Figure:
    """Draw the total of `auto` relative to the best other variant, for each graph and number of searches."""
    title = "Preparation and searches of auto relative to the best other variant"
    table = regrets(timings, problem)
    if table.empty:
        return style.empty_figure(title, in_short(table))
    table = table.sort_values("searches", kind="stable")
    figure, axes = style.new_figure(ROW_INCHES * len(table) + 1.9)
    for y, row in enumerate(table.iloc[::-1].to_dict("records")):
        mark, ratio = look(row["chosen"]), 1 + row["regret"]
        axes.plot(ratio, y, color=mark.colour, marker=mark.marker, markersize=7, linestyle="none")
        text = f"{row['chosen']}, {rounded(row['total_ms'])} ms"
        if row["best"] != row["chosen"]:
            text += f"; best: {row['best']}, {rounded(row['best_total_ms'])} ms"
        style.annotate(axes, text, (ratio, y), (8, 0), va="center", bbox=style.BOX)
    axes.axvline(1, color=style.GREY, linewidth=0.8)
    axes.axvline(1 + CLOSE, color=style.GREY, linewidth=0.8, linestyle=(0, (3, 2)))
    kind = EMULATED if (table["device_kind"] == EMULATED).any() else ""
    labels = [f"{graph}, {count:,}" for graph, count in zip(table["graph"], table["searches"], strict=True)]
    axes.set_yticks(range(len(table)), labels[::-1])
    axes.set(xscale="log", ylabel="Graph, number of searches", ylim=(-0.7, len(table) - 0.3))
    axes.set_xlabel(f"Total of auto / least total of another variant{style.emulated_note(kind)}")
    axes.margins(x=0.35)
    style.plain_log(axes.xaxis)
    return style.entitle(figure, title, f"{in_short(table)} (dashed line). Log scale")


def has_choice(plan: Plan, problem: str, *, of_batches: bool = False) -> bool:
    """Return whether `auto` chooses for searches of some graph, or also for batches and from host to host."""
    return any(
        run.problem == problem
        and run.solver == AUTO
        and len(runs_of(plan, problem, run.graph)) > 1
        and (of_batches or not (plan.datasets[run.graph].is_batch or run.parameters.get("host_to_host")))
        for run in plan.runs.values()
    )


def _exhibit(problem: str, category: str, prefix: str) -> Exhibit:
    figure, table = f"{prefix}auto-regret", f"{prefix}auto-choices"

    def draw(inputs: Inputs) -> dict[str, style.Figure | pd.DataFrame]:
        found = inputs.timings
        return {figure: regret_figure(found, problem), table: regret_table(found, problem)}

    views = (
        View(figure, category, "auto", "its total against the least", caption="auto-regret"),
        table_view(table, category, "auto", CHOICES, caption="auto-regret"),
    )
    return Exhibit(figure, draw, views, wanted=lambda plan: has_choice(plan, problem))


EXHIBITS = (
    _exhibit("sssp", "SSSP", ""),
    _exhibit("bfs", "BFS", "bfs-"),
    _exhibit("dominators", "dominators", "dominators-"),
)
