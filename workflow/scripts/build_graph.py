"""Read or generate a graph and write it as CSR Parquet."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import read_graph, write_graph

with job(snakemake):
    inputs = dict(snakemake.input.items())
    files = [Path(file) for file in inputs.get("files", [])]
    base = read_graph(Path(inputs["base"][0]).parent) if "base" in inputs else None
    dataset = Dataset.model_validate(snakemake.params.dataset)
    graph = build_graph(snakemake.wildcards.graph, dataset, files=files, base=base)
    write_graph(graph, Path(snakemake.output.metadata).parent)
