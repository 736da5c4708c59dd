"""Draw searches per second against the number of simultaneous searches on a graph."""

import pandas as pd

from relaxometer.figures import style, throughput
from relaxometer.scripting import job

with job(snakemake):
    launches = pd.read_parquet(snakemake.input.launches)
    timings = pd.read_parquet(snakemake.input.timings)
    figure = throughput.throughput(launches, timings, snakemake.wildcards.graph)
    style.save(figure, snakemake.output[0])
