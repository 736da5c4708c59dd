"""Gather the samples of all runs into tidy tables, and write one line for each run."""

from pathlib import Path

from relaxometer.core.failures import failure_of, made
from relaxometer.core.files import write_csv, write_table
from relaxometer.core.scripting import job
from relaxometer.graphs.files import read_metadata
from relaxometer.results.gather import gather, gather_searches, summarise, unmade_runs

with job(snakemake):
    folders = [Path(file).parent for file in made(snakemake.input.runs)]
    reasons = {
        Path(file).parts[-4:-1]: reason
        for file in snakemake.input.runs
        if "/rounds/" not in file and (reason := failure_of(file))
    }
    graphs = [read_metadata(Path(file), ("name",)) for file in made(snakemake.input.graphs)]
    directed = {graph["name"]: bool(graph.get("directed", True)) for graph in graphs}
    timings = gather_searches(folders, unmade_runs(reasons, snakemake.params.rivals))
    write_table(gather(folders, "certificates.parquet"), Path(snakemake.output.certificates))
    write_table(timings, Path(snakemake.output.timings))
    write_csv(summarise(timings.to_pandas(), directed), Path(snakemake.output.summary), float_format="%.6g")
