"""Write the bandwidth of the survey's variants against a copy."""

import json
from pathlib import Path

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import summary
from relaxometer.report.papers import survey

with job(snakemake):
    timings = summary.without(pd.read_parquet(snakemake.input.timings), snakemake.params.swept)
    rate = json.loads(Path(snakemake.input.rate).read_text(encoding="utf-8"))
    ours = timings[timings["problem"] == "sssp"]
    survey.bandwidth_table(ours, rate).to_csv(snakemake.output[0], index=False)
