"""Find out what a graph is like, and draw it: numbers, figure of degrees, and a page with both."""

import tempfile
from pathlib import Path

from relaxometer.core.files import write_json
from relaxometer.core.scripting import job
from relaxometer.graphs.describe import describe_graph, hops_from
from relaxometer.graphs.graph import read_graph
from relaxometer.report.figures import graphs, maps, style
from relaxometer.report.graph_pages import graph_page

with job(snakemake), tempfile.TemporaryDirectory() as folder:
    graph = read_graph(Path(snakemake.input.graph[0]).parent)
    description = describe_graph(graph)
    write_json(description, Path(snakemake.output.description))
    style.save(graphs.degrees(description), snakemake.output.degrees)
    hops = None
    if graph.lon is not None and graph.n_vertices:
        hops = Path(folder) / "hops.png"
        diameter = description["hop_diameter"]
        style.save(maps.hop_map(graph, hops_from(graph, diameter["ends"][0]), diameter), hops)
    page = graph_page(description, snakemake.output.degrees, snakemake.input.weights, hops)
    Path(snakemake.output.page).write_text(page, encoding="utf-8")
