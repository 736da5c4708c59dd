"""Write the bandwidth of the survey's variants against a copy."""

import json
from pathlib import Path

import pandas as pd

from relaxometer.figures import summary, survey
from relaxometer.scripting import job

with job(snakemake):
    timings = summary.without(pd.read_parquet(snakemake.input.timings), snakemake.params.swept)
    rate = json.loads(Path(snakemake.input.rate).read_text(encoding="utf-8"))
    ours = timings[timings["problem"] == "sssp"]
    survey.bandwidth_table(ours, rate).to_csv(snakemake.output[0], index=False)
