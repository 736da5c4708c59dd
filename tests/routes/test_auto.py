"""The choice between labels and climbs, by the number of pairs and the memory."""

import pytest

from relaxometer.problems.routes import _contracted, auto, labels
from route_samples import random_queries
from routes.test_variants import check, even, solver_for


@pytest.mark.parametrize(
    ("searches", "free", "chosen"),
    [
        (auto.PAYS_AFTER - 1, 2**40, "hierarchy"),
        (auto.PAYS_AFTER, 2**40, "labels"),
        (auto.PAYS_AFTER, 100, "hierarchy"),
    ],
    ids=["few", "many", "no memory"],
)
def test_labels_are_for_many_pairs_if_they_fit(monkeypatch, device, searches, free, chosen):
    calls = []
    number = _contracted._maps.refuse_all_but_maps
    monkeypatch.setattr(_contracted._maps, "refuse_all_but_maps", lambda graph: calls.append(number(graph)))
    monkeypatch.setattr(labels, "_free_bytes", lambda _: free)
    graph = even(3)
    resident, solver = solver_for(device, graph, "auto", searches=searches)
    assert solver.resolved["chosen"] == chosen
    assert ("hierarchy needs none" in solver.resolved["because"]) == (free == 100)
    assert len(calls) == 1, "the map is contracted once"
    check(resident, solver, [random_queries(graph, 20, paths=True)])
    assert hasattr(solver, "customize") == (chosen == "labels")
