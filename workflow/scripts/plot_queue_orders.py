"""Draw what the order of the queues of Bellman-Ford costs on a graph."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import survey

with job(snakemake):
    graph, variants = snakemake.wildcards.graph, snakemake.params.variants
    timings = pd.read_parquet(snakemake.input.timings).query("problem == 'sssp' and graph == @graph")
    shown = timings[timings["variant"].isin(variants)]
    style.save(survey.queue_orders(shown, graph), snakemake.output[0])
