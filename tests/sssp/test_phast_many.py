"""PHAST from many sources: every cut of the sweep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import NO_PREDECESSOR, _maps
from relaxometer.problems.sssp._distance_proof import DistanceProver
from relaxometer.problems.sssp.phast import phast_many
from relaxometer.problems.sssp.phast.phast_many import RING_BYTES, Parameters, Solver
from relaxometer.problems.variants import Skipped
from sample_graphs import reference_distances, sample_graphs
from sssp.searches import proven_many, small_graphs
from sssp.test_phast import roads

MAPS = [graph for graph in sample_graphs().values() if graph.name != "hub"]


def forest(seed=4):
    """Three parts that no path joins, and vertices of their own; some arcs are one-way, some are free."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, 60, (2, 400))
    part = rng.integers(0, 3, 400) * 70
    return Graph.from_arcs("forest", 230, tails + part, heads + part, rng.integers(0, 9, 400))


def solver_for(device, graph, **parameters):
    resident = ResidentGraph.upload(device, graph)
    return resident, Solver(resident, Parameters(**parameters))


def expected(graph, sources):
    return np.array([reference_distances(graph, int(source)) for source in sources])


@pytest.mark.parametrize(
    ("graph", "k"),
    [*((graph, 32) for graph in MAPS), (sample_graphs()["grid"], 64)],
    ids=lambda value: getattr(value, "name", value),
)
def test_every_sample_graph(device, graph, k):
    """From more sources than a sweep has, some of them given twice."""
    resident, solver = solver_for(device, graph, k=k)
    sources = np.resize(np.arange(graph.n_vertices)[::-1], k + 5)
    proven_many(resident, solver, sources)


@pytest.mark.parametrize("segments", [1, 8, 64, "auto"])
@pytest.mark.parametrize("make", [roads, forest])
def test_distances_are_right_however_the_sweep_is_cut(device, make, segments):
    graph = make()
    resident, solver = solver_for(device, graph, segments=segments)
    proven_many(resident, solver, np.linspace(0, graph.n_vertices - 1, 35).astype(int))


def test_free_arcs_are_followed_in_several_launches(host_device, monkeypatch):
    """From more sources than a grid has rows."""
    monkeypatch.setattr(phast_many, "MAX_PLACES", 7)
    resident, solver = solver_for(host_device, forest())
    assert (resident.host.weights == 0).any()
    proven_many(resident, solver, np.arange(0, 210, 6))


@pytest.mark.parametrize("count", [1, 32, 33, 64, 65])
def test_distances_without_predecessors_from_any_number_of_sources(host_device, count):
    graph = roads()
    _, solver = solver_for(host_device, graph)
    sources = np.arange(count) * 7
    distance, _ = solver.find_distances(sources)
    np.testing.assert_array_equal([distance[i] for i in range(count)], expected(graph, sources))
    with pytest.raises(IndexError):
        distance[count]


def test_a_path_too_long_is_noticed(host_device):
    graph = Graph.from_arcs("too-far", 4, [0, 1, 2, 3], [1, 2, 3, 3], [MAX_WEIGHT, 1, 1, 1])
    _, solver = solver_for(host_device, graph)
    trees = solver.solve_many([1, 0])
    assert trees.overflowed
    assert host_device.asnumpy(trees.predecessor[1]).tolist() == [0, 0, NO_PREDECESSOR, NO_PREDECESSOR]
    assert solver.find_distances([1, 0])[1]
    distance, overflowed = solver.find_distances([1, 3])
    assert not overflowed
    np.testing.assert_array_equal([distance[0], distance[1]], expected(graph, [1, 3]))


def test_a_shortcut_too_long_is_no_error(host_device):
    """From 0, the sum of both halves is beyond 32 bits, and a direct arc is shorter."""
    graph = Graph.from_arcs("detour", 3, [0, 1, 0], [1, 2, 2], [MAX_WEIGHT, 1, 5])
    resident, solver = solver_for(host_device, graph)
    proven_many(resident, solver, np.arange(3))


def test_a_path_of_the_tree_that_does_not_fit_is_skipped(host_device):
    side = 60
    ends = np.array([(a, b) for a in range(side) for b in range(side) if a != b])
    graph = Graph.from_arcs("clique", 30 * side, ends[:, 0], ends[:, 1], np.ones(len(ends), dtype=int))
    resident = ResidentGraph.upload(host_device, graph)
    assert Solver(resident, Parameters()).resolved["height"] == side
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_device, "shared_bytes", _maps.STATIC_BYTES + 4 * 32 * side + RING_BYTES - 1)
        with pytest.raises(Skipped, match=f"a path of {side} take {4 * 32 * side} bytes"):
            Solver(resident, Parameters())


@given(case=small_graphs("uint32"), k=st.sampled_from([32, 64]), segments=st.sampled_from([1, 4, 64]))
@settings(max_examples=25)
def test_any_small_graph(case, k, segments):
    graph, _ = case
    resident, solver = solver_for(get_device("host"), graph, k=k, segments=segments)
    sources = np.arange(graph.n_vertices)
    proven_many(resident, solver, sources)
    sweeps = solver.sweep(sources, sums=True)
    proof = DistanceProver(resident).check(sweeps.sources, sweeps.labels)
    assert proof.certificate.holds
    for name in ("reached", "farthest", "total"):
        np.testing.assert_array_equal(getattr(proof, name), getattr(sweeps, name))
