"""Updates of a changing graph, compared with a full solve after every batch."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dominator_samples import (
    both_ways,
    graph_of,
    labelled,
    random_graph,
    reference_by_removal,
    rooted_graphs,
    semi_nca,
)
from relaxometer.core.errors import UserError
from relaxometer.device import DeviceOutOfMemory, get_device
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.dominators import _forest
from relaxometer.problems.dominators.incremental import _changing_arcs, _doubts, incremental
from relaxometer.problems.variants import load_solver


def solver_of(device, graph, **parameters):
    module = load_solver("dominators", "incremental")
    return module.Solver(ResidentGraph.upload(device, graph), module.Parameters(**parameters))


def arcs_of(graph: Graph) -> set[tuple[int, int]]:
    return set(zip(graph.tails.tolist(), graph.targets.tolist(), strict=True))


@st.composite
def histories(draw):
    """A graph, a root, and batches of arcs to add and of existing arcs to remove."""
    n = draw(st.integers(2, 9))
    vertex = st.integers(0, n - 1)
    arc = st.tuples(vertex, vertex)
    arcs = draw(st.sets(arc, min_size=n, max_size=3 * n))
    graph, now, batches = graph_of("drawn", n, sorted(arcs)), set(arcs), []
    for _ in range(draw(st.integers(1, 4))):
        removed = draw(st.sets(st.sampled_from(sorted(now)), max_size=4)) if now else set()
        added = draw(st.sets(arc, max_size=4))
        now = (now - removed) | added
        batches.append((sorted(added), sorted(removed)))
    return graph, draw(vertex), batches


@st.composite
def limits(draw):
    """Capacities that are met by small graphs, and the usual ones."""
    return {
        (_doubts, "CAPACITIES"): draw(st.sampled_from([(16,), _doubts.CAPACITIES])),
        (_doubts, "MAX_LOST"): draw(st.sampled_from([1, _doubts.MAX_LOST])),
        (_changing_arcs, "LEAST_SPARE"): draw(st.sampled_from([1, 3, _changing_arcs.LEAST_SPARE])),
        (_forest, "MOST_TOPS"): draw(st.sampled_from([0, 1])),
        (incremental, "MOST_LEVELS"): draw(st.sampled_from([1, 2, incremental.MOST_LEVELS])),
    }


def limited_solver(limits, graph, share):
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in limits.items():
            patch.setattr(module, name, value)
        return solver_of(get_device("host"), graph, largest_share=share)


def follow(device, solver, graph, root, batches, kept=0):
    """Compare every answer with a full solve."""
    n, arcs = graph.n_vertices, arcs_of(graph)
    np.testing.assert_array_equal(device.asnumpy(solver.solve(root).idom), semi_nca(device, graph, root))
    for added, removed in batches:
        arcs = (arcs - set(removed)) | set(added)
        idom, now = device.asnumpy(solver.apply(added, removed).idom), graph_of("now", n, sorted(arcs))
        np.testing.assert_array_equal(idom, semi_nca(device, now, root))
        if n < 150:
            np.testing.assert_array_equal(idom, reference_by_removal(now, root))
        assert solver.kept >= kept


@given(history=histories(), share=st.sampled_from([0.0, 0.5, 1.0]), limits=limits())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_update_equals_a_full_solve(history, share, limits):
    follow(get_device("host"), limited_solver(limits, history[0], share), *history)


def grid_arcs(side):
    """The arcs of a square grid, both ways; vertex `side` * i + j is in row i and column j."""
    rows = [(v, v + 1) for v in range(side * side) if (v + 1) % side]
    return both_ways([*rows, *((v, v + side) for v in range(side * (side - 1)))])


@st.composite
def maps(draw):
    """A grid with gaps, both ways but for a few arcs, with chains and dead ends; and batches of changes."""
    side, rng = draw(st.integers(3, 12)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, streets = side * side, grid_arcs(side)
    open_streets = rng.random(len(streets) // 2) < rng.uniform(0.5, 1)
    arcs = {arc for arc in streets if open_streets[streets.index(tuple(sorted(arc))) // 2]}
    one_way = rng.random(len(arcs)) < 0.05
    arcs = {arc for arc, gone in zip(sorted(arcs), one_way, strict=True) if not gone} or {(0, 1)}
    graph, now, batches = graph_of("map", n, sorted(arcs)), set(arcs), []
    for _ in range(draw(st.integers(1, 5))):
        gone = rng.permutation(sorted(now))[: int(rng.integers(0, 7))].tolist()
        back = rng.permutation(streets)[: int(rng.integers(0, 4))].tolist() if rng.random() < 0.5 else []
        removed, added = {tuple(arc) for arc in gone}, {tuple(arc) for arc in back}
        now = (now - removed) | added
        batches.append((sorted(added), sorted(removed)))
    return graph, int(rng.integers(n)), batches


@given(history=maps(), limits=limits())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_maps_equal_a_full_solve(history, limits):
    follow(get_device("host"), limited_solver(limits, history[0], 1.0), *history)


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_a_long_history_of_a_larger_graph(device, share):
    rng, n = np.random.default_rng(3), 400
    graph = random_graph(rng, n, 900)
    now, batches = arcs_of(graph), []
    for _ in range(15):
        listed = np.array(sorted(now))
        removed = {tuple(arc) for arc in listed[rng.random(len(listed)) < 0.01].tolist()}
        added = {tuple(arc) for arc in rng.integers(0, n, (int(rng.integers(0, 12)), 2)).tolist()}
        now = (now - removed) | added
        batches.append((sorted(added), sorted(removed)))
    follow(device, solver_of(device, graph, largest_share=share), graph, 5, batches)


def small(arcs, *batches, kept=0):
    """A graph of vertices A to H, batches like "+AB -CD", and how many vertices at least are kept."""

    def chosen(batch, sign):
        return labelled(" ".join(one[1:] for one in batch.split() if one[0] == sign), "ABCDEFGH")

    changes = [(chosen(batch, "+"), chosen(batch, "-")) for batch in batches]
    return graph_of("small", 8, labelled(arcs, "ABCDEFGH")), changes, kept


STREETS = [(0, 1), *((v, v + 1) for v in range(1, 50)), (0, 51), *((v, v + 1) for v in range(51, 100))]
TWO_GRIDS = [*grid_arcs(5), *((u + 25, w + 25) for u, w in grid_arcs(5)), (24, 25), (25, 24)]

HISTORIES = {
    # Vertex 95 dominated 98; the vertices below 95, 96 to 100, are searched again.
    "two streets": (graph_of("streets", 101, [*STREETS, (95, 98)]), [([], [(95, 98)])], 101 - 5),
    "additions": (rooted_graphs()["deep-tree"], [([(0, 300)], [])], 600),
    "the dominator keeps an arc": small("AB BC AC CD DE EC", "-BC -EC", kept=5),
    "a root without arcs": (graph_of("grid", 9, grid_arcs(3)), [([], [(0, 1), (0, 3)])], 0),
    # Without A -> B vertices B and F become unreachable, and all paths to E pass D.
    "lost arcs count as removed": small("AB AC CD DE BF FE", "-AB"),
    # A detour of the first pass passes B, which the batch cuts off; the second pass must do without.
    "a detour by an unreached vertex": small("AB AC BD BE ED CF FD DG", "-BD -AB"),
    # When C -> D is gone, no laid out arc enters D, but it is still reached by the new B -> D.
    "a way in by a spare slot is no detour": small("AB AC CD", "+BD -CD", "+CD", "-CD"),
    # Vertex D moves from behind B to behind E, which becomes the only way to F.
    "a new detour avoids the old dominator": small("AB BD AE EF DF ED", "-ED", "+ED -BD"),
    # Vertex C stays reached, but from D, which therefore has no other way in than E.
    "a head is reached again by a new arc": small("AB BC CD AE ED", "+DC -BC"),
    # Without A -> B vertex B is unreached, and one of two paths to D is gone.
    "an unreached vertex loses its arcs": small("AB AC BD CD DE", "-AB", "+EB"),
    "no arcs": small("", "+CD", "+AB", "-AB", "+AC"),
    # Behind the bridge nothing is reached, and the near grid stays as it was.
    "a bridge": (graph_of("grids", 50, TWO_GRIDS), [([], [(24, 25)]), ([(24, 25)], [])], 0),
    # Nearly all vertices of this grid of 400 are children of the root in the dominator tree.
    "a map": (
        graph_of("map", 400, grid_arcs(20)),
        [([], [arc]) for arc in [(399, 398), (398, 397), (379, 399), (210, 211)]],
        351,
    ),
}
"""A graph, batches of arcs added and removed, and how many reached vertices at least keep their place."""


@pytest.mark.parametrize("most_lost", [_doubts.MAX_LOST, 1])
@pytest.mark.parametrize("name", HISTORIES)
def test_histories_equal_a_full_solve(device, monkeypatch, name, most_lost):
    monkeypatch.setattr(_doubts, "MAX_LOST", most_lost)
    graph, batches, kept = HISTORIES[name]
    solver = solver_of(device, graph, largest_share=1.0)
    follow(device, solver, graph, 0, batches, kept if most_lost > 1 else 0)
    np.testing.assert_array_equal(device.asnumpy(solver.solve(0).idom), semi_nca(device, graph, 0))


def forbid_searches(solver, monkeypatch):
    def searched(*arguments):
        raise AssertionError("a search")

    monkeypatch.setattr(solver._search, "go_on", searched)
    monkeypatch.setattr(solver._search, "goes_on_within", searched)


@pytest.mark.parametrize(
    "arc",
    [
        pytest.param((13, 12), id="two detours without a common vertex"),
        pytest.param((1, 0), id="into the root"),
        pytest.param((7, 7), id="loop"),
    ],
)
def test_a_removal_that_changes_nothing_searches_nothing(device, monkeypatch, arc):
    """None of these arcs is in a breadth-first tree from the corner 0: they lead back to it."""
    streets = sorted({*grid_arcs(5), (7, 7)})
    solver = solver_of(device, graph_of("grid", 25, streets))
    before = device.asnumpy(solver.solve(0).idom)
    forbid_searches(solver, monkeypatch)
    answer = solver.apply(removed=[arc])
    assert (solver.kept, answer.phases) == (25, 0)
    np.testing.assert_array_equal(device.asnumpy(answer.idom), before)
    again = solver.apply(added=[(0, 1)], removed=[(0, 1)])
    np.testing.assert_array_equal(device.asnumpy(again.idom), before)
    with pytest.raises(UserError, match=f"removed: {arc[0]} -> {arc[1]} is not an arc"):
        solver.apply(removed=[arc])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"removed": [(0, 3)]}, "removed: 0 -> 3 is not an arc of the graph"),
        ({"removed": [(4, 0)]}, "removed: 4 -> 0 is not an arc of the graph"),
        ({"added": [(0, 5)]}, "added: 5 is not a vertex; expected 0 to 4"),
        ({"added": [(-1, 0)]}, "added: -1 is not a vertex; expected 0 to 4"),
        ({"added": [(0.5, 1)]}, "added: ends of arcs must be integers, not float64"),
        ({"added": [[0, 1, 2], [3, 4, 1]]}, r"added: expected a row per arc, .*; the shape is \(2, 3\)"),
        ({"removed": [0, 1, 2]}, r"removed: expected a row per arc, .*; the shape is \(3,\)"),
        ({"added": [0, 1]}, r"added: expected a row per arc, .*; the shape is \(2,\)"),
        ({"added": [(0, 1), (2,)]}, "added: expected a row per arc, its tail and its head"),
    ],
)
def test_invalid_changes_are_refused_without_effect(device, change, message):
    graph = rooted_graphs()["of-the-paper"]
    solver = solver_of(device, graph)
    solver.solve(0)
    with pytest.raises(UserError, match=message):
        solver.apply(**change)
    np.testing.assert_array_equal(device.asnumpy(solver.apply().idom), [0, 0, 0, 0, 3])


def test_an_update_needs_an_answer(device):
    solver = solver_of(device, graph_of("an-arc", 2, [(0, 1)]))
    with pytest.raises(UserError, match="call solve before apply"):
        solver.apply(removed=[(0, 1)])


@pytest.mark.parametrize("step", ["remove", "add", "_search_again", "_finish"])
def test_after_an_update_that_failed_a_solve_is_needed(host_device, monkeypatch, step):
    streets = sorted(grid_arcs(4))
    graph = graph_of("grid", 16, streets)
    solver = solver_of(host_device, graph)
    expected = semi_nca(host_device, graph, 0)
    solver.solve(0)

    def full(*args, **kwargs):
        raise DeviceOutOfMemory("full")

    monkeypatch.setattr(solver._arcs if step in ("remove", "add") else solver, step, full)
    with pytest.raises(DeviceOutOfMemory):
        solver.apply(added=[(0, 15)], removed=[(0, 1), (1, 2)])
    monkeypatch.undo()
    with pytest.raises(UserError, match="call solve before apply"):
        solver.apply(added=[(0, 15)])
    np.testing.assert_array_equal(solver.solve(0).idom, expected)
    follow(host_device, solver, graph, 0, [([(0, 15)], [(0, 1)])])


def test_a_layout_that_failed_is_made_again(host_device, monkeypatch):
    monkeypatch.setattr(_changing_arcs, "LEAST_SPARE", 1)
    monkeypatch.setattr(_changing_arcs, "SPARE_SHARE", 1000)
    graph = graph_of("path", 16, [(v, v + 1) for v in range(15)])
    solver = solver_of(host_device, graph)
    solver.solve(0)

    def full(*args, **kwargs):
        raise DeviceOutOfMemory("full")

    monkeypatch.setattr(_changing_arcs.ChangingArcs, "_offsets", full)
    with pytest.raises(DeviceOutOfMemory):
        solver.apply(added=[(0, 15), (0, 10)])
    monkeypatch.undo()
    follow(host_device, solver, graph, 0, [([(0, 15), (0, 10)], [(0, 1)])])
