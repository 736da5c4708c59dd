"""Describe a graph or a batch by numbers, a figure of its degrees or sizes, and a page with both."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from relaxometer.core.failures import refuse_failed
from relaxometer.core.files import write_json, write_text
from relaxometer.core.scripting import job
from relaxometer.graphs.batch import read_batch
from relaxometer.graphs.describe import describe_batch, describe_graph, either_way, hops_in
from relaxometer.graphs.files import with_texts
from relaxometer.graphs.graph import Graph, read_graph
from relaxometer.report.figures import graphs, maps, style
from relaxometer.report.graph_pages import batch_page, graph_page


def page_of_graph(graph: Graph, description: dict[str, Any], degrees: str, weights: str) -> str:
    """Return the page of a graph, with a map if it has coordinates."""
    if graph.lon is None or not graph.n_vertices:
        return graph_page(description, degrees, weights, None)
    diameter = description["hop_diameter"]
    with tempfile.TemporaryDirectory() as folder:
        hops = Path(folder) / "hops.png"
        style.save(maps.hop_map(graph, hops_in(*either_way(graph), diameter["ends"][0]), diameter), hops)
        return graph_page(description, degrees, weights, hops)


with job(snakemake):
    refuse_failed(snakemake.input)
    folder, figure = Path(snakemake.input.dataset[0]).parent, snakemake.output.figure
    if snakemake.wildcards.get("batch"):
        batch = read_batch(folder)
        described = replace(batch, metadata=with_texts(batch.metadata, snakemake.params.texts))
        description = describe_batch(described)
        style.save(graphs.batch_sizes(description), figure)
        page = batch_page(description, figure)
    else:
        stored = read_graph(folder)
        graph = replace(stored, metadata=with_texts(stored.metadata, snakemake.params.texts))
        description = describe_graph(graph)
        style.save(graphs.degrees(description), figure)
        page = page_of_graph(graph, description, figure, snakemake.input.weights)
    write_json(description, Path(snakemake.output.description))
    write_text(page, Path(snakemake.output.page))
