"""Tabulate the time of each step of the source's method on its example, beside the source's own."""

from pathlib import Path

import pandas as pd

from relaxometer.figures import dominators
from relaxometer.gather import gather
from relaxometer.samples import proven
from relaxometer.scripting import job

with job(snakemake):
    timings = pd.read_parquet(snakemake.input.timings)
    folders = [Path(file).parent for file in snakemake.input.phases]
    phases = proven(gather(folders, "phases.parquet").to_pandas(), timings)
    dominators.steps_table(phases).to_csv(snakemake.output[0], index=False)
