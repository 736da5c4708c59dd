"""Gather the samples of all runs into tidy tables."""

from pathlib import Path

from relaxometer.core.failures import failure_of, made
from relaxometer.core.files import write_table
from relaxometer.core.scripting import job
from relaxometer.results.gather import gather, gather_searches, unmade_runs

with job(snakemake):
    folders = [Path(file).parent for file in made(snakemake.input.runs)]
    reasons = {
        Path(file).parts[-4:-1]: reason
        for file in snakemake.input.runs
        if "/rounds/" not in file and (reason := failure_of(file))
    }
    write_table(gather(folders, "certificates.parquet"), Path(snakemake.output.certificates))
    unmade = unmade_runs(reasons, snakemake.params.rivals)
    write_table(gather_searches(folders, unmade), Path(snakemake.output.timings))
