"""Gather the samples of all runs into tidy tables and one summary."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.graphs.graph import write_table
from relaxometer.results.gather import gather, summarise

with job(snakemake):
    folders = [Path(file).parent for file in snakemake.input.runs]
    write_table(gather(folders, "certificates.parquet"), Path(snakemake.output.certificates))
    timings = gather(folders, "runs.parquet")
    write_table(timings, Path(snakemake.output.timings))
    temporary = Path(snakemake.output.summary + ".part")
    summarise(timings).to_csv(temporary, index=False, float_format="%.6g")
    temporary.replace(snakemake.output.summary)
