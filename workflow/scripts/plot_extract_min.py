"""Draw table 1 of the survey, and write it as a table."""

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import survey

with job(snakemake):
    trials = pd.read_parquet(snakemake.input[0])
    style.save(survey.extract_min(trials), snakemake.output.figure)
    survey.extract_min_table(trials).to_csv(snakemake.output.table, index=False)
