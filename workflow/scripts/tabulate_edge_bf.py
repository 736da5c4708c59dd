"""Write the table of graphs of the article on Bellman-Ford over edges, and the bandwidth of its kernels."""

import json
from pathlib import Path

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.papers import edge_bf

with job(snakemake):
    graphs = [json.loads(Path(file).read_text(encoding="utf-8")) for file in snakemake.input.graphs]
    edge_bf.graph_table(graphs).to_csv(snakemake.output.graphs, index=False)
    rate = json.loads(Path(snakemake.input.rate).read_text(encoding="utf-8"))
    timings = pd.read_parquet(snakemake.input.timings)
    edge_bf.bandwidth_table(timings, rate).to_csv(snakemake.output.bandwidth, index=False)
