"""Draw figure 8 of Suzuki et al.: the mean time of the adaptive variant against its threshold."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import adaptive

with job(snakemake):
    graph = snakemake.wildcards.graph
    timings = pd.read_parquet(snakemake.input.timings).query("graph == @graph")
    shown = timings[timings["variant"].isin([*snakemake.params.variants, *snakemake.params.swept])]
    style.save(adaptive.thresholds(shown, snakemake.params.swept, graph), snakemake.output[0])
