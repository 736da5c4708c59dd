"""Road topologies: known searches, seeded weights, and one line for each mistake."""

import lzma
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from relaxometer.core.errors import UserError
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.readers.topology import read_edges
from relaxometer.datasets.registry import Dataset, load_registry
from relaxometer.graphs.graph import content_hash

OWN_DATASETS = Path(__file__).parents[2] / "resources/datasets.yaml"
SMALL = "c roads\np tw 4 3\n1 2\n2 3\n4 2\n"


@pytest.fixture
def small_file(tmp_path):
    path = tmp_path / "small.gr.xz"
    path.write_bytes(lzma.compress(SMALL.encode()))
    return path


def build(file, **weights):
    parameters = {"weights": weights} if weights else {}
    return build_graph(
        "small", Dataset(format="topology", path=str(file), parameters=parameters), files=[file]
    )


def bfs_levels(graph):
    """Count the hops from vertex 0 to every vertex."""
    unit = sp.csr_array((np.ones(graph.n_arcs), graph.targets.astype(np.int64), graph.offsets))
    order, before = sp.csgraph.breadth_first_order(unit, 0, directed=True)
    levels = np.zeros(graph.n_vertices, dtype=np.int64)
    for vertex in order[1:].tolist():
        levels[vertex] = levels[before[vertex]] + 1
    return levels


def test_edges_lead_both_ways(small_file):
    graph = build(small_file)
    assert graph.offsets.tolist() == [0, 1, 4, 5, 6]
    assert graph.targets.tolist() == [1, 0, 2, 3, 1, 1]
    assert graph.weights.tolist() == [1] * 6
    assert graph.metadata["directed"] is False
    assert graph.metadata["edges_in_file"] == 3


@pytest.mark.parametrize(
    "drawn",
    [
        {"distribution": "log-uniform", "range": [10, 970_000]},
        {"distribution": "lognormal", "mu": 10, "sigma": 1.5},
    ],
    ids=lambda drawn: drawn["distribution"],
)
def test_weights_follow_from_the_seed(small_file, drawn):
    first = build(small_file, **drawn, seed=1)
    assert content_hash(first) == content_hash(build(small_file, **drawn, seed=1))
    assert content_hash(first) != content_hash(build(small_file, **drawn, seed=2))
    assert first.metadata["directed"] is False, "an edge has one weight in both directions"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("4 2", "5 2", "small.gr:5: '5 2': vertex 5 is not an integer from 1 to 4"),
        ("4 2", "4", "small.gr:5: '4': 1 field; expected '<vertex> <neighbour>'"),
        ("4 2", "4 2 1", "small.gr:5: '4 2 1': 3 fields; expected '<vertex> <neighbour>'"),
        ("4 2\n", "", "small.gr:2: 'p tw 4 3' announces 3 edges, but 2 follow"),
        ("p tw", "p sp", "small.gr:2: 'p sp 4 3': expected 'p tw <vertices> <edges>'"),
    ],
)
def test_every_mistake_names_its_line(tmp_path, old, new, message):
    path = tmp_path / "small.gr"
    path.write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read_edges(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("region", "last", "total"),
    [
        ("ny", 619, 90_771_609),
        ("bay", 522, 77_693_997),
        ("col", 1_081, 163_836_166),
        pytest.param("fla", 1_920, 1_206_725_808, marks=pytest.mark.slow),
        pytest.param("nw", 1_959, 1_288_891_301, marks=pytest.mark.slow),
        pytest.param("ne", 1_108, 898_295_887, marks=pytest.mark.slow),
    ],
)
def test_real_topologies_have_known_levels(road_file, region, last, total):
    dataset = load_registry(OWN_DATASETS, {})[f"usa-{region}-topology"]
    levels = bfs_levels(build_graph(region, dataset, files=[road_file(dataset.file_name)]))
    assert (int(levels.max()), int(levels.sum())) == (last, total)
