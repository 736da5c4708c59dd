"""Fail if any answer is wrong, naming the variant and the graph."""

from pathlib import Path

from relaxometer.gather import verdict
from relaxometer.scripting import job

with job(snakemake):
    Path(snakemake.output[0]).write_text(verdict(Path(snakemake.input.summary)), encoding="utf-8")
