"""Bellman-Ford as a matrix-vector product: every mapping of rows, and any order of threads."""

import numpy as np
import pytest

from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp.bellman_ford import spmv_csr, spmv_ell
from relaxometer.problems.sssp.bellman_ford._arcs import IncomingArcs
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.variants import Skipped
from sample_graphs import reference_distances, reference_phases, sample_graphs

SETTINGS = [
    (spmv_csr, {"rows": "scalar"}),
    (spmv_csr, {"rows": "vector"}),
    (spmv_csr, {"rows": "merge"}),
    (spmv_ell, {}),
]


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


GRAPHS = [*sample_graphs().values(), caterpillar()]


def make(module, graph, device, **parameters):
    resident = ResidentGraph.upload(device, graph)
    return module.Solver(resident, module.Parameters(**parameters)), resident


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
@pytest.mark.parametrize(("module", "parameters"), SETTINGS, ids=str)
def test_answers_are_proven_and_phases_those_of_the_product(device, module, parameters, graph):
    solver, resident = make(module, graph, device, **parameters)
    source = int(graph.tails[0]) if graph.n_arcs else 0
    phases = []
    answer = solver.solve(source, phases)
    np.testing.assert_array_equal(device.asnumpy(answer.distance), reference_distances(graph, source))
    certificate = SsspCertifier(resident).check(source, answer.distance, answer.predecessor)
    assert certificate.holds, certificate.reason
    assert [phase.updated for phase in phases] == reference_phases(graph, source)
    assert {phase.relaxed_arcs for phase in phases} == {graph.n_arcs}
    assert answer.phases == len(phases)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("module", "parameters"), SETTINGS, ids=str)
def test_answers_do_not_depend_on_the_order_of_threads(module, parameters, seed):
    graph = caterpillar()
    plain = make(module, graph, get_device("host"), **parameters)[0].solve(3)
    answer = make(module, graph, get_device("host", order_seed=seed), **parameters)[0].solve(3)
    np.testing.assert_array_equal(answer.distance, plain.distance)
    np.testing.assert_array_equal(answer.predecessor, plain.predecessor)
    assert answer.phases == plain.phases


@pytest.mark.parametrize("rows", ["scalar", "vector", "merge"])
def test_arcs_may_be_counted_in_64_bits(monkeypatch, device, rows):
    monkeypatch.setattr(spmv_csr, "MIN_WIDE", 0)
    for graph in (caterpillar(), sample_graphs()["hub"]):
        solver, _ = make(spmv_csr, graph, device, rows=rows)
        answer = solver.solve(1)
        np.testing.assert_array_equal(device.asnumpy(answer.distance), reference_distances(graph, 1))
        assert solver.resolved["bytes_per_phase"] == 8 * graph.n_arcs + 8 * (graph.n_vertices + 1) + (
            8 * graph.n_vertices
        )


@pytest.mark.parametrize(("module", "parameters"), SETTINGS, ids=str)
def test_the_flag_may_be_read_every_few_phases(device, module, parameters):
    graph = sample_graphs()["detour"]
    solver, _ = make(module, graph, device, check_every=4, **parameters)
    answer = solver.solve(0)
    least = len(reference_phases(graph, 0))
    assert answer.phases == -(-least // 4) * 4
    np.testing.assert_array_equal(device.asnumpy(answer.distance), reference_distances(graph, 0))


@pytest.mark.parametrize(("module", "parameters"), SETTINGS, ids=str)
def test_overflow_differs_from_a_detour(device, module, parameters):
    too_far = Graph.from_arcs("too-far", 4, [0, 1, 2], [1, 2, 3], [MAX_WEIGHT, 1, 0])
    answer = make(module, too_far, device, **parameters)[0].solve(0)
    assert answer.overflowed
    assert device.asnumpy(answer.distance).tolist() == [0, MAX_WEIGHT, 2**32 - 1, 2**32 - 1]
    detour = Graph.from_arcs("detour", 3, [0, 1, 0], [1, 2, 2], [MAX_WEIGHT, 9, 5])
    answer = make(module, detour, device, **parameters)[0].solve(0)
    assert not answer.overflowed
    assert device.asnumpy(answer.distance).tolist() == [0, MAX_WEIGHT, 5]


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
        make(spmv_ell, graph, host_device, limit_gb=0.005)
    solver, _ = make(spmv_ell, graph, host_device, limit_gb=0.01)
    assert solver.resolved == {
        "limit_gb": 0.01,
        "check_every": 1,
        "bytes_per_phase": 8 * graph.n_arcs + 8 * graph.n_vertices,
    }
