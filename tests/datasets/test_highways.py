"""The highways of the world, cut to a box."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from built import refusal
from relaxometer.core.errors import UserError
from relaxometer.datasets.build import build_graph, is_symmetric
from relaxometer.datasets.formats.maps import HighwayParameters
from relaxometer.datasets.parameters import Box
from relaxometer.datasets.readers import highways
from relaxometer.datasets.registry import load_registry

OWN = Path(__file__).parents[2] / "resources/datasets.yaml"
EUROPE = HighwayParameters(box=Box(south=40, west=0, north=60, east=20))


def test_a_default_graph_matches_the_registry():
    pytest.importorskip("scgraph_data")
    dataset = load_registry(OWN, {})["japan-highways"]
    box = dataset.parameters.box
    graph = build_graph("japan", dataset, files=[])
    assert (graph.n_vertices, graph.n_arcs) == (dataset.vertices, dataset.arcs)
    assert graph.component_labels()[0] == 1
    assert graph.weights.min() >= 1
    assert np.all((graph.lat >= box.south) & (graph.lat <= box.north))
    assert np.all((graph.lon >= box.west) & (graph.lon <= box.east))
    assert graph.metadata["directed"] is False
    assert graph.metadata["package"].startswith("scgraph-data 2.")
    assert not np.any(graph.tails == graph.targets)
    distance = sp.csgraph.dijkstra(graph.to_scipy(), indices=0)
    assert (int(distance.max()), int(distance.sum())) == (1_348_968, 10_360_244_252)


def test_only_the_largest_component_inside_the_box_stays():
    # 0-1-3 inside with a loop at 0; 2 outside; 4-5 a smaller component inside.
    adjacency = [{0: 1.0, 1: 0.0}, {0: 0.0, 2: 5.0, 3: 1.2346}, {1: 5.0}, {1: 1.2346}, {5: 2.0}, {4: 2.0}]
    positions = [[50, 10], [51, 11], [70, 10], [52, 12], [53, 13], [54, 14]]
    graph = highways.highways_inside("small", adjacency, positions, EUROPE)
    assert graph.offsets.tolist() == [0, 1, 3, 4]
    assert graph.targets.tolist() == [1, 0, 2, 1]
    assert graph.weights.tolist() == [1, 1, 1235, 1235]
    assert graph.lat.tolist() == [50, 51, 52]
    assert graph.lon.tolist() == [10, 11, 12]
    assert is_symmetric(graph)
    said = refusal(highways.highways_inside, "small", [{}], [[0, 0]], EUROPE)
    assert said.startswith("graph small: no highway lies inside the box ")
    assert said.endswith("; widen it")


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr(highways.importlib.util, "find_spec", lambda name: None)
    said = r"scgraph-data, .* is missing; install it with: [^;]* -m pip install"
    with pytest.raises(UserError, match=said):
        highways.read_highways("small", EUROPE)


@pytest.mark.parametrize("source", ["graph = load()", "graph=[{}]\nnodes=[[1, x]]"])
def test_a_package_of_another_form_says_what_to_install(monkeypatch, tmp_path, source):
    (tmp_path / "world.py").write_text(source, encoding="utf-8")
    monkeypatch.setattr(highways, "_data_file", lambda: tmp_path / "world.py")
    with pytest.raises(UserError, match=r"its form is unknown; expected scgraph-data 2; .* -m pip install"):
        highways.read_highways("small", EUROPE)
