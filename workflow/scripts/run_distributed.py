"""Run one search spread over several ranks from every root, and prove the answers."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.measure.ranks import run_job
from relaxometer.plan.models import DistributedRun

with job(snakemake):
    resources = snakemake.resources
    graph = snakemake.input.get("graph")
    run_job(
        DistributedRun.model_validate(snakemake.params.run),
        Path(snakemake.output.run).parent,
        launcher=resources.get("mpi"),
        folder_of_graph=Path(graph[0]).parent if graph else None,
        sources=snakemake.input.get("sources"),
        repetitions=snakemake.params.repetitions,
        warmup=snakemake.params.warmup,
    )
