"""The variant that chooses."""

import numpy as np
import pytest

from dominator_samples import graph_of, random_batch, rooted_graphs, semi_nca
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems.dominators import auto
from relaxometer.problems.dominators.cpu import cooper_harvey_kennedy


def solver_of(resident, **parameters):
    return auto.Solver(resident, auto.Parameters(**parameters))


STAR = Graph.from_arcs("star", 4, [0, 0, 0], [1, 2, 3], [1, 1, 1])
LIMITS = ("SMALL_GRAPH", "SMALL_GRAPH_FROM_HOST", "SMALL_SEARCHED_FROM_HOST")


@pytest.mark.parametrize("host_to_host", [False, True])
@pytest.mark.parametrize(
    ("graph", "most", "chosen", "because"),
    [
        (rooted_graphs()["grid"], 2048, "semi-nca", "323 vertices"),
        (rooted_graphs()["ladder"], 2048, "cooper-harvey-kennedy", "803 vertices"),
        (rooted_graphs()["grid"], 100, "biconnected", "sampled arcs lead both ways"),
        (rooted_graphs()["ladder"], 100, "iterative-tree", "an arc leads one way"),
        (STAR, 2, "iterative-tree", "an arc leads one way"),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_the_choice_for_a_graph(device, monkeypatch, graph, most, chosen, because, host_to_host):
    for limit in LIMITS:
        monkeypatch.setattr(auto, limit, most)
    solver = solver_of(ResidentGraph.upload(device, graph), host_to_host=host_to_host)
    assert solver.resolved["chosen"] == chosen
    assert host_to_host or solver.resolved["because"] == because
    assert solver.ends_on_host == (host_to_host or most == 2048)
    for root in (0, 3):
        idom = solver.solve(root).idom
        assert not host_to_host or isinstance(idom, np.ndarray)
        np.testing.assert_array_equal(device.asnumpy(device.asarray(idom)), semi_nca(device, graph, root))


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (rooted_graphs()["ladder"], "802 arcs lead one way, and not all at one vertex"),
        (STAR, "3 arcs lead one way"),
    ],
    ids=lambda value: getattr(value, "name", "why"),
)
def test_arcs_that_are_not_sampled_are_counted(device, monkeypatch, graph, reason):
    monkeypatch.setattr(auto, "SMALL_GRAPH", 2)
    resident = ResidentGraph.upload(device, graph)
    vars(resident)["features"] = resident.features._replace(one_way=0, depth=1000)
    resolved = solver_of(resident).resolved
    because = f"sampled arcs lead both ways, but not for biconnected: {reason}"
    assert (resolved["chosen"], resolved["because"]) == ("iterative-tree", because)


def test_sweeps_are_fast_on_dense_graphs(device):
    n = 12
    graph = graph_of("complete", n, [(u, v) for u in range(n) for v in range(n) if u != v])
    solver = solver_of(ResidentGraph.upload(device, graph))
    assert solver.resolved["chosen"] == "cooper-harvey-kennedy"
    assert not solver.solve(0).idom.any()


@pytest.mark.parametrize(("most", "chosen"), [(1024, "batch-warp"), (10**9, "cooper-harvey-kennedy")])
def test_the_choice_for_a_batch(device, monkeypatch, most, chosen):
    monkeypatch.setattr(auto, "SMALL_BATCH", most)
    resident = ResidentBatch.upload(device, random_batch())
    solver = solver_of(resident)
    assert solver.resolved["chosen"] == chosen
    assert solver.resolved["because"] == f"{random_batch().n_vertices:,} vertices in a batch"
    idom = device.asnumpy(device.asarray(solver.solve().idom))
    one_core = cooper_harvey_kennedy.Solver(resident, cooper_harvey_kennedy.Parameters())
    np.testing.assert_array_equal(idom, one_core.solve().idom)


@pytest.mark.parametrize(
    "dear", [["ALL_CORES", "FEW_GRAPHS", "UPLOADED"], ["ONE_CORE", "UPLOADED"], ["ALL_CORES", "ONE_CORE"]]
)
def test_a_batch_from_host_to_host(device, monkeypatch, dear):
    """The way of least expected cost is taken."""
    for name in dear:
        monkeypatch.setattr(auto, name, auto.Cost(1e6, 0))
    solver = solver_of(ResidentBatch.upload(device, random_batch()), host_to_host=True)
    on_gpu = "ALL_CORES" in dear and "ONE_CORE" in dear
    assert solver.resolved["chosen"] == ("batch-warp" if on_gpu else "cooper-harvey-kennedy")
    assert solver.resolved["because"].startswith("expected one core")
    one_core = solver_of(ResidentBatch.upload(device, random_batch()))
    expected = device.asnumpy(device.asarray(one_core.solve().idom))
    np.testing.assert_array_equal(solver.solve().idom, expected)


def test_a_machine_of_one_core_has_no_others_to_choose():
    assert list(auto.costs_from_host(30, 16, few=True)) == ["one core", "16 cores", "GPU"]
    assert list(auto.costs_from_host(30, 1, few=True)) == ["one core", "GPU"]
