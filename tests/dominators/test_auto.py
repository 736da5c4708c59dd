"""The variant that chooses."""

import numpy as np
import pytest

from dominator_samples import random_batch, rooted_graphs, semi_nca
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems.dominators import auto
from relaxometer.problems.dominators.cpu import cooper_harvey_kennedy


def solver_of(resident):
    return auto.Solver(resident, auto.Parameters())


@pytest.mark.parametrize(
    ("name", "most", "chosen", "because"),
    [
        ("grid", 2048, "cooper-harvey-kennedy", "323 vertices"),
        ("grid", 100, "biconnected", "all arcs lead both ways"),
        ("ladder", 100, "iterative-tree", "802 arcs lead one way, and not all at one vertex"),
        ("star", 2, "iterative-tree", "3 arcs lead one way"),
    ],
)
def test_the_choice_for_a_graph(device, monkeypatch, name, most, chosen, because):
    monkeypatch.setattr(auto, "SMALL_GRAPH", most)
    star = Graph.from_arcs("star", 4, [0, 0, 0], [1, 2, 3], [1, 1, 1])
    graph = {**rooted_graphs(), "star": star}[name]
    solver = solver_of(ResidentGraph.upload(device, graph))
    assert (solver.resolved["chosen"], solver.resolved["because"]) == (chosen, because)
    for root in (0, 3):
        idom = device.asnumpy(device.asarray(solver.solve(root).idom))
        np.testing.assert_array_equal(idom, semi_nca(device, graph, root))


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
