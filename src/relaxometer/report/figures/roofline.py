"""The bandwidth of every GPU variant against that of a copy, over the bytes of a phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from relaxometer.report.catalogue import Exhibit, Inputs, View, with_rate, without_curves
from relaxometer.report.figures import style
from relaxometer.report.figures.looks import look
from relaxometer.report.figures.names import label, rounded
from relaxometer.report.targets import graphs_of
from relaxometer.results.cost import arcs_bytes, weight_types
from relaxometer.results.rows import KEY
from relaxometer.results.samples import EMULATED, proven

PHASE_MICROSECONDS = (1, 10, 100, 1_000, 10_000)  # times of a phase on the diagonals
NAMES_IN_A_ROW = 4
ROW_INCHES = 0.2


def bytes_moved(timings: pd.DataFrame, types: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return the proven searches with the least bytes that each must move, and the bandwidth of that.

    Columns: ``stated``, the bytes of a phase if the variant states them; ``moved``, these for all phases and
    otherwise the arcs that it relaxes, by the `types` of :func:`relaxometer.results.cost.costs`; ``gb_s``.
    """
    right = proven(timings, timings).query("status == 'ok'")
    missing = pd.Series(np.nan, index=right.index)
    stated = right.get("parameter_bytes_per_phase", missing)
    relaxed = right.get("relaxed_arcs", missing).where(lambda arcs: arcs > 0)
    moved = (stated * right["phases"]).fillna(arcs_bytes(right, types or {}) * relaxed)
    return right.assign(stated=stated, moved=moved, gb_s=moved / right["time_ms"] / 1e6)


def medians(searches: pd.DataFrame, rate: Mapping[str, Any], decimals: int = 0) -> pd.DataFrame:
    """Return the medians of each run's numbers from :func:`bytes_moved`, and its ``share`` of a copy as text.

    The share of the `rate` of :func:`relaxometer.device.rates.copy_rate` has as many `decimals`; it is
    unknown on the emulated device, or if the rate was measured on another device.
    """
    runs = searches.groupby(KEY, sort=False)
    found = runs.median(numeric_only=True)
    comparable = runs["device"].first().eq(rate["device"]) & (rate["device_kind"] != EMULATED)
    shares = (found["gb_s"] / rate["copy_gb_s"]).map(f"{{:.{decimals}%}}".format)
    return found.assign(share=shares.where(comparable, "")).reset_index()


def loads(timings: pd.DataFrame, problem: str, types: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return the least megabytes per phase and the bandwidth of every GPU variant on every graph.

    They are medians over the proven searches on a GPU.
    """
    ours = timings[(timings["problem"] == problem) & (timings["device_kind"] == "cuda")]
    searches = bytes_moved(ours, types).dropna(subset=["gb_s"])
    phase_mb = searches["moved"] / searches["phases"].fillna(1).clip(lower=1) / 1e6
    runs = searches.assign(phase_mb=phase_mb).groupby(KEY, sort=False)
    return runs[["phase_mb", "gb_s"]].median().reset_index()


def roofline(
    timings: pd.DataFrame, rate: Mapping[str, Any], problem: str, types: Mapping[str, str] | None = None
) -> style.Figure:
    """Draw the bandwidth of every GPU variant of a problem, below the rate of a copy."""
    title = f"{label(problem)}: bandwidth of the GPU variants against a copy"
    shown = loads(timings, problem, types)
    if shown.empty or rate["device_kind"] != "cuda":
        return style.empty_figure(title, "No variant that counts its work was proven correct on a GPU.")
    variants = list(shown["variant"].unique())
    figure, axes = style.new_figure(4.6 + ROW_INCHES * -(-len(variants) // NAMES_IN_A_ROW))
    looks = {variant: look(variant) for variant in variants}
    axes.set(xscale="log", yscale="log")
    for variant, rows in shown.groupby("variant", sort=False):
        mark: Any = {"linestyle": "none", "markersize": 6, **looks[str(variant)].points}
        axes.plot(rows["phase_mb"], rows["gb_s"], **mark)
    axes.margins(0.08)
    roof = float(rate["copy_gb_s"])
    axes.set_ylim(top=max(2.5 * roof, axes.get_ylim()[1]))
    _draw_roof(axes, roof)
    axes.set(xlabel="Least bytes of a phase [MB]", ylabel="Least bytes of a search / its time [GB/s]")
    style.plain_log(axes.xaxis, axes.yaxis)
    style.legend_below(figure, looks, NAMES_IN_A_ROW)
    best = shown.nlargest(1, "gb_s").iloc[0]
    finding = (
        f"{rate['device']}: a copy moves {roof:,.0f} GB/s; highest: {best['variant']} on {best['graph']} "
        f"with {rounded(best['gb_s'])} GB/s, {best['gb_s'] / roof:.0%} of it. Each dot is a graph; log scales"
    )
    return style.entitle(figure, title, finding)


def _draw_roof(axes: style.Axes, roof: float) -> None:
    """Draw the rate of a copy, and below it the diagonals of equal time per phase."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    axes.axhline(roof, color="black", linewidth=1.4)
    style.annotate(axes, "copy", (right, roof), (-4, 3), ha="right")
    for microseconds in PHASE_MICROSECONDS:
        per_mb = 1e3 / microseconds  # GB/s of a phase of one MB
        start, end = max(left, bottom / per_mb), min(right, roof / per_mb)
        if start < end:
            line: Any = {"color": style.GREY, "linewidth": 0.8, "linestyle": (0, (4, 3))}
            axes.plot([start, end], [start * per_mb, end * per_mb], **line)
            time = f"{microseconds:,} µs" if microseconds < 1_000 else f"{microseconds / 1e3:,.0f} ms"
            text = {"color": style.GREY, "rotation": 45, "fontsize": 7}
            style.annotate(axes, f"{time} per phase", (start, start * per_mb), (3, 6), **text)
    axes.set(xlim=(left, right), ylim=(bottom, top))


def _exhibit(problem: str) -> Exhibit:
    def draw(inputs: Inputs) -> style.Figure:
        (rate,) = inputs.contents("rate")
        return roofline(inputs.searches(), rate, problem, weight_types(inputs.contents("graphs")))

    name = f"{problem}-roofline"
    return Exhibit(
        name,
        draw,
        (View(name, label(problem), "roofline", "bandwidth against a copy", caption="roofline"),),
        lambda plan, _: with_rate(graphs_of(plan, problem)),
        wanted=lambda plan: not plan.emulates and bool(graphs_of(plan, problem)),
        params=without_curves,
    )


EXHIBITS = tuple(map(_exhibit, ("sssp", "bfs")))
