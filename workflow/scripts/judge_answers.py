"""Write the verdict on all answers: the measurements that are not ok, and why."""

from pathlib import Path

from relaxometer.core.files import write_text
from relaxometer.core.scripting import job
from relaxometer.results.gather import verdict

with job(snakemake):
    throughput = [Path(file) for file in snakemake.input.throughput]
    text = verdict(Path(snakemake.input.summary), throughput, snakemake.params.lost)
    write_text(text, Path(snakemake.output[0]))
