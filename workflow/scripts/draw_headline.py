"""Draw the README's figure, part of what the suite fast-sssp showed: ``draw_headline.py``."""

from pathlib import Path

import pandas as pd

from relaxometer.report.figures import style, summary

RESULTS = Path(__file__).parents[2] / "docs/results"

GRAPHS = ["usa-ny", "kanto-like", "rmat-22-d32"]
VARIANTS = ["phast", "push-pull", "tiled", "near-far", "adaptive", "adaptive-persistent", "dijkstra-cpu"]


def headline(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of ``summary.csv`` that the figure has: three kinds of graphs, no sweeps."""
    kept = lines[lines["graph"].isin(GRAPHS) & lines["variant"].isin(VARIANTS)]
    return kept.sort_values("graph", key=lambda graphs: graphs.map(GRAPHS.index), kind="stable")


if __name__ == "__main__":
    lines = pd.read_csv(RESULTS / "fast-sssp/summary.csv")
    style.save(summary.median_times(headline(lines)), RESULTS / "headline.svg")
