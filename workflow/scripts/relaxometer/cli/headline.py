"""Draw the README's figure from the results of fast-sssp: ``python -m relaxometer.cli.headline``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from relaxometer.report.figures import style, summary

RESULTS = Path(__file__).parents[4] / "docs/results"

GRAPHS = ["usa-ny", "kanto-like", "rmat-22-d32"]
VARIANTS = ["phast", "push-pull", "tiled", "near-far", "adaptive", "adaptive-persistent", "dijkstra-cpu"]


def headline(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of ``summary.csv`` in the figure: three kinds of graphs, no sweeps."""
    kept = lines[lines["graph"].isin(GRAPHS) & lines["variant"].isin(VARIANTS)]
    return kept.sort_values("graph", key=lambda graphs: graphs.map(GRAPHS.index), kind="stable")


def main() -> None:
    """Draw the figure into ``docs/results``."""
    lines = pd.read_csv(RESULTS / "fast-sssp/summary.csv")
    style.save(summary.median_times(headline(lines)), RESULTS / "headline.svg")


if __name__ == "__main__":
    main()
