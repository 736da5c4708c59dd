"""Draw how far from the best the choice of `auto` came out on every graph, and write it as a table."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import choice, style

with job(snakemake):
    timings = pd.read_parquet(snakemake.input.timings)
    style.save(choice.regret_figure(timings), snakemake.output.figure)
    choice.regret_table(timings).to_csv(snakemake.output.table, index=False)
