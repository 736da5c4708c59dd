"""Write what the variants of shortest paths prepare, and after how many searches it pays."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import preparation, summary

with job(snakemake):
    timings = summary.without(pd.read_parquet(snakemake.input.timings), snakemake.params.swept)
    preparation.payoff_table(timings).to_csv(snakemake.output[0], index=False)
