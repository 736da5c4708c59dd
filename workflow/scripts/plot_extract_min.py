"""Draw table 1 of the survey, and write it as a table."""

import pandas as pd

from relaxometer.figures import style, survey
from relaxometer.scripting import job

with job(snakemake):
    trials = pd.read_parquet(snakemake.input[0])
    style.save(survey.extract_min(trials), snakemake.output.figure)
    survey.extract_min_table(trials).to_csv(snakemake.output.table, index=False)
