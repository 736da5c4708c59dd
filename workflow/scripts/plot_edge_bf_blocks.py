"""Draw the mean time of Bellman-Ford over edges against the size of a block of their order."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import edge_bf

with job(snakemake):
    graph = snakemake.wildcards.graph
    timings = pd.read_parquet(snakemake.input.timings).query("problem == 'sssp' and graph == @graph")
    style.save(edge_bf.blocks(timings, snakemake.params.swept, graph), snakemake.output[0])
