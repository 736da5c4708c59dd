"""A certificate of queries holds for right answers and fails, by the right rule, for each way to be wrong."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, UNREACHED, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.routes import Queries, _balls, _proven_climbs, dijkstra_cpu
from relaxometer.problems.routes.certify import RULES, RoutesCertifier
from route_samples import random_queries
from sample_graphs import sample_graphs

GRAPH = sample_graphs()["grid"]
QUERIES = random_queries(GRAPH, 12, paths=True)
LONGEST = 5
TOO_LONG = Graph.from_arcs("too-long", 4, [0, 1, 2], [1, 2, 3], [MAX_WEIGHT, 1, 1])


class Case:
    """A right answer to `QUERIES`, to be corrupted and checked."""

    def __init__(self, graph=GRAPH, queries=QUERIES):
        self.device = get_device("host")
        self.resident = ResidentGraph.upload(self.device, graph)
        self.asked = queries.upload(self.device)
        solver = dijkstra_cpu.Solver(self.resident, dijkstra_cpu.Parameters())
        columns = solver.solve(self.asked).columns
        self.distance, self.size, self.path = (np.array(columns[name]) for name in columns)
        self.ends = np.cumsum(self.size, dtype=np.int64)

    def begin(self, query):
        return int(self.ends[query] - self.size[query])

    def check(self):
        certifier = RoutesCertifier(self.resident)
        return certifier.check(self.asked, self.distance, self.size, self.path)

    def broken(self):
        certificate = self.check()
        return {rule: certificate.first[rule] for rule, count in certificate.violations.items() if count}


@pytest.fixture
def case():
    return Case()


def test_a_right_answer_holds(case):
    certificate = case.check()
    assert certificate.holds
    assert list(certificate.violations) == list(RULES)
    assert case.size[0] == 1, "from a vertex to itself"
    assert case.size[LONGEST] > 3


def same(value):
    return value


@pytest.mark.parametrize(
    ("distance", "path", "rules"),
    [
        (lambda d: d - 1, same, ["distance", "length"]),
        (lambda d: d + 1, same, ["distance", "length"]),
        (lambda d: UNREACHED, same, ["distance", "listed", "length"]),
        (same, lambda p: p[1:], ["ends", "length"]),
        (same, lambda p: p[:-1], ["ends", "length"]),
        (same, lambda p: [p[0], 0, *p[2:]], ["arcs"]),
        (same, lambda p: [p[0], GRAPH.n_vertices, *p[2:]], ["arcs"]),
        (same, lambda p: [p[0], 2**32 - 1, *p[2:]], ["arcs"]),
        (same, lambda p: [*p[:2], p[0], *p[1:]], ["length"]),
    ],
)
def test_every_rule_can_be_broken(case, distance, path, rules):
    begin, end = case.begin(LONGEST), int(case.ends[LONGEST])
    own = path(case.path[begin:end].tolist())
    case.path = np.concatenate([case.path[:begin], np.uint32(own), case.path[end:]])
    case.size[LONGEST] = len(own)
    case.distance[LONGEST] = distance(int(case.distance[LONGEST]))
    assert case.broken() == dict.fromkeys(rules, LONGEST)
    assert "first at query 5" in case.check().reason


def test_sizes_must_add_up(case):
    case.path = case.path[:-1]
    assert case.broken() == {"listed": 0}


def test_a_distance_beyond_the_cutoff_must_be_left_out(case):
    cut = replace(QUERIES, cutoff=int(case.distance[LONGEST]) - 1)
    case.asked = cut.upload(case.device)
    assert case.broken()["distance"] <= LONGEST
    assert Case(queries=cut).check().holds


def test_an_unreached_pair_must_have_no_path():
    graph = sample_graphs()["two-islands"]
    ends = np.array([[0, 0, 3], [2, 3, 5]], dtype=np.uint32)
    case = Case(graph, Queries("islands", *ends, paths=True))
    assert case.distance.tolist() == [5, UNREACHED, 11]
    assert case.size.tolist() == [3, 0, 3]
    assert case.check().holds
    case.size[1], case.path = 1, np.insert(case.path, 3, 0)
    assert case.broken() == {"listed": 1, "ends": 1, "length": 1}


def test_of_parallel_arcs_the_lightest_counts():
    graph = sample_graphs()["parallel-arcs"]
    ends = np.array([[0], [1]], dtype=np.uint32)
    case = Case(graph, Queries("parallel", *ends, paths=True))
    assert (case.distance.tolist(), case.path.tolist()) == ([4], [0, 1])
    assert case.check().holds


class TestWalks:
    """On free arcs a walk may go round and round, and be as long as the path."""

    @pytest.fixture
    def case(self):
        graph = Graph.from_arcs("free", 3, [0, 1, 1, 2], [1, 0, 2, 2], [0, 0, 5, 0], keep_self_loops=True)
        ends = np.array([[0, 2, 0], [2, 2, 0]], dtype=np.uint32)
        case = Case(graph, Queries("free", *ends, paths=True))
        assert case.distance.tolist() == [5, 0, 0]
        assert case.check().holds
        return case

    @pytest.mark.parametrize(
        ("path", "size", "query"),
        [
            ([0, 1, 0, 1, 0, 1, 2, 2, 2, 2, 0], [9, 1, 1], 0),
            ([0, 1, 0, 1, 2, 2, 0], [5, 1, 1], 0),
            ([0, 1, 2, 2, 2, 0], [4, 1, 1], 0),
            ([0, 1, 2, 2, 2, 0], [3, 2, 1], 1),
            ([0, 1, 2, 2, 0, 1, 0], [3, 1, 3], 2),
        ],
    )
    def test_a_path_returns_to_no_vertex(self, case, path, size, query):
        case.path, case.size = np.uint32(path), np.uint32(size)
        assert case.broken() == {"once": query}

    def test_a_free_ring_may_be_followed_but_not_all_the_way(self):
        n = 40
        ring = np.arange(n)
        graph = Graph.from_arcs("ring", n, ring, (ring + 1) % n, np.zeros(n, dtype=int))
        case = Case(graph, Queries("ring", np.uint32([0]), np.uint32([n - 1]), paths=True))
        assert case.size.tolist() == [n]
        assert case.check().holds
        case.path, case.size = np.uint32([*ring, *ring]), np.uint32([2 * n])
        assert case.broken() == {"once": 0}


def grown(graph, origin, targets, cutoff=2**32 - 2):
    """Return a graph, a ball, the number of its vertices, and marks for its proof."""
    csr = _balls.Csr(graph.offsets, graph.targets, graph.weights)
    ball = _balls._new_ball(graph.n_vertices, graph.n_arcs)
    is_wanted = np.zeros(graph.n_vertices, dtype=np.bool_)
    is_wanted[targets] = True
    n_settled, _ = _balls._grow(csr, ball, origin, np.uint64(cutoff), is_wanted, int(is_wanted.sum()))
    return csr, ball, n_settled, np.zeros(graph.n_vertices, dtype=np.bool_)


def is_proven(csr, ball, n_settled, is_tight, radius, origin=0):
    return _balls._is_proven(csr, ball, origin, n_settled, np.uint64(radius), is_tight)


class TestBalls:
    """The proof of a ball does not rest on the search that has grown it."""

    def setup_method(self):
        self.csr, self.ball, self.n_settled, self.is_tight = grown(GRAPH, 0, [200])
        self.radius = int(self.ball.distance[200])
        self.inner = int(self.ball.settled[self.n_settled // 2])

    def holds(self, radius=None, n_settled=None):
        radius = self.radius if radius is None else radius
        return is_proven(self.csr, self.ball, n_settled or self.n_settled, self.is_tight, radius)

    def test_it_holds_and_no_further(self):
        assert self.n_settled < GRAPH.n_vertices
        assert self.holds()
        assert not self.holds(radius=self.radius + 200), "there are vertices in between"
        assert not self.holds(radius=self.radius - 1), "its own are further away"

    @pytest.mark.parametrize(("vertex", "by"), [("inner", -1), ("inner", 1), ("origin", 1)])
    def test_a_distance_must_be_right(self, vertex, by):
        vertex = self.inner if vertex == "inner" else 0
        self.ball.distance[vertex] = int(self.ball.distance[vertex]) + by
        assert not self.holds()

    def test_a_vertex_must_not_be_left_out(self):
        place = int(self.ball.place[self.inner])
        self.ball.place[self.inner] = -1
        assert not self.holds()
        self.ball.settled[place : self.n_settled - 1] = self.ball.settled[place + 1 : self.n_settled].copy()
        self.ball.place[self.ball.settled[: self.n_settled - 1]] = np.arange(self.n_settled - 1)
        assert not self.holds(n_settled=self.n_settled - 1)

    def test_a_vertex_must_not_be_listed_twice(self):
        self.ball.settled[self.n_settled - 2] = self.ball.settled[self.n_settled - 3]
        assert not self.holds()


def test_a_ball_may_not_float_on_free_arcs():
    graph = Graph.from_arcs("floating", 4, [0, 1, 2, 2], [1, 2, 1, 3], [5, 0, 0, 1])
    csr, ball, n_settled, is_tight = grown(graph, 0, [3])
    assert is_proven(csr, ball, n_settled, is_tight, 6)
    ball.distance[[1, 2, 3]] = [3, 3, 4]  # 1 and 2 hold each other, in either order
    assert not is_proven(csr, ball, n_settled, is_tight, 4)


@given(st.integers(0, 11), st.integers(0, 2**32 - 1))
def test_any_other_distance_is_refused(query, value):
    case = Case(queries=replace(QUERIES, paths=False))
    is_right = case.distance[query] == value
    case.distance[query] = value
    assert case.broken() == ({} if is_right else {"distance": query})


def test_an_unproven_ball_proves_no_answer(case, monkeypatch):
    monkeypatch.setattr(_balls, "distances", lambda csr, pairs, cutoff: (case.distance, False))
    assert case.broken() == {"proof": 0}


class TestClimbs:
    """Climbs in a proven hierarchy, for pairs from many origins on a map."""

    def certified(self, device, graph, queries, monkeypatch, answer=None):
        """Certify an answer, by default the right one; return the certificate and whether climbs sufficed."""
        grown = []
        balls = _balls.distances
        monkeypatch.setattr(_balls, "distances", lambda *given: grown.append(1) or balls(*given))
        certifier = RoutesCertifier(ResidentGraph.upload(device, graph, arcs=False), many_origins=2)
        solver = dijkstra_cpu.Solver(ResidentGraph.upload(device, graph), dijkstra_cpu.Parameters())
        asked = queries.upload(device)
        columns = {name: np.array(column) for name, column in solver.solve(asked).columns.items()}
        if answer is not None:
            columns["distance"] = answer(columns["distance"])
        return certifier.check(asked, **columns), not grown

    @pytest.mark.parametrize("cutoff", [2**32 - 2, 300])
    @pytest.mark.parametrize("graph", [GRAPH, TOO_LONG], ids=lambda graph: graph.name)
    def test_they_prove_answers(self, device, monkeypatch, graph, cutoff):
        queries = random_queries(graph, 70, cutoff=cutoff)
        certificate, is_climbed = self.certified(device, graph, queries, monkeypatch)
        assert certificate.holds, certificate.reason
        assert is_climbed

    @pytest.mark.parametrize("by", [1, -1])
    def test_they_find_a_wrong_distance(self, device, monkeypatch, by):
        def wrong(distance):
            distance[69] = int(distance[69]) + by
            return distance

        queries = random_queries(GRAPH, 70)
        certificate, is_climbed = self.certified(device, GRAPH, queries, monkeypatch, wrong)
        assert certificate.first == {"distance": 69}
        assert is_climbed

    def test_balls_are_grown_where_they_do_not_do(self, device, monkeypatch):
        graph = sample_graphs()["hub"]
        certificate, is_climbed = self.certified(device, graph, random_queries(graph, 20), monkeypatch)
        assert certificate.holds, certificate.reason
        assert not is_climbed

    def test_balls_are_grown_if_climbs_are_not_proven(self, device, monkeypatch):
        monkeypatch.setattr(
            _proven_climbs.ProvenClimbs, "distances", lambda self, queries: (queries.origins, False)
        )
        certificate, is_climbed = self.certified(device, GRAPH, random_queries(GRAPH, 20), monkeypatch)
        assert certificate.holds, certificate.reason
        assert not is_climbed


def test_a_search_that_misses_a_target_is_not_proven():
    """With a cutoff beyond 32 bits, the search gives up a path that is not too long."""
    graph = Graph.from_arcs("too-long", 3, [0, 1], [1, 2], [MAX_WEIGHT, 10])
    csr = _balls.Csr(graph.offsets, graph.targets, graph.weights)
    pairs = _balls.grouped(np.uint32([0, 1]), np.uint32([2, 2]))
    found, is_proven = _balls.distances(csr, pairs, 2**33)
    assert (found.tolist(), is_proven) == ([UNREACHED, 10], False)
    assert _balls.distances(csr, pairs, 2**32 - 2)[1]
