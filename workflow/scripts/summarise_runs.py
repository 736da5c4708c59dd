"""Write one line for each run, also for those that could not be made."""

from pathlib import Path

from relaxometer.core.files import read_table, write_csv
from relaxometer.core.scripting import job
from relaxometer.graphs.files import read_metadata
from relaxometer.results.gather import summarise

with job(snakemake):
    graphs = [read_metadata(Path(file), ("name",)) for file in snakemake.input.graphs]
    directed = {graph["name"]: bool(graph.get("directed", True)) for graph in graphs}
    table = summarise(read_table(Path(snakemake.input.timings)), snakemake.params.lost, directed)
    write_csv(table, Path(snakemake.output[0]), float_format="%.6g")
