"""Gather the samples of all runs into tidy tables."""

from pathlib import Path

from relaxometer.core.files import write_table
from relaxometer.core.scripting import job
from relaxometer.results.gather import gather

with job(snakemake):
    folders = [Path(file).parent for file in snakemake.input.runs]
    write_table(gather(folders, "certificates.parquet"), Path(snakemake.output.certificates))
    write_table(gather(folders, "runs.parquet"), Path(snakemake.output.timings))
