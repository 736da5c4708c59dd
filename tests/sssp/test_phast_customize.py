"""New weights for a hierarchy: the same as a hierarchy built for these weights."""

import dataclasses
import itertools

import numpy as np
import pytest

from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.sssp.phast import _cch, _customize, _hierarchy
from relaxometer.problems.sssp.phast.phast import Parameters, Solver
from sample_graphs import reference_distances
from sssp.test_phast import archipelago, clique_among_islands, directed_grid, roads

UNREACHED = 2**32 - 1


def doubled():
    """Parallel arcs, opposite arcs of other weights, and loops; vertex 5 is on its own."""
    tails = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 0, 6, 7]
    heads = [1, 1, 1, 0, 2, 2, 3, 3, 2, 4, 3, 0, 4, 7, 6]
    weights = [5, 3, 9, 4, 1, 7, 2, 8, 6, 3, 3, 12, 1, 2, 0]
    return Graph.from_arcs("doubled", 8, tails, heads, weights, keep_parallel=True, keep_self_loops=True)


MAKE = [directed_grid, roads, archipelago, clique_among_islands, doubled]


def small(rng, n):
    return rng.integers(0, 40, n)


def large(rng, n):
    """Many ways are longer than 32 bits hold."""
    return rng.integers(2**29, MAX_WEIGHT + 1, n)


def mixed(rng, n):
    return rng.choice([0, 1, 7, 2**31, MAX_WEIGHT], n)


def zero(rng, n):
    return np.zeros(n)


def maximal(rng, n):
    return np.full(n, MAX_WEIGHT)


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


def assert_as_built(solver, graph, tasks):
    """Compare all lengths and their copies with a hierarchy that the host built for the graph's weights."""
    cch = _cch.contract(graph, 16.0)
    middle = [k for k in [solver.resolved["middle"]] if k]
    built = _hierarchy.build(graph, tasks, 16.0, middle=middle)
    customizer = solver._customizer
    lengths = solver._graph.device.asnumpy(customizer.lengths).reshape(-1, 2)
    np.testing.assert_array_equal(lengths[:, 0], cch.upward)
    np.testing.assert_array_equal(lengths[:, 1], cch.downward)
    expected = {"inside": built.inside.arcs, "outside": built.outside.arcs, "up_arcs": built.up_arcs}
    for name, copy in customizer.copies.items():
        np.testing.assert_array_equal(solver._graph.device.asnumpy(copy), expected[name], err_msg=name)


def assert_solves(solver, device, graph, sources):
    """Compare answers with a reference, unless a path is too long; all hold or admit that."""
    resident = ResidentGraph.upload(device, graph)
    fresh = Solver(resident, Parameters())
    for source in sources:
        answer, other = solver.solve(source), fresh.solve(source)
        np.testing.assert_array_equal(device.asnumpy(answer.distance), device.asnumpy(other.distance))
        assert answer.overflowed == other.overflowed
        if not answer.overflowed:
            expected = reference_distances(graph, source)
            np.testing.assert_array_equal(device.asnumpy(answer.distance), expected)
            certificate = SsspCertifier(resident).check(source, answer.distance, answer.predecessor)
            assert certificate.holds, certificate.reason


@pytest.mark.parametrize("kind", [small, large, mixed, zero, maximal])
@pytest.mark.parametrize("make", MAKE)
def test_new_weights_are_as_in_a_hierarchy_built_for_them(device, make, kind):
    graph = make()
    solver = solver_of(device, graph)
    assert_as_built(solver, graph, 3)
    other = changed(graph, draw(kind, graph))
    solver.customize(other.weights)
    assert_as_built(solver, other, 3)
    assert_solves(solver, device, other, [0, graph.n_vertices - 1])


@pytest.mark.parametrize("tasks", [1, 20])
def test_weights_change_again_and_return(device, tasks):
    graph = directed_grid()
    solver = solver_of(device, graph, tasks)
    for kind in (small, zero, mixed):
        other = changed(graph, draw(kind, graph))
        solver.customize(device.asarray(other.weights))
        assert_as_built(solver, other, tasks)
        assert_solves(solver, device, other, [17])
    solver.customize(graph.weights)
    assert_as_built(solver, graph, tasks)
    assert_solves(solver, device, graph, [17, 300])


@pytest.mark.parametrize("seed", [1, 2])
def test_lengths_do_not_depend_on_the_order_of_threads(seed):
    graph = roads()
    solver = solver_of(get_device("host", order_seed=seed), graph)
    other = changed(graph, draw(mixed, graph))
    solver.customize(other.weights)
    assert_as_built(solver, other, 3)


@pytest.mark.parametrize(("n", "arcs"), [(1, []), (100, []), (2, [(0, 1, 7)]), (3, [(1, 1, 0), (1, 2, 4)])])
def test_tiny_graphs(device, n, arcs):
    columns = np.array(arcs, dtype=np.int64).reshape(-1, 3).T
    graph = Graph.from_arcs("tiny", n, *columns, keep_self_loops=True)
    solver = solver_of(device, graph, 1)
    other = changed(graph, graph.weights + np.uint32(5))
    solver.customize(other.weights)
    assert_as_built(solver, other, 1)
    assert_solves(solver, device, other, range(min(n, 3)))


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


@pytest.mark.parametrize("low_levels", [1, 4, 1000])
@pytest.mark.parametrize("make", [directed_grid, roads, archipelago, doubled])
def test_every_triangle_is_followed_once_and_when_its_arcs_are_final(make, low_levels, monkeypatch):
    """Follow the schedule in plain Python, with the numbers of levels as lengths."""
    monkeypatch.setattr(_customize, "LOW_LEVELS", low_levels)
    cch = _cch.number(make(), 16.0)
    plan = _customize.schedule(cch)
    tail = np.repeat(np.arange(len(cch.order)), np.diff(cch.offsets))
    arc_of = {ends: arc for arc, ends in enumerate(zip(tail.tolist(), cch.up.tolist(), strict=True))}
    final = np.full(len(tail), -1)  # the step after which nothing lowers an arc
    seen = set()
    n_followed = 0

    def follow(arc, other, target, step):
        assert tail[arc] == tail[other]
        assert (tail[target], cch.up[target]) == (cch.up[arc], cch.up[other])
        assert final[arc] < step
        assert final[other] < step
        final[target] = max(final[target], step)
        assert (arc, other) not in seen
        seen.add((arc, other))

    assert (plan.n_low == len(plan.begins) - 1) == (len(plan.chains) == 0 == len(plan.chain_levels) - 1)
    for level, (begin, end) in enumerate(itertools.pairwise(plan.begins)):
        if level >= plan.n_low:
            for number in range(*plan.chain_levels[level - plan.n_low :][:2]):
                first, behind, rows, columns = plan.chains[number].tolist()
                matrix = {place: arc for arc, place in plan.chain_arcs[first:behind].tolist()}
                assert len(matrix) == behind - first
                assert max(matrix) < rows * columns <= _customize.MAX_CELLS
                for i, j in itertools.combinations(range(rows), 2):
                    for k in range(j + 1, columns):
                        ends = matrix.get(i * columns + j), matrix.get(i * columns + k)
                        if None not in ends:
                            follow(*ends, matrix[j * columns + k], 100 * level + i)
        for arc, first, count, _ in plan.fans[begin:end].tolist():
            for k in range(count):
                assert first + k == n_followed
                n_followed += 1
                target = arc_of[cch.up[arc], cch.up[arc + 1 + k]]
                follow(arc, arc + 1 + k, target, 100 * level + 99)
    assert n_followed == plan.n_triangles
    degree = np.diff(cch.offsets)
    assert len(seen) == (degree * (degree - 1) // 2).sum()


@pytest.mark.parametrize("make", [*MAKE, lambda: Graph.from_arcs("none", 3, [], [], [])])
def test_arcs_are_found_on_the_device(device, make):
    graph = make()
    customizer = solver_of(device, graph, 1)._customizer
    cch = _cch.number(graph, 16.0)
    plan = _customize.schedule(cch)
    rank = _cch.inverse(cch.order)
    tails = np.repeat(np.arange(len(cch.order)), np.diff(cch.offsets)).tolist()
    arc_of = {ends: arc for arc, ends in enumerate(zip(tails, cch.up.tolist(), strict=True))}

    def word(tail, head):
        if tail == head:
            return _customize.NO_WORD
        return 2 * arc_of[min(tail, head), max(tail, head)] + (tail > head)

    words = [word(*ends) for ends in zip(rank[graph.tails], rank[graph.targets], strict=True)]
    assert device.asnumpy(customizer.word_of).tolist() == words
    targets = [
        arc_of[cch.up[arc], cch.up[arc + 1 + k]]
        for arc, _, count, _ in plan.fans.tolist()
        for k in range(count)
    ]
    assert device.asnumpy(customizer.targets).tolist() == targets
