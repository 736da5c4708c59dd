"""Gather the results of all runs over several ranks into one table."""

from pathlib import Path

from relaxometer.core.files import write_csv
from relaxometer.core.scripting import job
from relaxometer.plan.models import DistributedRun
from relaxometer.results.readable import number_text
from relaxometer.results.scaling import scaling_table

with job(snakemake):
    runs = [DistributedRun.model_validate(run) for run in snakemake.params.runs]
    table = scaling_table(runs, Path("results/runs/distributed"))
    write_csv(table, Path(snakemake.output[0]), float_format=number_text)
