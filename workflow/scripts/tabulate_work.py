"""Write rank, phases and relaxed arcs of every variant of shortest paths."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import summary, work

with job(snakemake):
    timings = summary.without(pd.read_parquet(snakemake.input.timings), snakemake.params.swept)
    work.work_table(timings).to_csv(snakemake.output[0], index=False)
