"""Arrays of answers: allocated ahead, and the caller's; the status of an answer, from the rules it breaks."""

import numpy as np
import pytest

from relaxometer.device import DeviceOutOfMemory
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import bfs, sssp
from relaxometer.problems.answers import Ahead
from relaxometer.problems.certificate import Certificate
from relaxometer.problems.variants import load_solver, solver_names
from sample_graphs import grid_edges, undirected


class Memory:
    """Gives out numbers instead of arrays, until it is short."""

    def __init__(self):
        self.given, self.used, self.short = 0, [], False

    def allocate(self):
        if self.short:
            raise DeviceOutOfMemory("no more")
        self.given += 1
        return self.given


@pytest.mark.parametrize("word", [3, np.uint32(3), np.array([3], np.uint32)], ids=type)
def test_a_count_is_a_number_or_an_array_of_one_word(word):
    array = np.zeros(1, np.uint32)
    answer = sssp.Answer(array, array, word, word)
    assert (answer.phases, answer.overflowed) == (3, True)
    assert bfs.Answer(array, array, word).phases == 3


@pytest.fixture
def memory():
    return Memory()


def test_no_arrays_are_given_twice_and_all_are_used_before(memory):
    ahead = Ahead(memory.allocate, memory.used.append)
    for search in range(1, 4):
        assert ahead.take() == search
        assert memory.used[-1] == search
        ahead.prepare()
        ahead.prepare()
    assert memory.used == [1, 2, 3, 4]


def test_the_search_under_way_does_not_fail_for_the_next_one(memory):
    ahead = Ahead(memory.allocate, memory.used.append)
    assert ahead.take() == 1
    memory.short = True
    ahead.prepare()
    with pytest.raises(DeviceOutOfMemory, match="no more"):
        ahead.take()
    memory.short = False
    assert ahead.take() == 2


STREETS = undirected("streets", 30, grid_edges(5, 6), np.arange(49) % 9 + 1)
"""A map that every variant takes."""


@pytest.mark.parametrize(
    ("problem", "variant"),
    [(problem, name) for problem in ("sssp", "bfs", "dominators") for name in solver_names(problem)],
)
def test_a_search_leaves_the_answer_before_alone(device, problem, variant):
    module = load_solver(problem, variant)
    if getattr(module.Solver, "takes", "graph") == "batch":
        pytest.skip("a batch has no sources")
    solver = module.Solver(ResidentGraph.upload(device, STREETS), module.Parameters())
    first = solver.solve(0)
    kept = {name: device.asnumpy(device.asarray(column)).copy() for name, column in first.columns.items()}
    phases = first.phases
    for source in (5, 6, 7):
        solver.solve(source)
    for name, column in first.columns.items():
        np.testing.assert_array_equal(device.asnumpy(device.asarray(column)), kept[name])
    assert first.phases == phases


TOO_LONG = "it is too long"


@pytest.mark.parametrize(
    ("violations", "overflowed", "status"),
    [
        ({"left_out": 0, "predecessor": 0}, True, "ok"),
        ({"left_out": 2, "predecessor": 0}, True, "error"),
        ({"left_out": 2, "predecessor": 0}, False, "invalid"),
        ({"left_out": 2, "predecessor": 7}, True, "invalid"),
        ({"left_out": 0, "predecessor": 7}, True, "invalid"),
    ],
)
def test_an_answer_that_is_wrong_in_another_way_is_not_too_long_only(violations, overflowed, status):
    certificate = Certificate(violations, dict.fromkeys(violations, 3))
    reasons = {"ok": "", "error": TOO_LONG, "invalid": certificate.reason}
    assert certificate.outcome(overflowed=overflowed, too_long=TOO_LONG) == (status, reasons[status])


def test_the_rule_that_a_path_too_long_breaks_may_have_another_name():
    certificate = Certificate({"overstretched": 1, "left_out": 0}, {"overstretched": 3})
    given = {"overflowed": True, "too_long": TOO_LONG}
    assert certificate.outcome(**given, rule="overstretched") == ("error", TOO_LONG)
    assert certificate.outcome(**given)[0] == "invalid"
