"""Draw or tabulate the time of updates of dominators over the arcs that change, beside full solves."""

import pandas as pd

from relaxometer.figures import style, updates
from relaxometer.scripting import job

with job(snakemake):
    measured = pd.concat(map(pd.read_parquet, snakemake.input), ignore_index=True)
    if snakemake.output[0].endswith(".csv"):
        updates.updates_table(measured).to_csv(snakemake.output[0], index=False)
    else:
        style.save(updates.over_arcs(measured), snakemake.output[0])
