"""Run one variant over several ranks from every root, and prove the answers."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.plan.models import DistributedRun
from relaxometer.race.ranks import arguments_of, run_job

with job(snakemake, isolated=True):
    run = DistributedRun.model_validate(snakemake.params.run)
    graph = snakemake.input.get("graph")
    arguments = arguments_of(
        run,
        Path(snakemake.output.run).parent,
        folder_of_graph=Path(graph[0]).parent if graph else None,
        sources=snakemake.input.get("sources"),
        **snakemake.params.timing,
    )
    run_job(run, arguments, snakemake.resources.get("mpi"))
