"""What stands on the page of a graph or a batch, and in its figures."""

import re

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from relaxometer.graphs import batch as batches
from relaxometer.graphs import graph as graphs
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.describe import describe_batch, describe_graph, either_way, hops_in
from relaxometer.graphs.graph import Graph
from relaxometer.report.figures import graphs as drawings
from relaxometer.report.figures import maps, style
from relaxometer.report.graph_pages import batch_page, graph_page
from sample_graphs import sample_graphs, undirected
from synthetic_runs import texts

METADATA = {
    "description": "Lanes & yards",
    "license": "ODbL 1.0",
    "attribution": "© OpenStreetMap contributors",
    "origin": ["https://example.org/a.gr", "https://example.org/b.gr"],
    "weight_unit": "ms",
    "seed": 7,
    "parameters": {"box": {"south": 1, "north": 2}},
    "search_keys": [4, 5],
    "directed": False,
}


def street():
    """A street of 6 corners, and a lane of 3 that nothing joins to it."""
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [6, 7], [7, 8]])
    graph = undirected("street", 9, edges, np.arange(1, 8) * 1000)
    lon, lat = 139 + np.arange(9) / 10, 35 + np.arange(9) % 2 / 10
    return Graph("street", graph.offsets, graph.targets, graph.weights, lon, lat, METADATA)


def described(graph):
    return describe_graph(Graph(**{**vars(graph), "metadata": graphs.describe(graph)}))


def bars_of(axes):
    return [[bar.get_height() for bar in bars] for bars in axes.containers]


def test_small_degrees_are_bars_and_large_ones_dots_and_a_line_on_logarithmic_axes():
    figure = drawings.degrees(described(street()))
    (axes,) = figure.axes
    np.testing.assert_allclose(bars_of(axes), [[4 / 9, 5 / 9]])
    assert "44% 56%" in texts(figure)
    assert "9 vertices; mean degree 1.6, largest 2" in texts(figure)
    hub = Graph(**{**vars(sample_graphs()["hub"]), "metadata": {"directed": False}})
    figure = drawings.degrees(described(hub))
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    exactly, more = axes.lines[:2]
    np.testing.assert_allclose(exactly.get_xydata(), [[1, 1026 / 1027], [1026, 1 / 1027]])
    np.testing.assert_allclose(more.get_xydata(), [[1, 1 / 1027]])
    assert axes.get_legend_handles_labels()[1] == ["exactly this many arcs", "more arcs", "32 (a warp)"]
    assert "0.097% of the vertices have more than 32 arcs, and 50% of all arcs" in texts(figure)


def rows_of(page):
    """Return the cells of every row of a page's tables by the row's name."""
    rows = re.findall(r"<tr><th>([^<]*)</th>(.*?)</tr>", page)
    return {name: re.findall(r"<td>(.*?)</td>", cells) for name, cells in rows}


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "one.svg"
    path.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["one-vertex", "self-loop-only", "one-way", "zero-weights", "hub"])
def test_degenerate_graphs_are_drawn(name, tmp_path, picture):
    facts = described(sample_graphs()[name])
    style.save(drawings.degrees(facts), tmp_path / "degrees.svg")
    assert f"<h1>{name}</h1>" in graph_page(facts, tmp_path / "degrees.svg", picture, None)


def hop_map(graph):
    facts = described(graph)["hop_diameter"]
    return maps.hop_map(graph, hops_in(*either_way(graph), facts["ends"][0]), facts)


def test_the_map_colours_roads_by_arcs_from_one_end_and_marks_both():
    figure = hop_map(street())
    axes = figure.axes[0]
    elsewhere, coloured = (part for part in axes.collections if isinstance(part, LineCollection))
    assert sorted(coloured.get_array()) == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert len(elsewhere.get_segments()) == 2
    assert sorted(float(line.get_xdata()[0]) for line in axes.lines) == [139.0, 139.5]
    said = "The stars are 5 arcs apart; no two vertices of the largest component are more than 6"
    assert said in texts(figure)


def test_many_roads_become_an_image_that_says_the_same(monkeypatch):
    monkeypatch.setattr(maps, "MAX_LINES", 0)
    axes = hop_map(street()).axes[0]
    elsewhere, coloured = (image.get_array() for image in axes.images)
    assert set(np.unique(coloured.compressed())) == {0.5, 1.5, 2.5, 3.5, 4.5}
    assert set(np.unique(elsewhere.compressed())) == {0}
    height, width = coloured.shape
    # 0.8 degrees of longitude are shorter than as many of latitude, and still the longer side.
    assert width == pytest.approx(maps.PIXELS, abs=1)
    assert height == pytest.approx(maps.PIXELS * 0.1 / (0.8 * np.cos(np.radians(35.05))), abs=2)
    # Row 0 is in the south, where the first corner is, the other end; the second lies to its north.
    assert coloured[0, 0] == 4.5
    top = coloured[-3:, round(0.1 / 0.8 * (width - 1))].compressed()
    assert set(top) & {3.5, 4.5} == set(top) != set()
    # Between corners a road covers each column once or twice, and leaves no gap.
    street_columns = (~coloured.mask).any(axis=0)
    assert street_columns[: round(0.5 / 0.8 * (width - 1))].all()
    assert not street_columns[round(0.52 / 0.8 * width) :].any()


def test_a_page_has_the_numbers_beside_those_of_the_sources_and_whose_data_it_is(picture):
    page = graph_page(described(street()), picture, picture, None)
    rows = rows_of(page)
    assert rows["Vertices"] == ["9", "1,427,876"]
    assert rows["Arcs"] == ["14", "4,584,822"]
    assert rows["Mean degree"] == ["1.6", "3.2"]
    assert rows["Mean weight"] == ["4,000", "83,666"]
    assert rows["Standard deviation of weights"] == ["2,000", "184,384"]
    assert rows["Lightest, median, heaviest arc"][0] == "1,000, 4,000, 7,000"
    assert rows["Unit of weights"][0] == "ms"
    assert rows["Type of weights"][0] == "uint32"
    assert rows["Symmetric"][0] == "yes"
    assert rows["Vertices with more than 32 arcs, the width of a warp"] == ["0%", "about 10%"]
    assert rows["Weakly connected components"] == ["2"]
    assert rows["Vertices in the largest component"] == ["6 (67%)"]
    assert rows["Isolated vertices"] == ["0 (0%)"]
    assert rows["Hop diameter"] == ["between 5 and 6"]
    page = graph_page(described(street()), picture, picture, None)
    rows = rows_of(page)
    assert "Lanes &amp; yards" in page
    assert rows["Licence"] == ["ODbL 1.0"]
    assert rows["Attribution"] == ["© OpenStreetMap contributors"]
    assert rows["Origin"] == ['<a href="https://example.org/a.gr">https://example.org/a.gr</a>']
    assert rows["Parameters"] == ["box: south: 1; north: 2"]
    assert rows["Seed"] == ["7"]
    assert "Search keys" not in rows


@pytest.mark.parametrize(
    ("weights", "kind", "ends", "finding"),
    [
        ([0.001, 0.01, 0.5], "float32", (0.001, 0.5), "3 arcs; standard deviation 1.4 times the mean"),
        ([1e250, 1e250, 1e300], "float64", (1e250, 1e300), "3 arcs; standard deviation 1.4 times the mean"),
        ([0.0, 0.0, 0.0], "float32", (1, 10), "3 arcs; standard deviation 0.0 times the mean"),
        ([5, 70, 900], "uint32", (5, 900), "3 arcs; standard deviation 1.3 times the mean"),
        ([-4, 5, 7], "int32", (-4, 7), "3 arcs; 33% of them have a negative weight"),
    ],
)
def test_the_figure_of_weights_of_each_type(weights, kind, ends, finding):
    figure = drawings.arc_weights(np.array(weights, dtype=kind), {"name": "small", "weight_unit": "s"})
    (axes,) = figure.axes
    shown = axes.lines[0].get_xdata()
    assert (shown[0], shown[-1]) == pytest.approx(ends, rel=3e-3)
    assert axes.get_xscale() == ("linear" if min(weights) < 0 else "log")
    assert finding in texts(figure)
    assert axes.get_xlabel() == "Arc weight [s]"


def small_batch(sizes):
    """A batch of chains of blocks that each jump back to their first."""
    chains = [(f"f{n}", n, [*range(n - 1), n - 1], [*range(1, n), 0], 0) for n in sizes]
    batch = Batch.from_graphs("chains", chains, metadata={"description": "Chains"})
    return describe_batch(Batch(**{**vars(batch), "metadata": batches.describe(batch)}))


def test_the_page_and_the_figure_of_a_batch_show_graphs_and_their_blocks(picture):
    rows = rows_of(batch_page(small_batch([2, 3, 32, 64, 65]), picture))
    assert rows["Graphs"] == ["5"]
    assert rows["Blocks"] == rows["Edges"] == ["166"]
    assert rows["Blocks per graph: maximum"] == ["65, of f65"]
    assert rows["Blocks per graph: 50th, 90th, 99th percentile"] == ["32, 64, 64"]
    shares = [rows[f"Graphs of at most {limit} blocks"] for limit in ("32", "64", "1,024")]
    assert shares == [["60%"], ["80%"], ["100%"]]
    assert rows["Graphs with loops"] == ["100%"]
    assert rows["Graphs with a loop of several entries (irreducible)"] == ["0%"]
    assert "no graphs" in texts(drawings.batch_sizes(small_batch([])))
    assert rows_of(batch_page(small_batch([]), picture))["Graphs"] == ["0"]
    figure = drawings.batch_sizes(small_batch([2, 2, 4]))
    left, right = figure.axes
    graphs_line, blocks_line = left.lines[:2]
    np.testing.assert_allclose(graphs_line.get_xydata(), [[2, 2 / 3], [4, 1]])
    np.testing.assert_allclose(blocks_line.get_xydata(), [[2, 0.5], [4, 1]])
    np.testing.assert_allclose(bars_of(right), [[0, 1, 0, 0, 0]] * 2)
    assert "3 graphs with 2 to 4 blocks, half of them with at most 2; 1.00 edges per block" in texts(figure)
