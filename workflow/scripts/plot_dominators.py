"""Draw the time of finding dominators over the size of a graph, and the rate over the graphs of a batch."""

import json
from pathlib import Path

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import dominators


def contents(files):
    """Read JSON files."""
    return [json.loads(Path(file).read_text(encoding="utf-8")) for file in files]


with job(snakemake):
    timings = pd.read_parquet(snakemake.input.timings)
    if graphs := contents(snakemake.input.get("graphs", [])):
        figure = dominators.over_size(timings, graphs)
    else:
        figure = dominators.throughput(timings, contents(snakemake.input.batches))
    style.save(figure, snakemake.output[0])
