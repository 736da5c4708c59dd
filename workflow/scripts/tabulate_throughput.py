"""Write the searches per second of all variants on every graph of the study."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import throughput

with job(snakemake):
    launches = pd.concat(map(pd.read_parquet, snakemake.input.launches), ignore_index=True)
    timings = pd.read_parquet(snakemake.input.timings)
    throughput.throughput_table(launches, timings).to_csv(snakemake.output[0], index=False)
