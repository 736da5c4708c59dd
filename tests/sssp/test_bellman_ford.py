"""Bellman-Ford over a list of edges, and as a matrix-vector product: lists, rows, and the cost of races."""

import numpy as np
import pytest

from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp.bellman_ford import _edge_list, spmv_csr, spmv_ell
from relaxometer.problems.sssp.bellman_ford._arcs import IncomingArcs
from relaxometer.problems.variants import Skipped
from sample_graphs import sample_graphs, undirected
from sssp.searches import solved

VARIANTS = ["edge-bf", "edge-bf-atomic"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_lists_of_several_pieces_are_right(monkeypatch, device, variant):
    monkeypatch.setattr(_edge_list, "PIECE", 256)
    for name in ("grid", "random-directed", "zero-weights"):
        solved(device, variant, sample_graphs()[name], 5)


def diamond():
    """Vertex 3 is reached in one phase by two edges, the shorter one first in the list."""
    return undirected("diamond", 4, np.array([[0, 1], [0, 2], [1, 3], [2, 3]]), np.array([1, 1, 1, 5]))


@pytest.mark.parametrize(
    ("variant", "parameters", "updated"),
    [("edge-bf", {"edges_per_thread": 4}, [2, 1, 1, 0]), ("edge-bf-atomic", {}, [2, 1, 0])],
)
def test_a_lost_improvement_costs_only_a_phase(host_device, variant, parameters, updated):
    """A thread of four edges reads all distances before it writes: 6 replaces 2 at vertex 3."""
    phases = []
    _, answer = solved(host_device, variant, diamond(), 0, phases=phases, blocked=False, **parameters)
    assert [(phase.updated, phase.relaxed_arcs) for phase in phases] == [(found, 8) for found in updated]
    assert answer.phases == len(phases)


@pytest.mark.parametrize(
    ("graph", "both_ways"),
    [
        *((sample_graphs()[name], True) for name in ("grid", "zero-weights", "hub")),
        *((sample_graphs()[name], False) for name in ("one-way", "random-directed")),
        (Graph.from_arcs("of-unequal-weight", 3, [0, 1, 1, 2], [1, 0, 2, 1], [4, 9, 3, 3]), False),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_pairs_of_arcs_are_single_edges(device, graph, both_ways):
    edges = _edge_list.EdgeList(ResidentGraph.upload(device, graph), np.uint32, None)
    assert edges.both_ways == both_ways
    loops = int((graph.tails == graph.targets).sum())
    assert edges.arcs == graph.n_arcs - loops
    assert edges.n_edges == (edges.arcs // 2 if both_ways else edges.arcs)


@pytest.mark.parametrize("block", [1, 7, 64, 10**6])
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


@pytest.mark.parametrize(
    ("variant", "parameters", "bytes_per_edge", "bytes_per_vertex"),
    [("edge-bf", {}, 16, 8), ("edge-bf", {"distance": "uint32"}, 12, 4), ("edge-bf-atomic", {}, 12, 4)],
)
def test_the_bytes_of_a_phase_are_edges_and_distances(
    host_device, variant, parameters, bytes_per_edge, bytes_per_vertex
):
    graph = sample_graphs()["grid"]
    resolved = solved(host_device, variant, graph, 0, **parameters)[0].resolved
    expected = graph.n_arcs // 2 * bytes_per_edge + graph.n_vertices * bytes_per_vertex
    assert resolved["bytes_per_phase"] == expected
    assert resolved["block"] == 1 << 14


def caterpillar():
    """Rows of 0 to 5,000 arcs: tiles end within rows, between them and in empty ones."""
    rng = np.random.default_rng(8)
    n = 6000
    heads = np.concatenate(
        [np.repeat([0, 17, 2500, n - 1], [5000, 3577, 1791, 1793]), rng.integers(0, n, 900)]
    )
    tails = rng.integers(0, n, len(heads))
    tails[:40] = 0
    return Graph.from_arcs("caterpillar", n, tails, heads, rng.integers(0, 9, len(heads)), keep_parallel=True)


@pytest.mark.parametrize("least", [spmv_csr.MIN_WIDE, 0], ids=["32-bits", "64-bits"])
@pytest.mark.parametrize("rows", ["scalar", "vector", "merge"])
def test_rows_of_every_length_and_arcs_counted_in_32_or_64_bits(monkeypatch, device, rows, least):
    monkeypatch.setattr(spmv_csr, "MIN_WIDE", least)
    for graph in (caterpillar(), sample_graphs()["hub"]):
        solver, _ = solved(device, "spmv-csr", graph, 1, rows=rows)
        offsets = (4 if least else 8) * (graph.n_vertices + 1)
        assert solver.resolved["bytes_per_phase"] == 8 * graph.n_arcs + offsets + 8 * graph.n_vertices


def test_the_transpose_of_an_undirected_graph_is_itself(device):
    resident = ResidentGraph.upload(device, sample_graphs()["grid"])
    assert IncomingArcs.of(resident).tails is resident.targets


def test_a_matrix_too_wide_is_skipped_with_its_size(host_device):
    graph = sample_graphs()["hub"]
    with pytest.raises(Skipped, match=r"rows padded to 1026 arcs take 0\.00867 GB; limit_gb is 0\.005"):
        spmv_ell.Solver(ResidentGraph.upload(host_device, graph), spmv_ell.Parameters(limit_gb=0.005))
    solver, _ = solved(host_device, "spmv-ell", graph, 0, limit_gb=0.01)
    assert solver.resolved == {
        "limit_gb": 0.01,
        "bytes_per_phase": 8 * graph.n_arcs + 8 * graph.n_vertices,
    }
