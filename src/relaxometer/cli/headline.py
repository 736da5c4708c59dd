"""Draw figures from the tables of docs/results: ``relaxometer headline``.

They are the README's, from the suite rivals, and those of suites that were published without their searches,
which the workflow cannot draw anew: their median times.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from relaxometer.core.checkout import ROOT
from relaxometer.report.figures import style
from relaxometer.report.figures.headline import times_and_preparation
from relaxometer.report.figures.summary import median_times
from relaxometer.report.findings import Data, suites
from relaxometer.results.published import SAMPLES

RESULTS = ROOT / "docs/results"

RACES = {
    ("sssp", "usa-ny"): ["phast", "tiled", "wasp", "near-far", "gap", "adds", "routingkit", "boost"],
    ("sssp", "usa-ne-topology"): ["phast", "tiled", "wasp", "near-far", "adds", "gap"],
    ("sssp", "rmat-22-d32"): ["push-pull", "near-far", "gswitch", "cugraph", "wasp-hubs", "gap-hubs"],
    ("bfs", "usa-ny"): ["tiled", "blest", "hybrid", "gap", "gswitch", "cugraph"],
    ("bfs", "kron-g500-s22"): ["hybrid-packed", "hybrid", "blest", "gswitch", "cugraph"],
    ("dominators", "cfg-python-stdlib"): [
        *("batch-warp", "cooper-harvey-kennedy", "llvm", "igraph", "semi-nca", "rustworkx")
    ],
}


def headline(suite: Path) -> pd.DataFrame:
    """Return the rows of a suite's ``summary.csv`` in the figure, in the order of `RACES`."""
    data = Data(suite)
    rows = [
        data.rows("summary.csv", problem=problem, graph=graph, variant=programs)
        for (problem, graph), programs in RACES.items()
    ]
    return pd.concat(rows, ignore_index=True)


def write(results: Path) -> None:
    """Draw the figures into a folder of published suites; UserError if a table is damaged or lacks a row."""
    style.save(times_and_preparation(headline(results / "rivals")), results / "headline.svg")
    for suite in (results / name for name in suites(results)):
        if not (suite / SAMPLES).is_file():
            style.save(
                median_times(Data(suite).rows("summary.csv")), suite / "figures/common/median-times.svg"
            )


def options(parser: argparse.ArgumentParser) -> None:
    """Add no option."""


def main(given: argparse.Namespace) -> None:
    write(RESULTS)
