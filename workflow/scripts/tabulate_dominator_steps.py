"""Tabulate the time of each step of the source's method on its example, beside the source's own."""

from pathlib import Path

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.papers import dominators
from relaxometer.results.gather import gather
from relaxometer.results.samples import proven

with job(snakemake):
    timings = pd.read_parquet(snakemake.input.timings)
    folders = [Path(file).parent for file in snakemake.input.phases]
    phases = proven(gather(folders, "phases.parquet").to_pandas(), timings)
    dominators.steps_table(phases).to_csv(snakemake.output[0], index=False)
