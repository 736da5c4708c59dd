"""Draw delta-stepping against the width of a bucket on a graph."""

import pandas as pd

from relaxometer.figures import style, survey
from relaxometer.scripting import job

with job(snakemake):
    graph, variants = snakemake.wildcards.graph, snakemake.params.variants
    timings = pd.read_parquet(snakemake.input.timings).query("problem == 'sssp' and graph == @graph")
    shown = timings[timings["variant"].isin(variants)]
    style.save(survey.widths(shown, graph), snakemake.output[0])
