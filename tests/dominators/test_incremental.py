"""Updates of a changing graph, compared with a full solve after every batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dominator_samples import graph_of, random_graph, reference_by_removal, rooted_graphs, semi_nca
from relaxometer.core.errors import UserError
from relaxometer.device import get_device
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
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


@given(history=histories(), share=st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_update_equals_a_full_solve(history, share):
    graph, root, batches = history
    solver = solver_of(get_device("host"), graph, largest_share=share)
    arcs = arcs_of(graph)
    np.testing.assert_array_equal(solver.solve(root).idom, reference_by_removal(graph, root))
    for added, removed in batches:
        arcs = (arcs - set(removed)) | set(added)
        expected = reference_by_removal(graph_of("now", graph.n_vertices, sorted(arcs)), root)
        np.testing.assert_array_equal(solver.apply(added, removed).idom, expected)


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_a_long_history_of_a_larger_graph(device, share):
    rng = np.random.default_rng(3)
    n = 400
    graph = random_graph(rng, n, 900)
    arcs = arcs_of(graph)
    solver = solver_of(device, graph, largest_share=share)
    solver.solve(5)
    for _ in range(15):
        listed = np.array(sorted(arcs))
        removed = {tuple(arc) for arc in listed[rng.random(len(listed)) < 0.01].tolist()}
        added = {tuple(arc) for arc in rng.integers(0, n, (int(rng.integers(0, 12)), 2)).tolist()}
        arcs = (arcs - removed) | added
        idom = device.asnumpy(solver.apply(sorted(added), sorted(removed)).idom)
        np.testing.assert_array_equal(idom, semi_nca(device, graph_of("now", n, sorted(arcs)), 5))


def test_additions_keep_the_tree(device):
    solver = solver_of(device, rooted_graphs()["deep-tree"])
    solver.solve(0)
    solver.apply(added=[(0, 300)])
    assert solver.kept == 600


def test_a_removal_keeps_distant_vertices(device):
    """Two streets from the root: a change in one does not affect the other."""
    streets = [(0, 1), *((v, v + 1) for v in range(1, 50)), (0, 51), *((v, v + 1) for v in range(51, 100))]
    graph = graph_of("streets", 101, [*streets, (95, 98)])
    solver = solver_of(device, graph)
    solver.solve(0)
    idom = device.asnumpy(solver.apply(removed=[(95, 98)]).idom)
    # Vertex 95 dominated 98; the vertices below 95, 96 to 100, are searched again.
    assert solver.kept == 101 - 5
    assert idom[98] == 97


def test_a_removal_keeps_all_if_the_dominator_keeps_an_arc(device):
    graph = graph_of("bypass", 5, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 2)])
    solver = solver_of(device, graph)
    solver.solve(0)
    idom = device.asnumpy(solver.apply(removed=[(1, 2), (4, 2)]).idom)
    assert solver.kept == 5
    assert idom.tolist() == [0, 0, 0, 2, 3]


def test_an_unreached_vertex_loses_its_arcs(device):
    """Without 0 -> 1 vertex 1 is unreached, and one of two paths to 3 is gone."""
    graph = graph_of("lost", 5, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)])
    solver = solver_of(device, graph, largest_share=1.0)
    solver.solve(0)
    idom = device.asnumpy(solver.apply(removed=[(0, 1)]).idom)
    assert idom.tolist() == [0, 2**32 - 1, 0, 2, 3]
    idom = device.asnumpy(solver.apply(added=[(4, 1)]).idom)
    assert idom.tolist() == [0, 4, 0, 2, 3]


def test_solving_again_starts_from_the_initial_graph(device):
    graph = rooted_graphs()["irreducible"]
    solver = solver_of(device, graph)
    solver.solve(0)
    solver.apply(removed=[(0, 1)])
    np.testing.assert_array_equal(device.asnumpy(solver.solve(0).idom), reference_by_removal(graph, 0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"removed": [(0, 3)]}, "removed: 0 -> 3 is not an arc of the graph"),
        ({"removed": [(4, 0)]}, "removed: 4 -> 0 is not an arc of the graph"),
        ({"added": [(0, 5)]}, "added: 5 is not a vertex; expected 0 to 4"),
        ({"added": [(-1, 0)]}, "added: -1 is not a vertex; expected 0 to 4"),
    ],
)
def test_invalid_changes_are_refused_without_effect(device, change, message):
    graph = rooted_graphs()["of-the-paper"]
    solver = solver_of(device, graph)
    solver.solve(0)
    with pytest.raises(UserError, match=message):
        solver.apply(**change)
    np.testing.assert_array_equal(device.asnumpy(solver.apply().idom), [0, 0, 0, 0, 3])
