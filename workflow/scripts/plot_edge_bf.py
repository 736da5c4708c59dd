"""Draw the figures of the article on Bellman-Ford over edges: arcs a second, gain over a CPU, and gains."""

import json
from pathlib import Path

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import edge_bf

with job(snakemake):
    timings = pd.read_parquet(snakemake.input.timings)
    graphs = [json.loads(Path(file).read_text(encoding="utf-8")) for file in snakemake.input.graphs]
    measured = edge_bf.rates(timings, graphs, snakemake.params.swept)
    style.save(edge_bf.performance(measured), snakemake.output.performance)
    style.save(edge_bf.speedup(measured), snakemake.output.speedup)
    style.save(edge_bf.gains(measured), snakemake.output.gains)
