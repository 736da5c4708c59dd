"""Tabulate on which graphs a GPU finds dominators faster than a CPU, and on which it does not."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.papers import dominators

with job(snakemake):
    timings = pd.read_parquet(snakemake.input.timings)
    dominators.winners_table(timings).to_csv(snakemake.output[0], index=False)
