"""Retained sizes of heaps: the times of all parts, and of a call from host memory to host memory."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relaxometer.report.catalogue import Exhibit, table_view
from relaxometer.report.figures.names import CLOCKS, intervals, rounded
from relaxometer.results.gather import worst
from relaxometer.results.statistics import Part, median_of

PARTS = ("prepare_ms", "dominators_ms", "retained_ms", "both_ms", "call_ms")
KEY = ["graph", "variant", "objects", "references", "device_kind", "device"]

ONE_PROCESS = Part(0.0, float("inf"))
"""Repetitions are of one process, so intervals lack the variation between processes."""


def medians(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the medians over the repetitions of each variant on each heap, with their intervals.

    `measured` is as :data:`relaxometer.studies.retained.TABLE`; ``both_ms`` adds dominators and sums. A
    variant has no times if any repetition failed.
    """
    rows = measured.assign(both_ms=measured["dominators_ms"] + measured["retained_ms"])
    lines = []
    for key, of_variant in rows.groupby(KEY, sort=False):
        status = worst(of_variant["status"])
        line = dict(zip(KEY, key, strict=True)) | {"status": status, "repetitions": len(of_variant)}
        for part in PARTS:
            found = (np.nan, np.nan, np.nan)
            if status == "ok":
                estimate = median_of(of_variant[part], ONE_PROCESS)
                found = (estimate.value, *estimate.interval())
            line |= dict(zip((part, f"{part}_low", f"{part}_high"), found, strict=True))
        lines.append(line)
    return pd.DataFrame(lines)


def retained_table(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the times of all variants as text."""
    table = medians(measured)
    titles = ("Preparation", "Dominators", "Retained sizes", "Both", "Host to host")
    both, call = (intervals(table[f"{part}_low"], table[f"{part}_high"]) for part in ("both_ms", "call_ms"))
    return pd.DataFrame(
        {
            "Graph": table["graph"],
            "Objects": table["objects"].map("{:,}".format),
            "References": table["references"].map("{:,}".format),
            "Variant": table["variant"],
            "Clock": table["device_kind"].map(CLOCKS),
            "Repetitions": table["repetitions"],
            **{f"{name} [ms]": table[part].map(rounded) for name, part in zip(titles, PARTS, strict=True)},
            "Both, 95% interval": both,
            "Host to host, 95% interval": call,
            "Status": table["status"],
        }
    )


def summary(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the medians as lines of the ``summary.csv`` of a page, where a search is that of dominators.

    `measured` also has the ``commit``.
    """
    ends = {f"dominators_ms{end}": f"ci95{end}_ms" for end in ("_low", "_high")}
    names = {"dominators_ms": "median_ms", **ends}
    found = medians(measured).rename(columns=names).round(4)
    commits = measured[["graph", "variant", "commit"]].drop_duplicates()
    return found.assign(problem="dominators", sources=1).merge(commits, on=["graph", "variant"])


EXHIBITS = (
    Exhibit(
        "retained",
        lambda inputs: retained_table(inputs.table("measured")),
        (table_view("retained", "dominators", "retained sizes", "times, as a table"),),
        lambda plan, _: {
            "measured": [f"results/retained/{name}.parquet" for name in plan.config.retained.graphs]
        },
        wanted=lambda plan: plan.config.retained.graphs,
    ),
)
