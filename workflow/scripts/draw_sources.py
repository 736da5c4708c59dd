"""Draw the sources of all searches on a graph, or the query sets of a problem."""

from pathlib import Path

from relaxometer.core.files import write_table
from relaxometer.core.scripting import job
from relaxometer.graphs.graph import read_graph
from relaxometer.problems.problem import add_folders, load_problem
from relaxometer.race.requests import request_for_queries, request_for_sources, with_request
from relaxometer.race.sources import sources_table

with job(snakemake, isolated=True):
    graph = read_graph(Path(snakemake.input[0]).parent)
    if (given := snakemake.params.get("queries")) is not None:
        add_folders(snakemake.config.get("kernels", []))
        kind = load_problem(snakemake.wildcards.problem).queries
        specs = {name: kind.spec.model_validate(spec) for name, spec in given.items()}
        drawn = specs, snakemake.params.drawn["draws"], snakemake.params.drawn["seed"]
        table, request = kind.draw(graph, *drawn), request_for_queries(*drawn)
    else:
        drawn = snakemake.params.drawn["sources"], snakemake.params.drawn["seed"]
        table, request = sources_table(graph, *drawn), request_for_sources(*drawn)
    write_table(with_request(table, request), Path(snakemake.output[0]))
