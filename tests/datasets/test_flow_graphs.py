"""Generated flow graphs: reachability from the root, and their shapes."""

import numpy as np
import pytest

from built import built, refusal
from dominator_samples import reference_by_removal


def steps(seed, **parameters):
    """Return how far the arcs of a random flow graph lead."""
    graph = built("flow-random", seed=seed, vertices=5000, **parameters)
    return graph.targets.astype(int) - graph.tails.astype(int)


@pytest.mark.parametrize("n", [1, 2, 5, 300])
def test_the_root_of_a_random_flow_graph_reaches_all(n):
    graph = built("flow-random", seed=3, vertices=n)
    assert graph.n_vertices == n
    assert (reference_by_removal(graph, 0) != 2**32 - 1).all()
    assert graph.metadata["search_keys"] == [0]


def test_arcs_of_a_random_flow_graph_lead_where_they_should():
    found = steps(1, branches=1, loops=0.5, gotos=0, reach=20)
    assert (found.min(), found.max()) == (-20, 20)
    assert (found > 0).sum() == pytest.approx(10_000, rel=0.2)
    assert (found < 0).sum() == pytest.approx(2500, rel=0.2)
    gotos = steps(1, branches=0, loops=0, gotos=0.2)
    assert (np.abs(gotos) > 1000).sum() > 400, "gotos lead anywhere"


def test_the_order_of_a_flow_graph_can_be_spoilt():
    parameters = {"seed": 1, "vertices": 500, "gotos": 0, "reach": 4}
    whole, spoilt = (built("flow-random", **parameters, without_order=spoil) for spoil in (False, True))
    assert spoilt.n_arcs == whole.n_arcs - 1
    later = set(range(1, 500)) - set(spoilt.targets[spoilt.tails < spoilt.targets].tolist())
    assert len(later) == 1, "one vertex has no predecessor before it"
    assert (reference_by_removal(spoilt, 0) != 2**32 - 1).all()
    nothing = {"seed": 1, "vertices": 3, "loops": 0, "gotos": 0, "without_order": True}
    assert refusal(built, "flow-random", **nothing).startswith("without_order: no arc found")


@pytest.mark.parametrize("closed", [False, True])
def test_only_the_root_dominates_a_ladder(closed):
    graph = built("ladder", rungs=30, closed=closed)
    assert graph.n_vertices == 61
    assert not reference_by_removal(graph, 0).any()
    if closed:
        np.testing.assert_array_equal(graph.degrees, 2)


def test_listed_arcs_are_taken_as_they_are():
    graph = built("listed-arcs", vertices=3, arcs=[[2, 0], [0, 1]])
    assert graph.offsets.tolist() == [0, 1, 1, 2]
    assert graph.targets.tolist() == [1, 0]
    assert "head of arc 0 is 3" in refusal(built, "listed-arcs", vertices=3, arcs=[[0, 3]])
