"""Push-pull: windows of every size, both directions, and the arcs it reads."""

import dataclasses

import numpy as np
import pytest

from relaxometer.datasets.formats.generated import RmatParameters
from relaxometer.datasets.generators.rmat import rmat
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp.push_pull import push_pull
from relaxometer.problems.sssp.push_pull._prepare import prepare
from sample_graphs import sample_graphs, undirected
from sssp.searches import solved


def skewed():
    return rmat(RmatParameters(scale=10, edge_factor=16, weights={"distribution": "uniform"}), seed=1)


@pytest.mark.parametrize(
    ("delta", "beta"), [(1, 1e-9), (1, 1e9), (40, 4.0), (10**6, 1e-9), (10**6, 1e9)], ids=str
)
def test_every_mix_of_pushing_and_pulling_is_right(device, delta, beta):
    """Push only, both, or pull at once; windows have 0 to hundreds of arcs."""
    graph = skewed()
    for source in (0, 1, graph.n_vertices - 1):
        phases = []
        _, answer = solved(device, "push-pull", graph, source, phases=phases, delta=delta, beta=beta)
        assert answer.phases == len(phases)
        if beta < 1:  # the last bucket settles every vertex
            assert not any(phase.updated for phase in phases if phase.mode == "pull")


def test_most_arcs_are_never_read(device):
    graph, phases = skewed(), []
    solved(device, "push-pull", graph, 0, phases=phases)
    assert {phase.mode for phase in phases} == {"push", "pull"}
    assert sum(phase.relaxed_arcs for phase in phases) < 0.7 * graph.n_arcs


def test_a_search_from_a_vertex_without_arcs_leaves_the_next_one_right(device):
    graph = Graph.from_arcs("islands", 40, [0, 1, 2], [1, 2, 3], [4, 4, 4])
    solved(device, "push-pull", graph, 0, 30, 0, 39, 1, delta=2)


def test_a_bucket_in_which_nothing_is_due_does_not_end_the_search(device):
    # Vertex 1 is reached at 90 and pushed, which leaves an arc due at 110. Then it is reached at 2, which
    # moves that arc into the bucket; the next is due at 1002. The bucket that begins at 110 has nothing to
    # push.
    arcs = np.array([(0, 1, 90), (0, 2, 1), (2, 1, 1), (1, 3, 20), (1, 4, 1000), (4, 5, 1)])
    graph = Graph.from_arcs("stale", 6, *arcs.T)
    solved(device, "push-pull", graph, 0, delta=100, beta=1e-9)


def changed(graph, arcs, weights, directed=False):
    """The same graph with other weights of some arcs; what its metadata say is not trusted."""
    others = graph.weights.copy()
    others[arcs] = weights
    return dataclasses.replace(graph, weights=others, metadata={"directed": directed})


def parallel(tails, heads, weights):
    return Graph.from_arcs("parallel", 2, tails, heads, weights, keep_parallel=True)


PATH = undirected("path", 4, np.array([(0, 1), (2, 3), (1, 2)]), np.array([5, 6, 7]))


@pytest.mark.parametrize(
    ("graph", "is_symmetric"),
    [
        pytest.param(changed(skewed(), [], [], directed=True), True, id="undirected"),
        pytest.param(changed(skewed(), [1234], 10**6), False, id="another weight"),
        pytest.param(PATH, True, id="path"),
        pytest.param(changed(PATH, [0, 4], [6, 5]), False, id="the same weights in other pairs"),
        pytest.param(parallel([0, 0, 1, 1], [1, 1, 0, 0], [4, 9, 9, 4]), True, id="as many arcs back"),
        pytest.param(parallel([0, 0, 1], [1, 1, 0], [4, 4, 4]), False, id="fewer arcs back"),
    ],
)
def test_one_set_of_rows_serves_both_directions(device, graph, is_symmetric):
    prepared = prepare(ResidentGraph.upload(device, graph), 20)
    assert (prepared.into is prepared.out) == is_symmetric


@pytest.mark.parametrize("before", [0, 1, 7, 20])
def test_phases_begin_again_before_they_exceed_32_bits(host_device, before):
    resident = ResidentGraph.upload(host_device, sample_graphs()["grid"])
    solver = push_pull.Solver(resident, push_pull.Parameters())
    expected, phase = solver.solve(0).distance.copy(), solver._state.view(np.uint32)[:1]
    n_phases, most = int(phase[0]), push_pull.SOURCE.constants["PHASES"]
    phase[0] = most - before
    for k in (1, 2):
        np.testing.assert_array_equal(solver.solve(0).distance, expected)
        assert phase[0] == (k * n_phases - before) % most
