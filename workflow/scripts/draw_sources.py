"""Draw the sources of all searches on a graph."""

from pathlib import Path

from relaxometer.core.files import write_table
from relaxometer.core.scripting import job
from relaxometer.graphs.graph import read_graph
from relaxometer.measure.sources import sources_table

with job(snakemake):
    graph = read_graph(Path(snakemake.input[0]).parent)
    table = sources_table(graph, snakemake.params.sources, snakemake.params.seed)
    write_table(table, Path(snakemake.output[0]))
