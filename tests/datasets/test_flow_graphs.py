"""Generated flow graphs: reachability from the root, and their shapes."""

import numpy as np
import pytest

from dominator_samples import reference_by_removal
from relaxometer.core.errors import UserError
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.registry import Dataset


def made(form, seed=None, **parameters):
    return build_graph("made", Dataset(format=form, seed=seed, parameters=parameters), files=[])


@pytest.mark.parametrize("n", [1, 2, 5, 300])
def test_the_root_of_a_random_flow_graph_reaches_all(n):
    graph = made("flow-random", 3, vertices=n)
    assert graph.n_vertices == n
    assert (reference_by_removal(graph, 0) != 2**32 - 1).all()
    assert graph.metadata["search_keys"] == [0]


def test_arcs_of_a_random_flow_graph_lead_where_they_should():
    graph = made("flow-random", 1, vertices=5000, branches=1, loops=0.5, gotos=0, reach=20)
    steps = graph.targets.astype(int) - graph.tails.astype(int)
    assert steps.min() == -20
    assert steps.max() == 20
    assert ((steps > 0).sum(), (steps < 0).sum()) == (
        pytest.approx(10_000, rel=0.2),
        pytest.approx(2500, rel=0.2),
    )


def test_gotos_lead_anywhere():
    graph = made("flow-random", 1, vertices=5000, branches=0, loops=0, gotos=0.2)
    steps = graph.targets.astype(int) - graph.tails.astype(int)
    assert (np.abs(steps) > 1000).sum() > 400


def test_the_order_of_a_flow_graph_can_be_spoilt():
    parameters = {"vertices": 500, "gotos": 0, "reach": 4}
    whole, spoilt = (
        made("flow-random", 1, **parameters),
        made("flow-random", 1, **parameters, without_order=True),
    )
    assert spoilt.n_arcs == whole.n_arcs - 1
    later = set(range(1, 500)) - set(spoilt.targets[spoilt.tails < spoilt.targets].tolist())
    assert len(later) == 1, "one vertex has no predecessor before it"
    assert (reference_by_removal(spoilt, 0) != 2**32 - 1).all()


def test_an_order_that_no_arc_spoils_is_one_line():
    with pytest.raises(UserError, match=r"^without_order: no arc found[^\n]*$"):
        made("flow-random", 1, vertices=3, loops=0, gotos=0, without_order=True)


@pytest.mark.parametrize("closed", [False, True])
def test_only_the_root_dominates_a_ladder(closed):
    graph = made("ladder", rungs=30, closed=closed)
    assert graph.n_vertices == 61
    assert not reference_by_removal(graph, 0).any()
    if closed:
        np.testing.assert_array_equal(graph.degrees, 2)


def test_listed_arcs_are_taken_as_they_are():
    graph = made("listed-arcs", vertices=3, arcs=[[2, 0], [0, 1]])
    assert graph.offsets.tolist() == [0, 1, 1, 2]
    assert graph.targets.tolist() == [1, 0]
    with pytest.raises(UserError, match="head of arc 0 is 3"):
        made("listed-arcs", vertices=3, arcs=[[0, 3]])
