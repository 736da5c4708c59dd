"""Draw the median times of all variants, and write the ranked table of the report's first page."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style, summary

with job(snakemake):
    lines = summary.without(pd.read_csv(snakemake.input.summary), snakemake.params.swept)
    timings = summary.without(pd.read_parquet(snakemake.input.timings), snakemake.params.swept)
    style.save(summary.median_times(lines), snakemake.output.figure)
    summary.ranked_table(lines, timings).to_csv(snakemake.output.table, index=False)
