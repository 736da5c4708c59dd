"""Variants that take all shared memory of a block, where a block has 99 KiB, as on most desktop cards."""

import numpy as np
import pytest

import relaxometer as rx
from relaxometer.library.prepared import open_device
from sample_graphs import grid_edges

SIDE = 60
KIB = 99


@pytest.fixture
def small(device, monkeypatch):
    opened = open_device(device.kind)
    monkeypatch.setattr(opened, "shared_bytes", KIB * 1024)
    return opened


@pytest.fixture
def graph():
    """A map whose numbers say nothing of places."""
    edges = np.random.default_rng(5).permutation(SIDE * SIDE)[grid_edges(SIDE, SIDE)]
    weights = np.arange(len(edges)) % 7
    return rx.Graph.from_arcs(SIDE * SIDE, *edges.T, weights, undirected=True)


@pytest.mark.parametrize(
    ("problem", "variant", "parameters"),
    [
        ("sssp", "tiled", {"cut": "grow"}),
        ("sssp", "phast", {}),
        ("sssp", "phast-many", {"k": 64}),
        ("bfs", "tiled", {"cut": "grow"}),
        ("dominators", "multiword", {}),
    ],
)
def test_searches_are_proven(small, graph, problem, variant, parameters):
    prepared = rx.prepare(graph, problem, variant=variant, device=small.kind, **parameters)
    assert prepared.device is small
    prepared.search(7).verify()


@pytest.mark.parametrize("variant", ["hierarchy", "labels"])
def test_routes_are_proven(small, graph, variant):
    routes = rx.prepare(graph, "routes", variant=variant, device=small.kind)
    assert routes.device is small
    routes.pairs(np.arange(40), np.arange(40)[::-1], paths=True).verify()
