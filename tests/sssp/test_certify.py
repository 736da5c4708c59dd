"""A certificate holds for right answers and fails, by the right rule, for each way to be wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT
from relaxometer.graphs.lengths import ON_CYCLE, unreached
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import NO_PREDECESSOR, UNREACHED
from relaxometer.problems.sssp._certify_cpu import SsspCpuCertifier
from relaxometer.problems.sssp.certify import RULES, SsspCertifier
from sample_graphs import FLOATS, as_type, reference_distances, sample_graphs
from sssp.searches import KINDS, graph_of

NONE = int(NO_PREDECESSOR)
WEIGHTS = {
    "uint32": (5, 7),
    "uint32/uint64": (MAX_WEIGHT, MAX_WEIGHT),
    "float32": (0.1, 0.7),
    "float64": (0.1, 0.7),
    "int32": (5, -3),
}
"""Of the arcs 0 -> 1 and 1 -> 2 in `right`, by type."""


def check(device, graph, distance, predecessor, source=0):
    """Check an answer by kernels and on the CPU, which must agree."""
    resident = ResidentGraph.upload(device, graph)
    distance, predecessor = np.asarray(distance, dtype=graph.lengths.distances), np.uint32(predecessor)
    found = SsspCertifier(resident).check(source, device.asarray(distance), device.asarray(predecessor))
    assert SsspCpuCertifier(resident).check(source, distance, predecessor) == found
    assert set(found.violations) == set(RULES)
    assert set(found.first) == {rule for rule, count in found.violations.items() if count}
    return found


def broken(device, *answer, **options):
    return set(check(device, *answer, **options).first)


def right(kind):
    """An answer: 2 lies behind 1, and 3 and 4, with free arcs to each other, as far as 1; 5 is unreached."""
    one, two = WEIGHTS[kind]
    graph = graph_of(kind, 6, [0, 1, 1, 3, 4], [1, 2, 3, 4, 3], [one, two, 0, 0, 0])
    number = graph.lengths.distances.type
    one = number(one)
    two = one + number(two)
    return graph, np.array([0, one, two, one, one, unreached(number)], dtype=number), [0, 0, 1, 1, 3, NONE]


def more(kind, length, by=1):
    """A length more than another one, the next one of floats."""
    number = length.dtype.type
    return np.nextafter(length, number(np.inf * by)) if kind in FLOATS else number(int(length) + by)


@pytest.mark.parametrize(
    ("vertex", "change", "before", "rules"),
    [
        (0, lambda kind, d: 1, None, {"source", "predecessor"}),
        (2, lambda kind, d: more(kind, d), None, {"overstretched", "predecessor"}),
        (2, lambda kind, d: more(kind, d, -1), None, {"predecessor"}),
        (2, lambda kind, d: unreached(d.dtype), None, {"left_out", "predecessor"}),
        (2, lambda kind, d: unreached(d.dtype), NONE, {"left_out"}),
        (5, lambda kind, d: 7, None, {"predecessor"}),
        (5, lambda kind, d: 7, 4, {"predecessor"}),
        (0, None, 1, {"source"}),
        (2, None, 0, {"predecessor"}),
        (2, None, NONE, {"predecessor"}),
        (2, None, 6, {"predecessor"}),
        (2, None, 2**32 - 2, {"predecessor"}),
        (5, None, 0, {"predecessor"}),
        (3, None, 4, {"tree"}),
    ],
)
@pytest.mark.parametrize("kind", WEIGHTS)
def test_every_rule_can_be_broken(device, kind, vertex, change, before, rules):
    graph, distance, predecessor = right(kind)
    assert check(device, graph, distance, predecessor).holds
    if change is not None:
        distance[vertex] = change(kind, distance[vertex])
    if before is not None:
        predecessor[vertex] = before
    found = broken(device, graph, distance, predecessor)
    # With negative arcs, the whole tree is followed, and a vertex without a tight predecessor hangs off it.
    assert rules <= found <= rules | ({"tree"} if kind == "int32" else set())


def test_a_consistent_detour_is_overstretched(device):
    """All distances lie on real paths, but one path is not shortest: only the arcs show it."""
    graph = graph_of("uint32", 3, [0, 1, 0], [1, 2, 2], [1, 1, 5])
    assert broken(device, graph, [0, 1, 5], [0, 0, 0]) == {"overstretched"}


def test_an_island_must_stay_unreached(device):
    graph = sample_graphs()["two-islands"]
    assert check(device, graph, [0, 2, 5, *[UNREACHED] * 3], [0, 0, 1, *[NONE] * 3]).holds
    assert broken(device, graph, [0, 2, 5, 7, 12, 18], [0, 0, 1, 0, 3, 4]) == {"predecessor"}


@pytest.mark.parametrize("length", [2, 3, 4, 31, 32, 33])
def test_a_circle_of_zero_weight_arcs_is_found(device, length):
    """Every distance is right and every predecessor tight; only following them shows the circle."""
    ring = np.arange(1, length + 1)
    arcs = np.append(0, ring), np.append(1, np.roll(ring, -1)), np.append(5, np.zeros(length, dtype=int))
    graph, distance = graph_of("uint32", length + 1, *arcs), [0] + [5] * length
    assert check(device, graph, distance, [0, 0, *range(1, length)]).holds
    found = check(device, graph, distance, [0, length, *range(1, length)])
    assert found.violations == dict.fromkeys(RULES, 0) | {"tree": length}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_no_change_of_one_distance_goes_unnoticed(kind, data):
    """A distance is unique to its last bit, so that any other value must break a rule."""
    graph, device = as_type(sample_graphs()["grid"], kind), get_device("host")
    distance = reference_distances(graph, 0).copy()
    predecessor = tight(graph, distance)
    assert check(device, graph, distance, predecessor).holds
    words = distance.view(graph.lengths.word)
    bit = data.draw(st.integers(0, 8 * words.itemsize - 1))
    words[data.draw(st.integers(0, graph.n_vertices - 1))] ^= words.dtype.type(1 << bit)
    assert not check(device, graph, distance, predecessor).holds


def tight(graph, distance):
    """For each vertex a predecessor whose distance and arc add up to the vertex's distance."""
    predecessor, tails = np.full(graph.n_vertices, NO_PREDECESSOR), graph.tails
    number = distance.dtype.type
    is_tight = distance[tails] + graph.weights.astype(number) == distance[graph.targets]
    predecessor[graph.targets[is_tight]] = tails[is_tight]
    predecessor[0] = 0
    return predecessor


def test_a_sum_that_wraps_is_not_tight(device):
    """2**64 - 5 + 10 is 5 in 64 bits."""
    graph = graph_of("uint32/uint64", 3, [1], [2], [10])
    distance = np.array([0, 2**64 - 5, 5], dtype=np.uint64)
    assert "predecessor" in broken(device, graph, distance, [0, 1, 1])


@pytest.mark.parametrize("kind", FLOATS)
class TestFloats:
    @pytest.mark.parametrize(
        ("vertex", "number", "rule"), [(2, np.nan, "predecessor"), (0, np.nan, "source"), (0, -0.0, "source")]
    )
    def test_what_is_no_length_is_wrong(self, device, kind, vertex, number, rule):
        graph, distance, predecessor = right(kind)
        distance[vertex] = number
        assert rule in broken(device, graph, distance, predecessor)

    def test_a_cycle_of_vanishing_weights_is_no_tree(self, device, kind):
        """1 and 2 are as far as each other, since their arcs are too light to change the first length."""
        lost = FLOATS[kind].one_lost
        graph = graph_of(kind, 3, [0, 1, 2], [1, 2, 1], [lost, 0.5, 0.5])
        assert check(device, graph, [0, lost, lost], [0, 0, 1]).holds
        assert broken(device, graph, [0, lost, lost], [0, 2, 1]) == {"tree"}


FAR = 2**31 - 1
"""The distance of an unreached vertex in a graph with negative arcs."""


class TestNegativeArcs:
    def test_a_tight_cycle_that_hangs_together_with_nothing(self, device):
        """Negative arcs allow predecessors in a circle at a distance that is too short."""
        graph = graph_of("int32", 4, [0, 1, 2, 2, 3], [1, 2, 1, 3, 2], [5, -3, 3, -9, 10])
        assert check(device, graph, [0, 5, 2, -7], [0, 0, 1, 2]).holds
        assert broken(device, graph, [0, 5, 2, -7], [0, 2, 1, 2]) == {"tree"}
        assert broken(device, graph, [0, 1, -2, -11], [0, 2, 1, 2]) == {"tree"}

    def test_a_length_below_the_range_is_left_out(self, device):
        graph = graph_of("int32", 3, [0, 1, 0], [1, 2, 2], [-FAR, -1, 0])
        assert broken(device, graph, [0, -FAR, 0], [0, 0, 0]) == {"left_out"}

    @pytest.mark.parametrize(
        ("cycle", "changes", "source", "rules"),
        [
            ((3, 2, 1), {}, 0, set()),
            ((7, 6), {}, 6, set()),
            ((5, 4), {}, 0, {"negative"}),
            ((7, 6), {}, 0, {"reachable"}),
            ((1, 2, 3), {}, 0, {"cycle"}),
            ((2,), {}, 0, {"cycle"}),
            ((3, 2, 1), {3: (ON_CYCLE, 4)}, 0, {"cycle"}),
            ((3, 2, 1), {3: (ON_CYCLE, 9)}, 0, {"cycle"}),
            ((3, 2, 1), {3: (ON_CYCLE, NONE)}, 0, {"cycle"}),
            ((3, 2, 1), {0: (0, NONE)}, 0, {"cycle"}),
            ((3, 2, 1), {0: (FAR, 0)}, 0, {"cycle"}),
            ((3, 2, 1), {4: (ON_CYCLE, 5), 5: (ON_CYCLE, 4)}, 0, {"cycle"}),
        ],
    )
    def test_an_answer_that_is_a_cycle(self, device, cycle, changes, source, rules):
        """Cycles are 1 2 3 of weight -1, 4 5 of weight 0, and 6 7 of -2, which 0 does not reach."""
        distance, predecessor = np.full(8, FAR), np.full(8, NONE)
        distance[list(cycle)], predecessor[list(cycle)] = ON_CYCLE, np.roll(cycle, -1)
        for vertex, (length, before) in changes.items():
            distance[vertex], predecessor[vertex] = length, before
        assert broken(device, self.cyclic(), distance, predecessor, source=source) == rules

    def test_no_distances_are_right_if_a_negative_cycle_is_reachable(self, device):
        answer = [0, 3, -1, 0, 4, 11, FAR, FAR], [0, 0, 1, 2, 1, 4, NONE, NONE]
        assert "overstretched" in broken(device, self.cyclic(), *answer)

    @staticmethod
    def cyclic():
        tails, heads = [0, 1, 2, 3, 1, 4, 5, 4, 6, 7, 6], [1, 2, 3, 1, 4, 5, 4, 3, 7, 6, 0]
        return graph_of("int32", 8, tails, heads, [3, -4, 1, 2, 1, 7, -7, 1, -1, -1, 1])
