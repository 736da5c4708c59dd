"""The printed example of the Qiita paper, and its errata: inputs on which its kernel is wrong."""

import numpy as np
import pytest

from dominator_samples import NONE, reference_by_removal, rooted_graphs
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.variants import load_solver


@pytest.fixture
def solve(device):
    """Return a function that runs the paper's method on a sample and returns idom and the solver."""

    def run(name, root=0, phases=None):
        module = load_solver("dominators", "persistent-warp")
        solver = module.Solver(ResidentGraph.upload(device, rooted_graphs()[name]), module.Parameters())
        return device.asnumpy(solver.solve(root, phases).idom), solver

    return run


def printed_rule(dominators: np.ndarray, root: int) -> list[int]:
    """The paper's immediate dominators: the highest-numbered strict dominator, -1 for the root."""
    found = []
    for v, word in enumerate(dominators.tolist()):
        strict = word & ~(1 << v)
        found.append(-1 if v == root or not strict else strict.bit_length() - 1)
    return found


def test_the_printed_example(device, solve):
    idom, solver = solve("of-the-paper")
    assert idom.tolist() == [0, 0, 0, 0, 3]
    sets = device.asnumpy(solver.dominators)
    assert [[d for d in range(5) if word >> d & 1] for word in sets.tolist()] == [
        [0],
        [0, 1],
        [0, 2],
        [0, 3],
        [0, 3, 4],
    ]
    assert device.asnumpy(solver.gray).tolist() == [0, 1, 3, 2, 6]
    assert printed_rule(sets, 0) == [-1, 0, 0, 0, 3]


def test_the_steps_that_the_paper_times_are_recorded(solve):
    phases = []
    solve("of-the-paper", 0, phases)
    assert [phase.mode for phase in phases] == ["prepare", "initialize", "persistent", "total"]
    assert phases[-1].time_ms >= max(phase.time_ms for phase in phases[:-1])


def test_the_highest_number_is_not_the_nearest_dominator(device, solve):
    idom, solver = solve("against-the-numbers")
    assert idom.tolist() == [0, 2, 3, 4, 0]
    assert printed_rule(device.asnumpy(solver.dominators), 0) == [-1, 4, 4, 4, 0]


def test_the_end_of_a_chain_of_32_has_a_full_set(device, solve):
    idom, solver = solve("chain-of-32")
    assert idom.tolist() == [0, *range(31)]
    assert device.asnumpy(solver.dominators)[31] == 2**32 - 1


@pytest.mark.parametrize("name", ["islands", "loop-on-the-root"])
def test_unreached_vertices_have_no_dominator(device, solve, name):
    graph = rooted_graphs()[name]
    idom, solver = solve(name)
    np.testing.assert_array_equal(idom, reference_by_removal(graph, 0))
    unreached = np.flatnonzero(idom == NONE)
    assert len(unreached)
    full = 2**graph.n_vertices - 1
    # The sets are as in the paper, whose rule then finds a dominator.
    assert set(device.asnumpy(solver.dominators)[unreached].tolist()) == {full}
    assert -1 not in [printed_rule(device.asnumpy(solver.dominators), 0)[v] for v in unreached]
