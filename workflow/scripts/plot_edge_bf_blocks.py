"""Draw the mean time of Bellman-Ford over edges against the size of a block of their order."""

import pandas as pd

from relaxometer.figures import edge_bf, style
from relaxometer.scripting import job

with job(snakemake):
    graph = snakemake.wildcards.graph
    timings = pd.read_parquet(snakemake.input.timings).query("problem == 'sssp' and graph == @graph")
    style.save(edge_bf.blocks(timings, snakemake.params.swept, graph), snakemake.output[0])
