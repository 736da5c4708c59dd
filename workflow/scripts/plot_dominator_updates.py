"""Draw or tabulate the time of updates of dominators over the arcs that change, beside full solves."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import dominator_updates as updates

with job(snakemake):
    measured = pd.concat(map(pd.read_parquet, snakemake.input), ignore_index=True)
    if snakemake.output[0].endswith(".csv"):
        updates.updates_table(measured).to_csv(snakemake.output[0], index=False)
    else:
        style.save(updates.over_arcs(measured), snakemake.output[0])
