"""Draw the README's figure from the results of fast-sssp: ``python -m relaxometer.cli.headline``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from relaxometer.report.figures import style
from relaxometer.report.figures.headline import times_and_preparation
from relaxometer.report.findings import Data

RESULTS = Path(__file__).parents[4] / "docs/results"

GRAPHS = ["usa-ny", "kanto-like", "rmat-22-d32"]
VARIANTS = ["phast", "push-pull", "tiled", "near-far", "adaptive", "adaptive-persistent", "dijkstra-cpu"]


def headline(suite: Path) -> pd.DataFrame:
    """Return the rows of a suite's ``summary.csv`` in the figure, with their preparation.

    They are of three kinds of graphs, without sweeps.
    """
    data = Data(suite)
    kept = data.rows("summary.csv", graph=GRAPHS, variant=VARIANTS)
    kept = kept.sort_values("graph", key=lambda graphs: graphs.map(GRAPHS.index), kind="stable")
    keys = zip(kept["graph"], kept["variant"], strict=True)
    prepared = [data.preparation(graph, variant) for graph, variant in keys]
    return kept.assign(prepare_ms=prepared)


def main() -> None:
    """Draw the figure into ``docs/results``."""
    style.save(times_and_preparation(headline(RESULTS / "fast-sssp")), RESULTS / "headline.svg")


if __name__ == "__main__":
    main()
