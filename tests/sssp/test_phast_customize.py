"""New weights for a hierarchy: the same as a hierarchy built for these weights."""

import dataclasses
from functools import partial

import numpy as np
import pytest

from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp.phast import _cch, _customize
from relaxometer.problems.sssp.phast.phast import Parameters, Solver
from sssp.searches import proven
from sssp.test_phast import archipelago, clique_among_islands, directed_grid, roads

UNREACHED = 2**32 - 1


def doubled():
    """Parallel arcs, opposite arcs of other weights, and loops; vertex 5 is on its own."""
    tails = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 0, 6, 7]
    heads = [1, 1, 1, 0, 2, 2, 3, 3, 2, 4, 3, 0, 4, 7, 6]
    weights = [5, 3, 9, 4, 1, 7, 2, 8, 6, 3, 3, 12, 1, 2, 0]
    return Graph.from_arcs("doubled", 8, tails, heads, weights, keep_parallel=True, keep_self_loops=True)


def tiny(n, *arcs):
    columns = np.array(arcs, dtype=np.int64).reshape(-1, 3).T
    return Graph.from_arcs("tiny", n, *columns, keep_self_loops=True)


MAKE = [
    *(directed_grid, roads, archipelago, doubled),
    *(partial(tiny, 1), partial(tiny, 100), partial(tiny, 3, (1, 1, 0), (1, 2, 4))),
]


def small(rng, n):
    return rng.integers(0, 40, n)


def large(rng, n):
    """Many ways are longer than 32 bits hold."""
    return rng.integers(2**29, MAX_WEIGHT + 1, n)


def mixed(rng, n):
    return rng.choice([0, 1, 7, 2**31, MAX_WEIGHT], n)


def zero(rng, n):
    return np.zeros(n)


@pytest.fixture(autouse=True)
def low(monkeypatch):
    """Let small hierarchies have levels of chains."""
    monkeypatch.setattr(_customize, "LOW_LEVELS", 4)


def draw(kind, graph, seed=5):
    return kind(np.random.default_rng(seed), graph.n_arcs).astype(np.uint32)


def changed(graph, weights):
    return dataclasses.replace(graph, weights=weights)


def solver_of(device, graph, tasks=3):
    return Solver(ResidentGraph.upload(device, graph), Parameters(tasks=tasks))


def assert_as_built(solver, graph):
    """Compare all lengths and their copies with those of a hierarchy that the host built for the weights."""
    cch = _cch.contract(graph, 16.0)
    device, customizer = solver._graph.device, solver._customizer
    lengths = device.asnumpy(customizer.lengths).reshape(-1, 2)
    np.testing.assert_array_equal(lengths[:, 0], cch.upward)
    np.testing.assert_array_equal(lengths[:, 1], cch.downward)
    placed = solver._placed
    upward, downward = (device.asnumpy(one) for one in (placed.up_place, placed.down_place))
    inside, outside, up_arcs = (device.asnumpy(one).ravel() for one in customizer.copies.values())
    np.testing.assert_array_equal(up_arcs[upward], cch.upward)
    np.testing.assert_array_equal(np.concatenate([inside, outside])[downward], cch.downward)


def assert_solves(solver, device, graph, sources):
    """Prove answers; where a path is too long, they leave out what a plain search does."""
    resident = ResidentGraph.upload(device, graph)
    for source in sources:
        proven(solver, resident, source)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        *((make, kind) for make in MAKE for kind in (mixed, zero)),
        (roads, large),
        (clique_among_islands, mixed),
    ],
)
def test_new_weights_are_as_in_a_hierarchy_built_for_them(device, make, kind):
    graph = make()
    solver = solver_of(device, graph)
    assert_as_built(solver, graph)
    other = changed(graph, draw(kind, graph))
    solver.customize(other.weights)
    assert_as_built(solver, other)
    assert_solves(solver, device, other, [0, graph.n_vertices - 1])


@pytest.mark.parametrize("tasks", [1, 20])
def test_weights_change_again_and_return(device, tasks):
    graph = directed_grid()
    solver = solver_of(device, graph, tasks)
    for kind in (small, zero, mixed):
        other = changed(graph, draw(kind, graph))
        solver.customize(device.asarray(other.weights))
        assert_as_built(solver, other)
        assert_solves(solver, device, other, [17])
    solver.customize(graph.weights)
    assert_as_built(solver, graph)
    assert_solves(solver, device, graph, [17, 300])


@pytest.mark.parametrize("low_levels", [1, 1000])
@pytest.mark.parametrize("seed", [1, 2])
def test_lengths_do_not_depend_on_the_order_of_threads(seed, low_levels, monkeypatch):
    monkeypatch.setattr(_customize, "LOW_LEVELS", low_levels)
    graph = roads()
    solver = solver_of(get_device("host", order_seed=seed), graph)
    other = changed(graph, draw(mixed, graph))
    solver.customize(other.weights)
    assert_as_built(solver, other)


def test_the_given_array_and_the_graph_stay_the_callers(device):
    graph = directed_grid(12)
    resident = ResidentGraph.upload(device, graph)
    before = graph.weights.copy()
    solver = Solver(resident, Parameters(tasks=3))
    other = changed(graph, draw(small, graph))
    given = device.asarray(other.weights.copy())
    solver.customize(given)
    given[...] = 1
    assert_solves(solver, device, other, [0, 77])
    np.testing.assert_array_equal(device.asnumpy(resident.weights), before)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda weights: weights[:-1], "one for each of 972 arcs; given uint32 of shape"),
        (lambda weights: weights.astype(np.int64), "given int64"),
        (
            lambda weights: np.where(np.arange(len(weights)) == 9, UNREACHED, weights).astype(np.uint32),
            "not one",
        ),
    ],
)
def test_weights_that_do_not_fit_change_nothing(device, spoil, message):
    graph = directed_grid(17)
    solver = solver_of(device, graph)
    with pytest.raises(ValueError, match=message):
        solver.customize(spoil(graph.weights))
    assert_solves(solver, device, graph, [0, 100])


def test_the_parts_of_a_customization_are_timed(device):
    graph = directed_grid()
    solver = solver_of(device, graph)
    times_ms = []
    solver._customizer.customize(solver._graph.weights, times_ms)
    assert len(times_ms) == solver._customizer.resolved["customization_levels"] + 2 > 6
    assert sum(times_ms) > 0
    assert min(times_ms) >= 0
