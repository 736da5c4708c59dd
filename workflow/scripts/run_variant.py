"""Run one variant on one graph or batch from every source, prove the answers, and write all samples."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.graphs.batch import read_batch
from relaxometer.graphs.files import read_sources
from relaxometer.graphs.graph import read_graph
from relaxometer.measure.jobs import run_variant
from relaxometer.plan.models import Run
from relaxometer.problems.problem import add_folders

with job(snakemake):
    # Not a parameter of the rule, since the hash of the code changes with a solver.
    add_folders(snakemake.config.get("kernels", []))
    folder = Path(snakemake.input.graph[0]).parent
    graph = read_batch(folder) if folder.parent.name == "batches" else read_graph(folder)
    sources = snakemake.input.get("sources")
    run_variant(
        Run.model_validate(snakemake.params.run),
        graph,
        read_sources(Path(sources), graph.n_vertices) if sources else None,
        snakemake.params.device,
        Path(snakemake.output.runs).parent,
    )
