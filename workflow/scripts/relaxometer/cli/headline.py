"""Draw figures from the tables of docs/results: ``python -m relaxometer.cli.headline``.

They are the README's, from the suite rivals, and those of suites that were published without their searches,
which the workflow cannot draw anew: their median times, and figures 9 and 10 of the suite hybrid-bfs.
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from relaxometer.report.figures import style
from relaxometer.report.figures.headline import times_and_preparation
from relaxometer.report.figures.looks import look
from relaxometer.report.figures.style import entitle, new_figure
from relaxometer.report.figures.summary import median_times
from relaxometer.report.findings import Data, suites
from relaxometer.report.papers.hybrid_bfs import BOTH, CPU_ONLY, GPU_ONLY, Point, draw_over_sizes
from relaxometer.results.published import SAMPLES

RESULTS = Path(__file__).parents[4] / "docs/results"

RACES = {
    ("sssp", "usa-ny"): ["phast", "tiled", "wasp", "near-far", "gap", "adds", "routingkit", "boost"],
    ("sssp", "usa-ne-topology"): ["phast", "tiled", "wasp", "gap", "adds", "near-far"],
    ("sssp", "rmat-22-d32"): ["push-pull", "near-far", "cugraph", "wasp-hubs", "gap-hubs"],
    ("bfs", "usa-ny"): ["tiled", "blest", "hybrid", "gap", "gswitch", "cugraph"],
    ("bfs", "kron-g500-s22"): ["hybrid", "blest", "cugraph", "gap"],
    ("dominators", "cfg-python-stdlib"): ["batch-warp", "llvm", "semi-nca", "rustworkx", "igraph"],
}
"""Problem and graph of each panel, and the programs in it."""


SCALES = dict.fromkeys((18, 20, 22, 24), "summary.csv") | {26: "scale-26/summary.csv"}
"""Tables of the suite hybrid-bfs by the SCALE of their graphs."""

POINTS = re.compile("adaptive-threshold-|edge-bf-block-|hybrid-(alpha|beta|threshold)-|delta-stepping-")
"""Beginnings of the variants that are points of a curve, which have figures of their own."""


def headline(suite: Path) -> pd.DataFrame:
    """Return the rows of a suite's ``summary.csv`` in the figure, in the order of `RACES`."""
    data = Data(suite)
    rows = [
        data.rows("summary.csv", problem=problem, graph=graph, variant=programs)
        for (problem, graph), programs in RACES.items()
    ]
    return pd.concat(rows, ignore_index=True)


def without_points(suite: Path) -> pd.DataFrame:
    """Return the rows of a suite's ``summary.csv`` without the points of curves."""
    rows = Data(suite).rows("summary.csv")
    return rows[~rows["variant"].str.match(POINTS)]


def over_scales(suite: Path, *, rates: bool) -> Figure:
    """Draw figure 9 (rates) or 10 (times) of the suite hybrid-bfs.

    The median rates are those of the benchmark's own output. All keys lie in one component, so the interval
    of a rate is that of the time.
    """
    data, series = Data(suite), {}
    for variant in (GPU_ONLY, "top-down", "bottom-up", "level-array", BOTH, CPU_ONLY):
        points: list[Point] = []
        for scale, file in SCALES.items() if rates or variant in (GPU_ONLY, BOTH, CPU_ONLY) else ():
            (line,) = data.rows(file, graph=f"kron-g500-s{scale}", variant=variant).to_dict("records")
            time, low, high = (line[column] for column in ("median_ms", "ci95_low_ms", "ci95_high_ms"))
            rate = data.graph500(line["graph"], variant, "bfs_median_TEPS") / 1e9
            ends = (rate, rate * time / high, rate * time / low) if rates else (time, low, high)
            points.append((2.0**scale, *ends))
        if points:
            series[variant] = look(variant), points
    figure, axes = new_figure(4.4)
    draw_over_sizes(axes, series)
    axes.set_ylabel("Median rate [10⁹ edges/s]" if rates else "Median time over keys [ms]")
    title = "Figure 10: time of breadth-first search on CPU, GPU and both"
    if rates:
        title = "Figure 9: rate of breadth-first search over the size of the graph"
    measured = "input edges of the searched component over time" if rates else "a search from one key"
    finding = f"{data.context('before.name')} and its host; {measured}; whiskers: 95% intervals of the median"
    entitle(figure, title, finding)
    return figure


def main() -> None:
    """Draw the figures into ``docs/results``."""
    style.save(times_and_preparation(headline(RESULTS / "rivals")), RESULTS / "headline.svg")
    for suite in (RESULTS / name for name in suites(RESULTS)):
        if not (suite / SAMPLES).is_file():
            style.save(median_times(without_points(suite)), suite / "figures/common/median-times.svg")
    suite = RESULTS / "hybrid-bfs"
    if not (suite / SAMPLES).is_file():
        for number in (9, 10):
            style.save(
                over_scales(suite, rates=number == 9), suite / f"figures/hybrid-bfs/figure-{number}.svg"
            )


if __name__ == "__main__":
    main()
