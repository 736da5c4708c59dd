"""Negative arcs: distances, or a negative cycle as the answer; and its certificate."""

import random
from itertools import pairwise

import numpy as np
import pytest

from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import ON_CYCLE
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.plan.models import Run, Timing
from relaxometer.problems.problem import load_problem
from relaxometer.problems.sssp import NO_PREDECESSOR
from relaxometer.problems.sssp._negative_cycles import FIRST_WATCHED, NegativeCycles
from relaxometer.problems.sssp.certify import RULES, SsspCertifier
from relaxometer.problems.variants import Skipped, load_solver, refuse_weights, solver_names
from relaxometer.race.variant import measure
from sample_graphs import sample_graphs

TAKES_NEGATIVE = [
    name
    for name in solver_names("sssp")
    if "int32" in getattr(load_solver("sssp", name).Solver, "weight_types", ())
]
FIND_CYCLES = [name for name in TAKES_NEGATIVE if name != "johnson"]
UNREACHED = 2**31 - 1
LARGEST = 2**31 - 1
DRAWN, PARTS = {"bellman-ford-queue": 500}, {"bellman-ford-queue": 4}
"""Number of drawn graphs, if not 1000, and how many one graph holds side by side, if not 50, by variant.

A solver is prepared once for a graph. The queues go round a cycle more often in a larger graph, which takes
long in the emulation.
"""


def graph_of(n, arcs, **options):
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    options = {"keep_self_loops": True, "keep_parallel": True} | options
    return Graph.from_arcs("negative", n, tails, heads, weights, weight_type="int32", **options)


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


def test_which_variants_take_negative_arcs():
    family = {"bellman-ford-cpu", "bellman-ford-queue", "edge-bf", "edge-bf-atomic", "spmv-csr", "spmv-ell"}
    assert set(TAKES_NEGATIVE) == {*family, "johnson"}


@pytest.mark.parametrize("variant", [name for name in solver_names("sssp") if name not in TAKES_NEGATIVE])
def test_all_others_refuse_in_one_line(variant):
    with pytest.raises(Skipped, match=r"^takes weights of type [a-z0-9/, ]+, not int32$"):
        refuse_weights(load_problem("sssp"), load_solver("sssp", variant).Solver, graph_of(2, [(0, 1, -1)]))


@pytest.mark.parametrize("variant", FIND_CYCLES)
def test_a_thousand_drawn_graphs(device, variant):
    """Cycles in other parts, which are not reachable, do not matter."""
    found = {"distances": 0, "cycle": 0}
    drawn_graphs, parts = DRAWN.get(variant, 1000), PARTS.get(variant, 50)
    for seed in range(0, drawn_graphs, parts):
        graphs = [drawn(part) for part in range(seed, seed + parts)]
        n, arcs, first = side_by_side(graphs)
        solver, certifier = prepared(variant, device, graph_of(n, arcs))
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
    assert min(found.values()) > 0.3 * drawn_graphs


@pytest.mark.parametrize("variant", TAKES_NEGATIVE)
@pytest.mark.parametrize("name", ["grid", "random-directed", "zero-weights"])
def test_sample_graphs_between_heights(device, variant, name):
    """Arcs that lead down are negative, and those along a shortest path may all be tight both ways."""
    graph = sample_graphs()[name]
    dice = np.random.default_rng(5)
    height = dice.integers(-(10**6), 10**6, graph.n_vertices)
    loads = graph.weights.astype(np.int64) + height[graph.targets] - height[graph.tails]
    arcs = list(zip(graph.tails.tolist(), graph.targets.tolist(), loads.tolist(), strict=True))
    _, distance, _, certificate = solve(device, variant, graph_of(graph.n_vertices, arcs), 1)
    assert (loads < 0).any()
    assert distance.tolist() == least_lengths(graph.n_vertices, arcs, 1)
    assert certificate.holds, certificate.reason


@pytest.mark.parametrize("variant", FIND_CYCLES)
class TestCycles:
    """Each answer is one cycle, whatever its shape."""

    @pytest.mark.parametrize(
        ("n", "arcs", "expected"),
        [
            (1, [(0, 0, -1)], {(0, 0)}),
            (3, [(0, 1, 5), (1, 1, -1), (1, 2, 1)], {(1, 1)}),
            (2, [(0, 1, -1), (1, 0, -1)], {(0, 1), (1, 0)}),
            (2, [(0, 1, 7), (0, 1, -3), (1, 0, 2), (1, 0, 9)], {(0, 1), (1, 0)}),
            (4, [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 1, -3)], {(1, 2), (2, 3), (3, 1)}),
        ],
        ids=["own-loop", "loop", "mirrored", "parallel", "tail"],
    )
    def test_small_ones(self, device, variant, n, arcs, expected):
        _, distance, predecessor, certificate = solve(device, variant, graph_of(n, arcs))
        if weight_of(expected, arcs) == 0:
            assert distance.tolist() == least_lengths(n, arcs, 0)
        else:
            assert set(cycle_in(distance, predecessor)) == expected
        assert certificate.holds, certificate.reason

    def test_a_cycle_of_weight_0_is_none(self, device, variant):
        arcs = [(0, 1, 4), (1, 2, -3), (2, 3, 1), (3, 1, 2), (3, 4, -9), (4, 3, 9)]
        _, distance, _, certificate = solve(device, variant, graph_of(5, arcs))
        assert distance.tolist() == [0, 4, 1, 2, -7]
        assert certificate.holds, certificate.reason

    def test_a_long_cycle_at_the_end_of_a_long_path(self, device, variant):
        """Its vertices are reached after the search has first looked for a cycle."""
        path, length = 2 * FIRST_WATCHED, 70
        arcs = [(v, v + 1, 1) for v in range(path + length - 1)] + [(path + length - 1, path, -length)]
        graph = graph_of(path + length, arcs)
        _, distance, predecessor, certificate = solve(device, variant, graph)
        assert len(cycle_in(distance, predecessor)) == length
        assert certificate.holds, certificate.reason

    def test_a_cycle_that_no_path_leads_to_does_not_matter(self, device, variant):
        graph = graph_of(4, [(0, 1, -5), (2, 3, -1), (3, 2, -1), (2, 0, 1)])
        _, distance, _, certificate = solve(device, variant, graph)
        assert distance.tolist() == [0, -5, UNREACHED, UNREACHED]
        assert certificate.holds, certificate.reason

    def test_a_cycle_of_the_lightest_arcs(self, device, variant):
        """Their sum leaves 32 bits in the first round."""
        arcs = [(v, (v + 1) % 5, -LARGEST) for v in range(5)]
        _, distance, predecessor, certificate = solve(device, variant, graph_of(5, arcs), 2)
        assert weight_of(cycle_in(distance, predecessor), arcs) == -5 * LARGEST
        assert certificate.holds, certificate.reason

    def test_a_cycle_of_extremes_whose_sum_is_barely_negative(self, device, variant):
        arcs = [(0, 1, LARGEST - 1), (1, 2, -LARGEST), (2, 3, LARGEST - 1), (3, 4, -LARGEST), (4, 0, 1)]
        _, distance, predecessor, certificate = solve(device, variant, graph_of(5, arcs))
        assert weight_of(cycle_in(distance, predecessor), arcs) == -1
        assert certificate.holds, certificate.reason


@pytest.mark.parametrize("variant", TAKES_NEGATIVE)
class TestExtremes:
    def test_the_range_of_lengths(self, device, variant):
        arcs = [(0, 1, -LARGEST), (0, 2, LARGEST - 1), (1, 3, 2 * (LARGEST // 2)), (2, 4, -LARGEST)]
        _, distance, _, certificate = solve(device, variant, graph_of(5, arcs))
        assert distance.tolist() == [0, -LARGEST, LARGEST - 1, -1, -1]
        assert certificate.holds, certificate.reason

    @pytest.mark.parametrize("weight", [-LARGEST, LARGEST])
    def test_sums_beyond_32_bits_are_an_overflow(self, device, variant, weight):
        graph = graph_of(4, [(0, 1, weight), (1, 2, weight), (2, 3, weight)])
        answer, distance, _, certificate = solve(device, variant, graph)
        assert answer.overflowed
        assert distance[0] == 0
        assert distance[3] == UNREACHED
        assert certificate.violations["left_out"] >= 1

    @pytest.mark.parametrize("weights", [(LARGEST, -5, -7, 3), (-LARGEST, -5, 20, -3)], ids=["long", "short"])
    def test_lengths_that_fit_again_after_one_that_does_not(self, device, variant, weights):
        """What hangs on a vertex that is given up is given up, too, with its predecessors."""
        arcs = [(v, v + 1, weight) for v, weight in enumerate(weights)]
        graph = graph_of(7, [*arcs, (0, 5, 1), (5, 6, -2)])
        too_long = graph.lengths.too_long
        for given in ({}, {"distance": "uint32"}) if variant == "edge-bf" else ({},):
            answer, found, predecessor, certificate = solve(device, variant, graph, **given)
            assert certificate.outcome(overflowed=answer.overflowed, too_long=too_long) == ("error", too_long)
            assert found[[0, 3, 4, 5, 6]].tolist() == [0, UNREACHED, UNREACHED, 1, -1]
            assert ((predecessor == NO_PREDECESSOR) == (found == UNREACHED)).all()

    def test_heavy_graphs_are_right_or_fail_for_the_length(self, device, variant):
        outcomes = {"ok": 0, "error": 0}
        for seed in range(60):
            n, arcs = heavy(seed)
            graph = graph_of(n, arcs)
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
        assert min(outcomes.values()) > 10

    def test_detours_beyond_32_bits_do_no_harm(self, device, variant):
        graph = graph_of(4, [(0, 1, LARGEST - 1), (1, 2, 9), (0, 2, 5), (2, 3, -7)])
        _, distance, _, certificate = solve(device, variant, graph)
        assert distance.tolist() == [0, LARGEST - 1, 5, -2]
        assert certificate.holds, certificate.reason

    def test_answers_follow_one_another(self, device, variant):
        """A search from 2 reaches a path that is too long; one from 0 does not."""
        arcs = [(0, 1, -4), (2, 3, -LARGEST // 2), (3, 4, -LARGEST // 2 - 9), (4, 5, -3)]
        solver, _ = prepared(variant, device, graph_of(6, arcs))
        answers = [solver.solve(source) for source in (0, 2, 0)]
        assert [answer.overflowed for answer in answers] == [False, True, False]
        for answer in (answers[0], answers[2]):
            assert device.asnumpy(device.asarray(answer.distance)).tolist() == [0, -4] + 4 * [UNREACHED]


class TestJohnson:
    """Potentials let solvers that take no negative arcs search."""

    @pytest.mark.parametrize("inside", ["near-far", "delta-stepping", "push-pull"])
    def test_distances_are_those_of_the_negative_weights(self, device, inside):
        graphs = []
        for n, arcs in map(drawn, range(150)):
            if least_lengths(n + 1, arcs + [(n, v, 0) for v in range(n)], n) is not None:
                graphs.append((n, arcs))
        n, arcs, first = side_by_side(graphs)
        solver, certifier = prepared("johnson", device, graph_of(n, arcs), inside=inside)
        assert len(graphs) > 50
        for (size, inner), begin in list(zip(graphs, first, strict=True))[:40]:
            answer = solver.solve(begin)
            distance = device.asnumpy(device.asarray(answer.distance))
            assert distance[begin : begin + size].tolist() == least_lengths(size, inner, 0)
            certificate = certifier.check(
                begin, device.asarray(answer.distance), device.asarray(answer.predecessor)
            )
            assert certificate.holds, certificate.reason

    def test_the_time_of_the_potentials_is_shown(self, device):
        solver, _ = prepared("johnson", device, graph_of(2, [(0, 1, -1)]))
        assert solver.resolved["inside"] == "near-far"
        assert solver.resolved["potentials_ms"] > 0

    def test_a_negative_cycle_anywhere_is_named_with_its_weight(self, device):
        arcs = [(0, 1, 1), (2, 3, -5), (3, 2, 2), (3, 3, 0)]
        with pytest.raises(
            Skipped, match=r"^a cycle of 2 arcs through vertex [23] has weight -3; potentials need a graph"
        ):
            prepared("johnson", device, graph_of(4, arcs))

    def test_new_weights_beyond_32_bits_are_refused(self, device):
        arcs = [(0, 1, -LARGEST), (1, 2, -LARGEST), (0, 2, LARGEST)]
        with pytest.raises(Skipped, match=r"^an arc's weight after Johnson's potentials does not fit in 32"):
            prepared("johnson", device, graph_of(3, arcs))

    @staticmethod
    def far_apart():
        """Return a path 0 1 2 3 of weight 0, whose vertex k ends k of the lightest arcs, too."""
        arcs, n = [(0, 1, 0), (1, 2, 0), (2, 3, 0)], 4
        for end in (1, 2, 3):
            vertices = [*range(n, n + end), end]
            arcs += [(u, v, -LARGEST) for u, v in pairwise(vertices)]
            n += end
        return graph_of(n, arcs)

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


def test_potentials_leave_no_arc_negative(device):
    graph = sample_graphs()["random-directed"]
    dice = np.random.default_rng(8)
    height = dice.integers(-500, 500, graph.n_vertices)
    loads = graph.weights.astype(np.int64) + height[graph.targets] - height[graph.tails]
    graph = graph_of(graph.n_vertices, list(zip(graph.tails, graph.targets, loads, strict=True)))
    cycles = NegativeCycles(ResidentGraph.upload(device, graph))
    assert cycles.find(device.xp.ones(graph.n_vertices, dtype=bool)) is None
    potential = device.asnumpy(cycles.potentials)
    assert (graph.weights + potential[graph.tails] - potential[graph.targets] >= 0).all()
    assert potential.max() <= 0


@pytest.mark.parametrize("variant", ["spmv-csr", "bellman-ford-cpu", "johnson", "conventional"])
def test_what_a_run_records(variant):
    graph = graph_of(5, [(0, 1, 4), (1, 2, -3), (2, 1, 2), (3, 4, -9), (4, 3, 9)])
    timing = Timing(repetitions=2, rounds=1, warmup=1)
    run = Run(problem="sssp", graph="g", variant="v", solver=variant, parameters={}, timing=timing)
    result = measure(run, graph, np.array([0, 3]), "host")
    assert [row["source"] for row in result.runs] == [0, 3, 0, 3]
    if variant in FIND_CYCLES:
        assert {row["status"] for row in result.runs} == {"ok"}
        assert all(row["holds"] for row in result.certificates)
        assert [row["reached"] for row in result.runs] == [2, 2, 2, 2]
        assert result.answer["distance"].tolist() == [UNREACHED, ON_CYCLE, ON_CYCLE, UNREACHED, UNREACHED]
    else:
        assert {row["status"] for row in result.runs} == {"skipped"}
        reason = "has weight -1" if variant == "johnson" else "takes weights of type "
        assert all(reason in row["reason"] for row in result.runs)


class TestCertificate:
    """Every rule fails for some answer."""

    @staticmethod
    def broken(device, graph, distance, predecessor, source=0):
        certifier = SsspCertifier(ResidentGraph.upload(device, graph))
        columns = device.asarray(np.int32(distance)), device.asarray(np.uint32(predecessor))
        found = certifier.check(source, *columns)
        assert set(found.violations) == set(RULES)
        assert set(found.first) == {rule for rule, count in found.violations.items() if count}
        return set(found.first)

    @pytest.fixture
    def cyclic(self):
        """Return a graph with cycles 1 2 3 of weight -1, 4 5 of weight 0, and 6 7 of -2, not reachable."""
        arcs = [(0, 1, 3), (1, 2, -4), (2, 3, 1), (3, 1, 2), (1, 4, 1), (4, 5, 7), (5, 4, -7), (4, 3, 1)]
        return graph_of(8, [*arcs, (6, 7, -1), (7, 6, -1), (6, 0, 1)])

    @staticmethod
    def cycle(*vertices):
        """Return the answer that is the cycle of these vertices, each followed by its predecessor."""
        distance, predecessor = np.full(8, UNREACHED), np.full(8, int(NO_PREDECESSOR))
        distance[list(vertices)] = ON_CYCLE
        predecessor[list(vertices)] = np.roll(vertices, -1)
        return distance, predecessor

    def test_a_reachable_negative_cycle_holds(self, device, cyclic):
        assert self.broken(device, cyclic, *self.cycle(3, 2, 1)) == set()
        assert self.broken(device, cyclic, *self.cycle(7, 6), source=6) == set()

    def test_a_cycle_must_be_negative(self, device, cyclic):
        assert self.broken(device, cyclic, *self.cycle(5, 4)) == {"negative"}

    def test_a_cycle_must_be_reachable(self, device, cyclic):
        assert self.broken(device, cyclic, *self.cycle(7, 6)) == {"reachable"}

    def test_a_cycle_must_follow_arcs(self, device, cyclic):
        assert self.broken(device, cyclic, *self.cycle(1, 2, 3)) == {"cycle"}
        assert self.broken(device, cyclic, *self.cycle(2)) == {"cycle"}

    def test_predecessors_must_be_on_the_cycle(self, device, cyclic):
        for wrong in (4, 9, NO_PREDECESSOR):
            distance, predecessor = self.cycle(3, 2, 1)
            predecessor[3] = wrong
            assert self.broken(device, cyclic, distance, predecessor) == {"cycle"}

    def test_all_others_must_be_unreached(self, device, cyclic):
        distance, predecessor = self.cycle(3, 2, 1)
        distance[0] = 0
        assert self.broken(device, cyclic, distance, predecessor) == {"cycle"}
        distance, predecessor = self.cycle(3, 2, 1)
        predecessor[0] = 0
        assert self.broken(device, cyclic, distance, predecessor) == {"cycle"}

    def test_two_cycles_are_not_one(self, device, cyclic):
        distance, predecessor = self.cycle(3, 2, 1)
        others = self.cycle(5, 4)
        distance[4:6], predecessor[4:6] = others[0][4:6], others[1][4:6]
        assert self.broken(device, cyclic, distance, predecessor) == {"cycle"}

    def test_no_distances_are_right_if_a_negative_cycle_is_reachable(self, device, cyclic):
        distance, predecessor = (
            [0, 3, -1, 0, 4, 11, UNREACHED, UNREACHED],
            [0, 0, 1, 2, 1, 4, *2 * [2**32 - 1]],
        )
        assert "overstretched" in self.broken(device, cyclic, distance, predecessor)

    @pytest.fixture
    def path(self):
        return graph_of(4, [(0, 1, 5), (1, 2, -3), (2, 1, 3), (2, 3, -9), (3, 2, 10)])

    def test_right_distances_hold(self, device, path):
        assert self.broken(device, path, [0, 5, 2, -7], [0, 0, 1, 2]) == set()

    @pytest.mark.parametrize(
        ("distance", "predecessor", "rule"),
        [
            ([1, 5, 2, -7], [0, 0, 1, 2], "source"),
            ([0, 5, 2, -7], [1, 0, 1, 2], "source"),
            ([0, 5, 3, -7], [0, 0, 1, 2], "overstretched"),
            ([0, 5, 2, -8], [0, 0, 1, 2], "predecessor"),
            ([0, 5, 2, -7], [0, 0, 3, 2], "predecessor"),
            ([0, 5, 2, UNREACHED], [0, 0, 1, 2**32 - 1], "left_out"),
            ([0, 5, 2, -7], [0, 2, 1, 2], "tree"),
        ],
    )
    def test_wrong_distances(self, device, path, distance, predecessor, rule):
        assert rule in self.broken(device, path, distance, predecessor)

    def test_a_tight_cycle_that_hangs_together_with_nothing(self, device, path):
        """Negative arcs allow predecessors in a circle at a distance that is too short."""
        assert self.broken(device, path, [0, 1, -2, -11], [0, 2, 1, 2]) == {"tree"}

    def test_a_length_below_the_range_is_left_out(self, device):
        graph = graph_of(3, [(0, 1, -LARGEST), (1, 2, -1), (0, 2, 0)])
        assert self.broken(device, graph, [0, -LARGEST, 0], [0, 0, 0]) == {"left_out"}
