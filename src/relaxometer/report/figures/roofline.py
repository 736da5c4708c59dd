"""The bandwidth of every GPU variant against that of a copy, over the bytes of a phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relaxometer.report.catalogue import TIMINGS, Exhibit, Inputs, View, metadata, swept
from relaxometer.report.figures.looks import looks_of
from relaxometer.report.figures.names import label
from relaxometer.report.figures.style import (
    GREY,
    annotate,
    empty_figure,
    entitle,
    legend_below,
    new_figure,
    plain_log,
)
from relaxometer.report.figures.summary import rounded
from relaxometer.report.targets import graphs_of
from relaxometer.results.cost import arcs_bytes, weight_types
from relaxometer.results.rows import KEY
from relaxometer.results.samples import proven

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from relaxometer.plan.plan import Plan

PHASE_MICROSECONDS = (1, 10, 100, 1_000, 10_000)
"""Times of a phase on the diagonals."""

NAMES_IN_A_ROW = 4
ROW_INCHES = 0.2


def loads(timings: pd.DataFrame, problem: str, types: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return the least bytes per phase and the bandwidth of every GPU variant on every graph.

    Parameters
    ----------
    timings : DataFrame
    problem : str
    types : mapping of str to str, optional
        As :func:`relaxometer.results.cost.costs` takes them.

    Returns
    -------
    DataFrame
        With the columns of the key, ``phase_mb`` and ``gb_s``: medians over the proven searches on a GPU.
    """
    right = proven(timings, timings)
    ours = right[(right["problem"] == problem) & (right["status"] == "ok") & (right["device_kind"] == "cuda")]
    missing = pd.Series(np.nan, index=ours.index)
    stated = ours.get("parameter_bytes_per_phase", missing) * ours["phases"]
    counted = arcs_bytes(ours, types or {}) * ours.get("relaxed_arcs", missing).where(lambda arcs: arcs > 0)
    moved = stated.fillna(counted)
    loaded = ours.assign(
        phase_mb=moved / ours["phases"].fillna(1).clip(lower=1) / 1e6, gb_s=moved / ours["time_ms"] / 1e6
    )
    return (
        loaded.dropna(subset=["gb_s"]).groupby(KEY, sort=False)[["phase_mb", "gb_s"]].median().reset_index()
    )


def roofline(
    timings: pd.DataFrame, rate: Mapping[str, Any], problem: str, types: Mapping[str, str] | None = None
) -> Figure:
    """Draw the bandwidth of every GPU variant of a problem, below the rate of a copy.

    Parameters
    ----------
    timings : DataFrame
    rate : mapping
        From :func:`relaxometer.device.rates.copy_rate`.
    problem : str
    types : mapping of str to str, optional
        As :func:`relaxometer.results.cost.costs` takes them.
    """
    title = f"{label(problem)}: bandwidth of the GPU variants against a copy"
    shown = loads(timings, problem, types)
    if shown.empty or rate["device_kind"] != "cuda":
        return empty_figure(title, "No variant that counts its work was proven correct on a GPU.")
    variants = list(shown["variant"].unique())
    figure, axes = new_figure(4.6 + ROW_INCHES * -(-len(variants) // NAMES_IN_A_ROW))
    looks = looks_of((variant, False) for variant in variants)
    axes.set(xscale="log", yscale="log")
    for variant, rows in shown.groupby("variant", sort=False):
        axes.plot(
            rows["phase_mb"], rows["gb_s"], linestyle="none", markersize=6, **looks[str(variant)].points
        )
    axes.margins(0.08)
    roof = float(rate["copy_gb_s"])
    axes.set_ylim(top=max(2.5 * roof, axes.get_ylim()[1]))
    _draw_roof(axes, roof)
    axes.set_xlabel("Least bytes of a phase [MB]")
    axes.set_ylabel("Least bytes of a search / its time [GB/s]")
    plain_log(axes.xaxis, axes.yaxis)
    legend_below(figure, looks, NAMES_IN_A_ROW)
    best = shown.nlargest(1, "gb_s").iloc[0]
    finding = (
        f"{rate['device']}: a copy moves {roof:,.0f} GB/s; highest: {best['variant']} on {best['graph']} "
        f"with {rounded(best['gb_s'])} GB/s, {best['gb_s'] / roof:.0%} of it. Each dot is a graph; log scales"
    )
    entitle(figure, title, finding)
    return figure


def _draw_roof(axes: Axes, roof: float) -> None:
    """Draw the rate of a copy, and below it the diagonals of equal time per phase."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    axes.axhline(roof, color="black", linewidth=1.4)
    annotate(axes, "copy", (right, roof), (-4, 3), ha="right")
    for microseconds in PHASE_MICROSECONDS:
        per_mb = 1e3 / microseconds  # GB/s of a phase of one MB
        start, end = max(left, bottom / per_mb), min(right, roof / per_mb)
        if start < end:
            axes.plot(
                [start, end], [start * per_mb, end * per_mb], color=GREY, linewidth=0.8, linestyle=(0, (4, 3))
            )
            text = f"{microseconds:,} µs" if microseconds < 1_000 else f"{microseconds / 1e3:,.0f} ms"
            text += " per phase"
            annotate(axes, text, (start, start * per_mb), (3, 6), color=GREY, rotation=45, fontsize=7)
    axes.set(xlim=(left, right), ylim=(bottom, top))


def _draw(inputs: Inputs, problem: str) -> Figure:
    (rate,) = inputs.contents("rate")
    types = weight_types(inputs.contents("graphs"))
    return roofline(inputs.searches(without=inputs.params["swept"]), rate, problem, types)


def _exhibit(problem: str) -> Exhibit:
    def wanted(plan: Plan) -> bool:
        return not plan.emulates and bool(graphs_of(plan, problem))

    return Exhibit(
        f"{problem}-roofline",
        lambda inputs: _draw(inputs, problem),
        lambda plan, _: {
            **{"timings": TIMINGS, "rate": "results/device_rates.json"},
            "graphs": metadata(graphs_of(plan, problem)),
        },
        views=(
            View(
                f"{problem}-roofline",
                label(problem),
                "roofline",
                "bandwidth against a copy",
                caption="roofline",
            ),
        ),
        wanted=wanted,
        params=lambda plan, _: {"swept": swept(plan)},
    )


EXHIBITS = tuple(map(_exhibit, ("sssp", "bfs")))
