"""Draw the time of the hybrid search against each of its parameters that is swept."""

import pandas as pd

from relaxometer.figures import hybrid_bfs, style
from relaxometer.scripting import job

with job(snakemake):
    graph = snakemake.wildcards.graph
    timings = pd.read_parquet(snakemake.input.timings).query("problem == 'bfs' and graph == @graph")
    style.save(hybrid_bfs.sweeps(timings, snakemake.params.swept, graph), snakemake.output[0])
