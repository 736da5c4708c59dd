"""Gather the samples of all runs into tidy tables and one summary."""

from pathlib import Path

from relaxometer.core.files import replacing, write_table
from relaxometer.core.scripting import job
from relaxometer.results.gather import gather, summarise

with job(snakemake):
    folders = [Path(file).parent for file in snakemake.input.runs]
    write_table(gather(folders, "certificates.parquet"), Path(snakemake.output.certificates))
    timings = gather(folders, "runs.parquet")
    write_table(timings, Path(snakemake.output.timings))
    with replacing(Path(snakemake.output.summary)) as temporary:
        summarise(timings).to_csv(temporary, index=False, float_format="%.6g")
