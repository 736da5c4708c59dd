"""Draw the README's figure from the results of the suite rivals: ``python -m relaxometer.cli.headline``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from relaxometer.report.figures import style
from relaxometer.report.figures.headline import times_and_preparation
from relaxometer.report.findings import Data

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


def headline(suite: Path) -> pd.DataFrame:
    """Return the rows of a suite's ``summary.csv`` in the figure, in the order of `RACES`."""
    data = Data(suite)
    rows = [
        data.rows("summary.csv", problem=problem, graph=graph, variant=programs)
        for (problem, graph), programs in RACES.items()
    ]
    return pd.concat(rows, ignore_index=True)


def main() -> None:
    """Draw the figure into ``docs/results``."""
    style.save(times_and_preparation(headline(RESULTS / "rivals")), RESULTS / "headline.svg")


if __name__ == "__main__":
    main()
