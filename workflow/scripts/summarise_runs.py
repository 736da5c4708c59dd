"""Write one line for each run."""

from pathlib import Path

from relaxometer.core.failures import made
from relaxometer.core.files import read_table, write_csv
from relaxometer.core.scripting import job
from relaxometer.graphs.files import read_metadata
from relaxometer.results.gather import summarise

with job(snakemake):
    graphs = [read_metadata(Path(file), ("name",)) for file in made(snakemake.input.graphs)]
    directed = {graph["name"]: bool(graph.get("directed", True)) for graph in graphs}
    table = summarise(read_table(Path(snakemake.input.timings)).to_pandas(), directed)
    write_csv(table, Path(snakemake.output[0]), float_format="%.6g")
