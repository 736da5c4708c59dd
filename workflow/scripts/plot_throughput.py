"""Draw searches per second against the number of simultaneous searches on a graph."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style, throughput

with job(snakemake):
    launches = pd.read_parquet(snakemake.input.launches)
    timings = pd.read_parquet(snakemake.input.timings)
    figure = throughput.throughput(launches, timings, snakemake.wildcards.graph)
    style.save(figure, snakemake.output[0])
