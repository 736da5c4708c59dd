"""Generated graphs: the same bits on any number of threads, and their shapes."""

from itertools import pairwise
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from built import built
from relaxometer.datasets import weights
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.formats.generated import RmatParameters
from relaxometer.datasets.generators.rmat import rmat_edges
from relaxometer.datasets.generators.uniform_random import uniform_edges
from relaxometer.datasets.parameters import Weights
from relaxometer.datasets.random_bits import Purpose, bits, stream
from relaxometer.datasets.registry import load_registry
from relaxometer.graphs.describe import hops_in
from relaxometer.graphs.graph import Graph, content_hash

N = 500


def made(form, seed=1, **parameters):
    return built(form, seed=seed, **parameters)


def test_random_bits_are_those_of_splitmix64_in_any_pieces():
    # The first numbers that the authors' Java class gives for the seed 1234567.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert bits(np.uint64(1234567), 0, 4).tolist() == expected
    key = stream(5, Purpose.ENDS)
    borders = [0, 1, 1365, 1365, 4089, 4096]
    pieces = [bits(key, start, stop) for start, stop in pairwise(borders)]
    np.testing.assert_array_equal(np.concatenate(pieces), bits(key, 0, 4096))


def test_threads_do_not_matter():
    arcs = (*uniform_edges(N, 3, 5000), weights.draw(Weights(), 3, 5000))
    hashes = set()
    for threads in {1, numba.config.NUMBA_NUM_THREADS}:
        numba.set_num_threads(threads)
        hashes.add(content_hash(Graph.from_arcs("g", N, *arcs, undirected=True)))
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("form", "parameters", "degrees"),
    [
        ("chain", {"vertices": N}, {1: 2, 2: N - 2}),
        ("star", {"vertices": N}, {1: N - 1, N - 1: 1}),
        ("complete", {"vertices": 40}, {39: 40}),
        ("binary-tree", {"vertices": 127}, {1: 64, 2: 1, 3: 62}),
        ("grid", {"rows": 20, "columns": 30}, {2: 4, 3: 92, 4: 504}),
        ("grid", {"rows": 1, "columns": 1}, {0: 1}),
        ("chain", {"vertices": 1}, {0: 1}),
        ("star", {"vertices": 1}, {0: 1}),
        ("binary-tree", {"vertices": 2}, {1: 2}),
        ("road-like", {"rows": 1, "columns": 1, "pieces": 3}, {0: 1}),
        ("road-like", {"rows": 1, "columns": 2, "pieces": 3}, {1: 2, 2: 2}),
    ],
)
def test_shapes_have_their_degrees_and_one_component(form, parameters, degrees):
    graph = made(form, **parameters)
    found, counts = np.unique(graph.degrees, return_counts=True)
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == degrees
    assert graph.metadata["directed"] is False
    assert graph.component_labels()[0] == 1


@given(
    rows=st.integers(2, 25),
    columns=st.integers(2, 25),
    degree=st.floats(0, 5),
    pieces=st.integers(1, 3),
    seed=st.integers(0, 2**40),
)
@settings(max_examples=25)
def test_roads_lead_everywhere(rows, columns, degree, pieces, seed):
    graph = made("road-like", seed, rows=rows, columns=columns, mean_degree=degree, pieces=pieces)
    junctions, edges = rows * columns, graph.n_arcs // 2
    roads = edges // pieces
    assert edges == roads * pieces
    assert graph.n_vertices == junctions + roads * (pieces - 1)
    assert graph.component_labels()[0] == 1
    assert graph.metadata["directed"] is False
    offered = rows * (columns - 1) + (rows - 1) * columns
    wanted = max(int(degree * junctions / 2), junctions - 1)
    assert roads == wanted or offered <= roads < wanted
    assert np.abs(graph.lon * 1024 - (columns - 1) / 2).max() <= (columns - 1) / 2 + 0.35
    assert set(np.unique(graph.degrees[junctions:])) <= {2}


def test_roads_have_the_degrees_of_a_map():
    graph = made("road-like", rows=200, columns=200)
    assert graph.n_vertices == 40_000
    assert graph.n_arcs / graph.n_vertices == pytest.approx(2.7, rel=1e-4)
    shares = np.bincount(graph.degrees)[1:6] / graph.n_vertices
    np.testing.assert_allclose(shares, [0.11, 0.30, 0.38, 0.20, 0.01], atol=0.01)
    assert graph.weights.mean() == pytest.approx(83_666, rel=0.02)


def test_rmat_has_its_quadrants_shares_a_mean_degree_of_32_and_hubs():
    graph = made("rmat", scale=12)
    assert graph.metadata["input_edges"] == 16 << 12
    assert 20 < graph.n_arcs / graph.n_vertices <= 32
    assert graph.degrees.argmax() == 0
    assert graph.degrees.max() > 20 * graph.degrees.mean()
    assert graph.metadata["directed"] is False
    assert made("rmat", scale=12, undirected=False).metadata["directed"] is True
    tails, heads = rmat_edges(RmatParameters(scale=1, a=0.5, b=0.1, c=0.3, d=0.1), 7, 100_000)
    shares = np.bincount(2 * tails + heads) / len(tails)
    np.testing.assert_allclose(shares, [0.5, 0.1, 0.3, 0.1], atol=0.005)


def test_uniform_random_degrees_are_alike():
    for undirected in (True, False):
        graph = made("uniform-random", vertices=2000, mean_degree=16, undirected=undirected)
        assert graph.n_arcs == pytest.approx(32_000, rel=0.01)
        assert graph.degrees.max() < 40


def test_weights_follow_their_distribution():
    def drawn(**keys):
        return weights.draw(Weights(**keys), 9, 100_000)

    assert set(drawn(distribution="unit")) == {1}
    uniform = drawn(range=(3, 12))
    np.testing.assert_allclose(np.bincount(uniform)[3:], 10_000, rtol=0.05)
    wide = drawn(range=(0, 2**32 - 2))
    assert wide.mean() == pytest.approx(2**31, rel=0.01)
    decades = np.floor(np.log10(drawn(distribution="log-uniform", range=(10, 1_000_000)))).astype(int)
    np.testing.assert_allclose(np.bincount(decades)[1:], 20_000, rtol=0.03)


REGISTRY = load_registry(Path(__file__).parents[2] / "resources/datasets.yaml", {})
OWN = {
    name: dataset
    for name, dataset in REGISTRY.items()
    if dataset.attribution == "generated by Relaxometer"
    and not dataset.format.startswith(("kanto", "delaunay"))  # they take seconds
    and dataset.arcs
    and dataset.arcs < 1_000_000
}
WIDE, DECADES = {"range": [0, 2**32 - 2]}, {"distribution": "log-uniform", "range": [3, 9000]}
GOLDEN = {
    "rmat": ({"scale": 8}, "3d884e58eb92c558"),
    "uniform-random": ({"vertices": 500, "mean_degree": 7.5, "weights": WIDE}, "6db7f20cf8df47ca"),
    "grid": ({"rows": 7, "columns": 9, "weights": DECADES}, "2db4e440891d9611"),
    "road-like": ({"rows": 20, "columns": 30, "pieces": 2}, "113cba8c78164620"),
    "nearest-neighbors": ({"vertices": 500, "neighbors": 4}, "308a8f070118c769"),
    "delaunay": ({"vertices": 500}, "80d8001409175312"),
    "barabasi-albert": ({"vertices": 500, "edges": 3}, "637f65d8baabf637"),
    "watts-strogatz": ({"vertices": 500, "neighbors": 6, "rewired": 0.1}, "2693cc889adf739c"),
}
"""Parameters, and how the content hash of the graph of seed 1 begins."""


@pytest.mark.parametrize("form", GOLDEN)
def test_the_same_seed_gives_the_same_bits(form):
    parameters, expected = GOLDEN[form]
    assert content_hash(made(form, **parameters)).startswith(expected)
    assert content_hash(made(form, seed=2, **parameters)) != content_hash(made(form, **parameters))


@pytest.mark.parametrize("name", OWN)
def test_the_projects_own_graphs_have_their_counts(name):
    graph = build_graph(name, OWN[name], files=[])
    assert (graph.n_vertices, graph.n_arcs) == (OWN[name].vertices, OWN[name].arcs)


def test_heaps_have_the_shape_of_real_ones():
    """Bounds around four snapshots of Node.js; docs/performance/dominators.md has their figures."""
    heap = made("heap-like", objects=20_000, links=1000)
    n, into = heap.n_vertices, np.bincount(heap.targets)
    assert 2.7 < heap.n_arcs / n < 4.1
    assert 0.62 < (into == 1).mean() < 0.83
    assert 0.32 < np.sort(into)[-10:].sum() / heap.n_arcs < 0.45
    lowest = np.full(n, n)
    np.minimum.at(lowest, heap.targets, heap.tails.astype(np.int64))
    assert 0.08 < (lowest[1:] >= np.arange(1, n)).mean() < 0.2
    levels = hops_in(heap.offsets, heap.targets, 0)
    assert levels.min() == 0  # all are reached
    assert 1000 < levels.max() < 1100  # the list hangs below others
    assert heap.objects["size"].to_numpy()[0] == 0
    assert content_hash(heap) == content_hash(made("heap-like", objects=20_000, links=1000))


@pytest.mark.parametrize("shuffled", [False, True])
def test_extreme_heaps_are_a_list_a_tree_and_a_hub(shuffled):
    depths = {}
    for shape in ("list", "tree", "hub"):
        heap = made("heap-like", objects=1000, shape=shape, shuffled=shuffled)
        assert heap.n_arcs == 999
        depths[shape] = hops_in(heap.offsets, heap.targets, 0)
        is_in_order = bool((heap.tails < heap.targets).all())
        assert is_in_order != shuffled
    assert {shape: levels.max() for shape, levels in depths.items()} == {"list": 999, "tree": 9, "hub": 2}
    assert all(levels.min() == 0 for levels in depths.values())  # all are reached
