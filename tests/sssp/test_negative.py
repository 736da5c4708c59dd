"""Negative arcs: distances, or a negative cycle as the answer."""

import random
from itertools import pairwise

import numpy as np
import pytest

from relaxometer.graphs.lengths import ON_CYCLE
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.plan.models import Run, Timing
from relaxometer.problems.sssp import NO_PREDECESSOR
from relaxometer.problems.sssp._negative_cycles import FIRST_WATCHED
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.variants import Skipped, load_solver
from relaxometer.race.variant import measure
from sample_graphs import sample_graphs
from sssp.searches import graph_of, variants_for

TAKES_NEGATIVE = variants_for("int32")
FIND_CYCLES = [name for name in TAKES_NEGATIVE if name != "johnson"]
UNREACHED = 2**31 - 1
LARGEST = 2**31 - 1
PARTS = {"bellman-ford-queue": 4}
"""How many drawn graphs one graph holds side by side, if not 50.

A solver is prepared once for a graph. The queues go round a cycle more often in a larger graph, which takes
long in the emulation.
"""


def with_arcs(n, arcs):
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    return graph_of("int32", n, tails, heads, weights)


def between_heights(graph, seed):
    """The same graph with weights plus the differences of heights; arcs that lead down may be negative."""
    height = np.random.default_rng(seed).integers(-(10**6), 10**6, graph.n_vertices)
    loads = graph.weights.astype(np.int64) + height[graph.targets] - height[graph.tails]
    assert (loads < 0).any()
    return graph.n_vertices, list(
        zip(graph.tails.tolist(), graph.targets.tolist(), loads.tolist(), strict=True)
    )


def drawn(seed):
    """Return the number of vertices and the arcs of a small graph."""
    dice = random.Random(seed)
    n, least = dice.randint(2, 12), dice.choice([-2, -4, -9, -12])
    arcs = [
        (dice.randrange(n), dice.randrange(n), dice.randint(least, 9))
        for _ in range(dice.randint(n // 2, 4 * n))
    ]
    if dice.random() < 0.4:  # no negative cycle, but cycles of weight 0 and arcs that are very negative
        height = [dice.randint(-9, 9) for _ in range(n)]
        arcs = [(u, v, dice.randint(0, 3) + height[v] - height[u]) for u, v, _ in arcs]
    return n, arcs


def heavy(seed):
    """Return a small graph without negative cycles, some of whose lengths leave 32 bits in each direction."""
    dice = random.Random(seed)
    n, heaviest = dice.randint(3, 12), dice.choice([2**26, 2**30])
    height = [dice.randint(-3 * 2**29, 3 * 2**29) for _ in range(n)]
    ends = [(v, v + 1) for v in range(n - 1)]
    ends += [(dice.randrange(n), dice.randrange(n)) for _ in range(dice.randint(0, 2 * n))]
    arcs = [(u, v, dice.randint(0, heaviest) + height[v] - height[u]) for u, v in ends]
    return n, [arc for arc in arcs if abs(arc[2]) <= LARGEST]


def least_lengths(n, arcs, source):
    """Return the least lengths in exact integers, or None if a negative cycle is reachable."""
    length = {source: 0}
    for _ in range(n):
        nearer = False
        for u, v, weight in arcs:
            if u in length and length[u] + weight < length.get(v, length[u] + weight + 1):
                length[v] = length[u] + weight
                nearer = True
        if not nearer:
            return [length.get(v, UNREACHED) for v in range(n)]
    return None


def prepared(variant, device, graph, **parameters):
    resident = ResidentGraph.upload(device, graph)
    module = load_solver("sssp", variant)
    return module.Solver(resident, module.Parameters(**parameters)), SsspCertifier(resident)


def solve(device, variant, graph, source=0, **parameters):
    solver, certifier = prepared(variant, device, graph, **parameters)
    answer = solver.solve(source)
    columns = device.asarray(answer.distance), device.asarray(answer.predecessor)
    return answer, *map(device.asnumpy, columns), certifier.check(source, *columns)


def cycle_in(distance, predecessor):
    """Return the arcs of the cycle that an answer gives, having checked that it is one and nothing else."""
    (on_cycle,) = np.nonzero(distance == ON_CYCLE)
    elsewhere = distance != ON_CYCLE
    assert (distance[elsewhere] == UNREACHED).all()
    assert (predecessor[elsewhere] == NO_PREDECESSOR).all()
    arcs, head = [], int(on_cycle[0])
    for _ in on_cycle:
        arcs.append((int(predecessor[head]), head))
        head = arcs[-1][0]
    assert head == on_cycle[0]
    assert len(set(arcs)) == len(on_cycle)
    return arcs


def weight_of(cycle, arcs):
    lightest = {}
    for u, v, weight in arcs:
        lightest[u, v] = min(weight, lightest.get((u, v), weight))
    return sum(lightest[arc] for arc in cycle)


def side_by_side(graphs):
    """Return the arcs of all graphs in one, and the first vertex of each."""
    arcs, first, n = [], [], 0
    for size, inner in graphs:
        first.append(n)
        arcs += [(n + u, n + v, weight) for u, v, weight in inner]
        n += size
    return n, arcs, first


@pytest.mark.parametrize("variant", FIND_CYCLES)
def test_hundreds_of_drawn_graphs(device, variant):
    """Cycles in other parts, which are not reachable, do not matter."""
    found = {"distances": 0, "cycle": 0}
    drawn_graphs, parts = 100, PARTS.get(variant, 50)
    for seed in range(0, drawn_graphs, parts):
        graphs = [drawn(part) for part in range(seed, seed + parts)]
        n, arcs, first = side_by_side(graphs)
        solver, certifier = prepared(variant, device, with_arcs(n, arcs))
        for (size, inner), begin in zip(graphs, first, strict=True):
            answer = solver.solve(begin)
            distance, predecessor = device.asarray(answer.distance), device.asarray(answer.predecessor)
            certificate = certifier.check(begin, distance, predecessor)
            assert certificate.holds, certificate.reason
            assert not answer.overflowed
            distance, expected = device.asnumpy(distance), least_lengths(size, inner, 0)
            if expected is None:
                cycle = cycle_in(distance, device.asnumpy(predecessor))
                assert weight_of(cycle, arcs) < 0
                assert all(begin <= u < begin + size for u, _ in cycle)
            else:
                assert distance[begin : begin + size].tolist() == expected
                assert (distance == UNREACHED).sum() == n - size + expected.count(UNREACHED)
            found["cycle" if expected is None else "distances"] += 1
    assert min(found.values()) > 0.25 * drawn_graphs


@pytest.mark.parametrize("variant", TAKES_NEGATIVE)
@pytest.mark.parametrize("name", ["grid", "random-directed", "zero-weights"])
def test_sample_graphs_between_heights(device, variant, name):
    """Arcs that lead down are negative, and those along a shortest path may all be tight both ways."""
    n, arcs = between_heights(sample_graphs()[name], seed=5)
    _, distance, _, certificate = solve(device, variant, with_arcs(n, arcs), 1)
    assert distance.tolist() == least_lengths(n, arcs, 1)
    assert certificate.holds, certificate.reason


FAR = 2 * FIRST_WATCHED


def ring(first, size):
    """The arcs of a cycle of consecutive vertices."""
    return {(first + v, first + (v + 1) % size) for v in range(size)}


CYCLES = {
    "own-loop": (1, [(0, 0, -1)], {(0, 0)}),
    "loop": (3, [(0, 1, 5), (1, 1, -1), (1, 2, 1)], {(1, 1)}),
    "mirrored": (2, [(0, 1, -1), (1, 0, -1)], {(0, 1), (1, 0)}),
    "parallel": (2, [(0, 1, 7), (0, 1, -3), (1, 0, 2), (1, 0, 9)], {(0, 1), (1, 0)}),
    "sum-beyond-32-bits": (5, [(v, (v + 1) % 5, -LARGEST) for v in range(5)], ring(0, 5)),
    "barely-negative": (
        5,
        [(0, 1, LARGEST - 1), (1, 2, -LARGEST), (2, 3, LARGEST - 1), (3, 4, -LARGEST), (4, 0, 1)],
        ring(0, 5),
    ),
    # Its vertices are reached after the search has first looked for a cycle.
    "long-and-far": (
        FAR + 70,
        [*((v, v + 1, 1) for v in range(FAR + 69)), (FAR + 69, FAR, -70)],
        ring(FAR, 70),
    ),
    "of-weight-0": (5, [(0, 1, 4), (1, 2, -3), (2, 3, 1), (3, 1, 2), (3, 4, -9), (4, 3, 9)], None),
    "not-reachable": (4, [(0, 1, -5), (2, 3, -1), (3, 2, -1), (2, 0, 1)], None),
    "range": (5, [(0, 1, -LARGEST), (0, 2, LARGEST - 1), (1, 3, 2 * (LARGEST // 2)), (2, 4, -LARGEST)], None),
    "detour-beyond-32-bits": (4, [(0, 1, LARGEST - 1), (1, 2, 9), (0, 2, 5), (2, 3, -7)], None),
}
"""Vertices, arcs, and the negative cycle that 0 reaches."""


@pytest.mark.parametrize("name", CYCLES)
@pytest.mark.parametrize("variant", FIND_CYCLES)
def test_the_answer_is_one_cycle_whatever_its_shape(device, variant, name):
    n, arcs, expected = CYCLES[name]
    _, distance, predecessor, certificate = solve(device, variant, with_arcs(n, arcs))
    assert certificate.holds, certificate.reason
    if expected is None or weight_of(expected, arcs) >= 0:
        assert distance.tolist() == least_lengths(n, arcs, 0)
    else:
        assert set(cycle_in(distance, predecessor)) == expected


@pytest.mark.parametrize("variant", TAKES_NEGATIVE)
class TestExtremes:
    @pytest.mark.parametrize("weights", [(LARGEST, -5, -7, 3), (-LARGEST, -5, 20, -3)], ids=["long", "short"])
    def test_lengths_that_fit_again_after_one_that_does_not(self, device, variant, weights):
        """What hangs on a vertex that is given up is given up, too, with its predecessors."""
        arcs = [(v, v + 1, weight) for v, weight in enumerate(weights)]
        graph = with_arcs(7, [*arcs, (0, 5, 1), (5, 6, -2)])
        too_long = graph.lengths.too_long
        for given in ({}, {"distance": "uint32"}) if variant == "edge-bf" else ({},):
            answer, found, predecessor, certificate = solve(device, variant, graph, **given)
            assert certificate.outcome(overflowed=answer.overflowed, too_long=too_long) == ("error", too_long)
            assert found[[0, 3, 4, 5, 6]].tolist() == [0, UNREACHED, UNREACHED, 1, -1]
            assert ((predecessor == NO_PREDECESSOR) == (found == UNREACHED)).all()

    def test_heavy_graphs_are_right_or_fail_for_the_length(self, device, variant):
        outcomes = {"ok": 0, "error": 0}
        for seed in range(40):
            n, arcs = heavy(seed)
            graph = with_arcs(n, arcs)
            try:
                answer, distance, predecessor, certificate = solve(device, variant, graph)
            except Skipped:  # by Johnson's potentials
                continue
            status, reason = certificate.outcome(overflowed=answer.overflowed, too_long="too long")
            expected = least_lengths(n, arcs, 0)
            fits = all(-LARGEST <= length <= UNREACHED for length in expected)
            assert (status, reason) == (("ok", "") if fits else ("error", "too long")), seed
            assert ((predecessor == NO_PREDECESSOR) == (distance == UNREACHED)).all()
            if fits:
                assert distance.tolist() == expected
            outcomes[status] += 1
        assert min(outcomes.values()) > 5

    def test_answers_follow_one_another(self, device, variant):
        """A search from 2 reaches a path that is too long; one from 0 does not."""
        arcs = [(0, 1, -4), (2, 3, -LARGEST // 2), (3, 4, -LARGEST // 2 - 9), (4, 5, -3)]
        solver, _ = prepared(variant, device, with_arcs(6, arcs))
        answers = [solver.solve(source) for source in (0, 2, 0)]
        assert [answer.overflowed for answer in answers] == [False, True, False]
        for answer in (answers[0], answers[2]):
            assert device.asnumpy(device.asarray(answer.distance)).tolist() == [0, -4] + 4 * [UNREACHED]


class TestJohnson:
    """Potentials let solvers that take no negative arcs search."""

    @pytest.mark.parametrize("inside", ["near-far", "delta-stepping", "push-pull"])
    def test_distances_are_those_of_the_negative_weights(self, device, inside):
        graphs = []
        for n, arcs in map(drawn, range(80)):
            if least_lengths(n + 1, arcs + [(n, v, 0) for v in range(n)], n) is not None:
                graphs.append((n, arcs))
        n, arcs, first = side_by_side(graphs)
        solver, certifier = prepared("johnson", device, with_arcs(n, arcs), inside=inside)
        assert solver.resolved["inside"] == inside
        assert solver.resolved["potentials_ms"] > 0
        assert len(graphs) > 25
        for (size, inner), begin in list(zip(graphs, first, strict=True))[:20]:
            answer = solver.solve(begin)
            distance = device.asnumpy(device.asarray(answer.distance))
            assert distance[begin : begin + size].tolist() == least_lengths(size, inner, 0)
            certificate = certifier.check(
                begin, device.asarray(answer.distance), device.asarray(answer.predecessor)
            )
            assert certificate.holds, certificate.reason

    def test_a_negative_cycle_anywhere_is_named_with_its_weight(self, device):
        arcs = [(0, 1, 1), (2, 3, -5), (3, 2, 2), (3, 3, 0)]
        with pytest.raises(
            Skipped, match=r"^a cycle of 2 arcs through vertex [23] has weight -3; potentials need a graph"
        ):
            prepared("johnson", device, with_arcs(4, arcs))

    def test_new_weights_beyond_32_bits_are_refused(self, device):
        arcs = [(0, 1, -LARGEST), (1, 2, -LARGEST), (0, 2, LARGEST)]
        with pytest.raises(Skipped, match=r"^an arc's weight after Johnson's potentials does not fit in 32"):
            prepared("johnson", device, with_arcs(3, arcs))

    @staticmethod
    def far_apart():
        """Return a path 0 1 2 3 of weight 0, whose vertex k ends k of the lightest arcs, too."""
        arcs, n = [(0, 1, 0), (1, 2, 0), (2, 3, 0)], 4
        for end in (1, 2, 3):
            vertices = [*range(n, n + end), end]
            arcs += [(u, v, -LARGEST) for u, v in pairwise(vertices)]
            n += end
        return with_arcs(n, arcs)

    @pytest.mark.parametrize("inside", ["near-far", "delta-stepping", "push-pull", "auto"])
    def test_new_distances_beyond_32_bits_are_found_with_64(self, device, inside):
        answer, distance, _, certificate = solve(device, "johnson", self.far_apart(), inside=inside)
        assert not answer.overflowed
        assert distance.tolist() == [0] * 4 + [UNREACHED] * 6
        assert certificate.holds, certificate.reason

    def test_solvers_without_64_bits_are_skipped_where_they_may_be_needed(self, device):
        reason = (
            "^distances after Johnson's potentials may not fit in 32 bits, and dijkstra has none of 64 bits$"
        )
        with pytest.raises(Skipped, match=reason):
            prepared("johnson", device, self.far_apart(), inside="dijkstra")

    def test_with_64_bits_true_lengths_that_do_not_fit_are_an_overflow(self, device):
        """From the begin of the longest chain, the second arc leads below the range."""
        answer, distance, _, certificate = solve(device, "johnson", self.far_apart(), source=7)
        assert answer.overflowed
        assert distance.tolist() == [UNREACHED] * 7 + [0, -LARGEST, UNREACHED]
        assert certificate.outcome(overflowed=True, too_long="too long") == ("error", "too long")

    @pytest.mark.parametrize(
        ("name", "message"), [("dijkstra-cpu", "does not run on the device"), ("johnson", "unknown solver")]
    )
    def test_solvers_that_cannot_be_inside(self, name, message):
        with pytest.raises(ValueError, match=message):
            load_solver("sssp", "johnson").Parameters(inside=name)


def test_what_a_run_records():
    graph = with_arcs(5, [(0, 1, 4), (1, 2, -3), (2, 1, 2), (3, 4, -9), (4, 3, 9)])
    timing = Timing(repetitions=2, rounds=1, warmup=1)
    run = Run(problem="sssp", graph="g", variant="v", solver="spmv-csr", parameters={}, timing=timing)
    result = measure(run, graph, np.array([0, 3]), "host")
    assert [row.source for row in result.runs] == [0, 3, 0, 3]
    assert {row.status for row in result.runs} == {"ok"}
    assert all(row["holds"] for row in result.certificates)
    assert [row.reached for row in result.runs] == [2, 2, 2, 2]
    assert result.answer["distance"].tolist() == [UNREACHED, ON_CYCLE, ON_CYCLE, UNREACHED, UNREACHED]
