"""Bellman-Ford over a list of edges: every order and mapping of the edges, and the cost of races."""

import itertools

import numpy as np
import pytest

from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp.bellman_ford import _edge_list, edge_bf, edge_bf_atomic
from relaxometer.problems.sssp.certify import SsspCertifier
from sample_graphs import reference_distances, sample_graphs, undirected

SETTINGS = [
    *(
        (
            edge_bf,
            {"read_only_cache": cache, "blocked": blocked, "distance": distance, "edges_per_thread": each},
        )
        for cache, blocked, distance, each in itertools.product(
            (True, False), (True, False), ("float64", "uint32"), (1, 4)
        )
    ),
    *(
        (edge_bf_atomic, {"blocked": blocked, "edges_per_thread": each})
        for blocked, each in itertools.product((True, False), (1, 4))
    ),
]
BLOCKS = [1, 7, 64, 10**6]
GRAPHS = sample_graphs().values()


def solve(module, graph, source, device=None, phases=None, **parameters):
    resident = ResidentGraph.upload(device or get_device("host"), graph)
    solver = module.Solver(resident, module.Parameters(**parameters))
    return solver.solve(source, phases), resident


def assert_proven(answer, resident, source):
    device = resident.device
    expected = reference_distances(resident.host, source)
    np.testing.assert_array_equal(device.asnumpy(answer.distance), expected)
    certificate = SsspCertifier(resident).check(source, answer.distance, answer.predecessor)
    assert certificate.holds, certificate.reason


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
@pytest.mark.parametrize(("module", "parameters"), SETTINGS, ids=str)
def test_every_setting_is_right(device, module, parameters, graph):
    source = graph.n_vertices // 2
    answer, resident = solve(module, graph, source, device, **parameters)
    assert_proven(answer, resident, source)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("module", [edge_bf, edge_bf_atomic])
def test_any_size_of_block_is_right(device, module, block, graph):
    answer, resident = solve(module, graph, 0, device, block=block)
    assert_proven(answer, resident, 0)


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("name", ["random-directed", "zero-weights", "grid", "hub"])
@pytest.mark.parametrize("module", [edge_bf, edge_bf_atomic])
def test_any_order_of_threads_is_right(module, name, seed):
    device = get_device("host", order_seed=seed)
    answer, resident = solve(module, sample_graphs()[name], 3, device)
    assert_proven(answer, resident, 3)


@pytest.mark.parametrize("module", [edge_bf, edge_bf_atomic])
def test_lists_of_several_pieces_are_right(monkeypatch, device, module):
    monkeypatch.setattr(_edge_list, "PIECE", 256)
    for name in ("grid", "random-directed", "zero-weights"):
        answer, resident = solve(module, sample_graphs()[name], 5, device)
        assert_proven(answer, resident, 5)


def diamond():
    """Vertex 3 is reached in one phase by two edges, the shorter one first in the list."""
    return undirected("diamond", 4, np.array([[0, 1], [0, 2], [1, 3], [2, 3]]), np.array([1, 1, 1, 5]))


def test_a_lost_improvement_costs_only_a_phase(host_device):
    """A thread of four edges reads all distances before it writes: 6 replaces 2 at vertex 3."""
    phases = []
    answer, resident = solve(edge_bf, diamond(), 0, host_device, phases, blocked=False, edges_per_thread=4)
    assert [phase.updated for phase in phases] == [2, 1, 1, 0]
    assert answer.phases == 4
    assert_proven(answer, resident, 0)


def test_atomics_lose_no_improvement(host_device):
    phases = []
    answer, resident = solve(edge_bf_atomic, diamond(), 0, host_device, phases, blocked=False)
    assert [phase.updated for phase in phases] == [2, 1, 0]
    assert_proven(answer, resident, 0)


@pytest.mark.parametrize("module", [edge_bf, edge_bf_atomic])
def test_an_instrumented_run_counts_every_arc_in_every_phase(device, module):
    graph = sample_graphs()["grid"]
    phases = []
    answer, _ = solve(module, graph, 0, device, phases)
    assert len(phases) == answer.phases
    assert {phase.relaxed_arcs for phase in phases} == {graph.n_arcs}
    assert phases[-1].updated == 0
    assert all(phase.updated > 0 for phase in phases[:-1])
    assert sum(phase.updated for phase in phases) >= graph.n_vertices - 1


@pytest.mark.parametrize("module", [edge_bf, edge_bf_atomic])
def test_the_flag_may_be_read_every_few_phases(device, module):
    graph = sample_graphs()["grid"]
    answer, resident = solve(module, graph, 0, device, check_every=5)
    assert answer.phases % 5 == 0
    assert_proven(answer, resident, 0)


@pytest.mark.parametrize(
    ("name", "both_ways"),
    [("grid", True), ("zero-weights", True), ("hub", True), ("one-way", False), ("random-directed", False)],
)
def test_pairs_of_arcs_are_single_edges(device, name, both_ways):
    graph = sample_graphs()[name]
    edges = _edge_list.EdgeList(ResidentGraph.upload(device, graph), np.uint32, None)
    assert edges.both_ways == both_ways
    loops = int((graph.tails == graph.targets).sum())
    assert edges.arcs == graph.n_arcs - loops
    assert edges.n_edges == (edges.arcs // 2 if both_ways else edges.arcs)


def test_pairs_of_unequal_weight_are_arcs(device):
    graph = Graph.from_arcs("slope", 3, [0, 1, 1, 2], [1, 0, 2, 1], [4, 9, 3, 3])
    edges = _edge_list.EdgeList(ResidentGraph.upload(device, graph), np.uint32, None)
    assert not edges.both_ways
    for source in range(3):
        answer, resident = solve(edge_bf, graph, source, device)
        assert_proven(answer, resident, source)


@pytest.mark.parametrize("block", BLOCKS)
def test_edges_are_sorted_by_pairs_of_blocks(device, block):
    graph = sample_graphs()["grid"]
    resident = ResidentGraph.upload(device, graph)
    edges = _edge_list.EdgeList(resident, np.uint32, block)
    plain = _edge_list.EdgeList(resident, np.uint32, None)
    rows = device.asnumpy(device.xp.stack([edges.starts, edges.ends, edges.weights]))[:, : edges.n_edges].T
    of_plain = device.asnumpy(device.xp.stack([plain.starts, plain.ends, plain.weights]))
    of_plain = of_plain[:, : plain.n_edges].T
    pairs = list(zip(rows[:, 1] // block, rows[:, 0] // block, strict=True))
    assert pairs == sorted(pairs)
    assert sorted(map(tuple, rows)) == sorted(map(tuple, of_plain))


@pytest.mark.parametrize(("module", "parameters"), SETTINGS, ids=str)
def test_overflow_differs_from_a_detour(device, module, parameters):
    too_far = Graph.from_arcs("too-far", 4, [0, 1, 2], [1, 2, 3], [MAX_WEIGHT, 1, 0])
    answer, _ = solve(module, too_far, 0, device, **parameters)
    assert answer.overflowed
    assert device.asnumpy(answer.distance).tolist() == [0, MAX_WEIGHT, 2**32 - 1, 2**32 - 1]
    detour = Graph.from_arcs("detour", 3, [0, 1, 0], [1, 2, 2], [MAX_WEIGHT, 9, 5])
    answer, _ = solve(module, detour, 0, device, **parameters)
    assert not answer.overflowed
    assert device.asnumpy(answer.distance).tolist() == [0, MAX_WEIGHT, 5]


@pytest.mark.parametrize(
    ("module", "parameters", "bytes_per_edge", "bytes_per_vertex"),
    [
        (edge_bf, {}, 16, 8),
        (edge_bf, {"distance": "uint32"}, 12, 4),
        (edge_bf_atomic, {}, 12, 4),
    ],
)
def test_the_bytes_of_a_phase_are_edges_and_distances(
    host_device, module, parameters, bytes_per_edge, bytes_per_vertex
):
    graph = sample_graphs()["grid"]
    resident = ResidentGraph.upload(host_device, graph)
    resolved = module.Solver(resident, module.Parameters(**parameters)).resolved
    expected = graph.n_arcs // 2 * bytes_per_edge + graph.n_vertices * bytes_per_vertex
    assert resolved["bytes_per_phase"] == expected
    assert resolved["block"] == 1 << 14
