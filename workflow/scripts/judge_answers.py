"""Fail if any answer is wrong, naming the variant and the graph."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.results.gather import verdict

with job(snakemake):
    text = verdict(Path(snakemake.input.summary), [Path(file) for file in snakemake.input.throughput])
    Path(snakemake.output[0]).write_text(text, encoding="utf-8")
