"""Draw figures 9, 10 and 12 of Hirakushi and Takahashi over ranks, and how well the series scale."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import hybrid_bfs_ranks as distributed

with job(snakemake):
    table = pd.read_csv(snakemake.input[0])
    style.save(distributed.rates(table), snakemake.output.rates)
    style.save(distributed.computing(table), snakemake.output.computing)
    style.save(distributed.communication(table), snakemake.output.communication)
    style.save(distributed.scaling(table), snakemake.output.scaling)
