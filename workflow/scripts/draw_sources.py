"""Draw the sources of all searches on a graph, or the query sets of a problem."""

from pathlib import Path

from relaxometer.core.files import write_table
from relaxometer.core.scripting import job
from relaxometer.graphs.graph import read_graph
from relaxometer.measure.sources import sources_table
from relaxometer.problems.problem import add_folders, load_problem

with job(snakemake):
    graph = read_graph(Path(snakemake.input[0]).parent)
    if snakemake.rule == "draw_queries":
        add_folders(snakemake.config.get("kernels", []))
        kind, given = load_problem(snakemake.wildcards.problem).queries, snakemake.params.queries
        specs = {name: kind.spec.model_validate(spec) for name, spec in given.items()}
        table = kind.draw(graph, specs, snakemake.params.draws, snakemake.params.seed)
    else:
        table = sources_table(graph, snakemake.params.sources, snakemake.params.seed)
    write_table(table, Path(snakemake.output[0]))
