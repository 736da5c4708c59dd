"""Make a round of one variant or rival on one graph or batch from every source, and prove the answers."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.graphs.batch import read_batch
from relaxometer.graphs.files import read_sources
from relaxometer.graphs.graph import read_graph
from relaxometer.plan.models import RivalRun, Run
from relaxometer.problems.problem import add_folders, load_problem
from relaxometer.race.jobs import run_rival, run_variant
from relaxometer.rivals.definition import find_rivals

with job(snakemake, isolated=True):
    # Not parameters of the rule, since the hash of the code changes with a solver.
    add_folders(snakemake.config.get("kernels", []))
    folder = Path(snakemake.input.graph[0]).parent
    graph = read_batch(folder) if folder.parent.name == "batches" else read_graph(folder)
    sources, queries = snakemake.input.get("sources"), snakemake.input.get("queries")
    drawn = read_sources(Path(sources), graph.n_vertices) if sources else None
    if queries:
        drawn = load_problem(snakemake.wildcards.problem).queries.read(Path(queries), graph)
    to, number = Path(snakemake.output.runs).parent, int(snakemake.wildcards.get("round", 1))
    what = graph, drawn, snakemake.params.device, to, number
    if "kind" in snakemake.params.run:
        run = RivalRun.model_validate(snakemake.params.run)
        rival = find_rivals(snakemake.config.get("rivals", []))[run.solver]
        run_rival(run, rival, snakemake.input.get("installed"), *what)
    else:
        run_variant(Run.model_validate(snakemake.params.run), *what)
