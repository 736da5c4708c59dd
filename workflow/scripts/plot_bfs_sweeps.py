"""Draw the time of the hybrid search against each of its parameters that is swept."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import hybrid_bfs

with job(snakemake):
    graph = snakemake.wildcards.graph
    timings = pd.read_parquet(snakemake.input.timings).query("problem == 'bfs' and graph == @graph")
    style.save(hybrid_bfs.sweeps(timings, snakemake.params.swept, graph), snakemake.output[0])
