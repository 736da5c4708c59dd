"""Bellman-Ford as a matrix-vector product: rows of every length, incoming arcs, and their memory."""

import numpy as np
import pytest

from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp.bellman_ford import spmv_csr, spmv_ell
from relaxometer.problems.sssp.bellman_ford._arcs import IncomingArcs
from relaxometer.problems.variants import Skipped
from sample_graphs import sample_graphs
from sssp.searches import solved


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


def test_the_transpose_of_a_directed_graph(device):
    graph = sample_graphs()["random-directed"]
    arcs = IncomingArcs.of(ResidentGraph.upload(device, graph))
    rows = zip(graph.targets.tolist(), graph.tails.tolist(), graph.weights.tolist(), strict=True)
    heads = np.repeat(np.arange(graph.n_vertices), np.diff(device.asnumpy(arcs.offsets)))
    tails, weights = device.asnumpy(arcs.tails).tolist(), device.asnumpy(arcs.weights).tolist()
    assert list(zip(heads.tolist(), tails, weights, strict=True)) == sorted(rows)


def test_a_matrix_too_wide_is_skipped_with_its_size(host_device):
    graph = sample_graphs()["hub"]
    with pytest.raises(Skipped, match=r"rows padded to 1026 arcs take 0\.00867 GB; limit_gb is 0\.005"):
        spmv_ell.Solver(ResidentGraph.upload(host_device, graph), spmv_ell.Parameters(limit_gb=0.005))
    solver, _ = solved(host_device, "spmv-ell", graph, 0, limit_gb=0.01)
    assert solver.resolved == {
        "limit_gb": 0.01,
        "check_every": 1,
        "bytes_per_phase": 8 * graph.n_arcs + 8 * graph.n_vertices,
    }
