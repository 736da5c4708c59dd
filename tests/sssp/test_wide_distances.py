"""Weights of type uint32 with 64-bit distances: every variant that takes them, and the certificates."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, NO_PREDECESSOR, UNREACHED, Graph
from relaxometer.graphs.lengths import LENGTHS, unreached
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import _maps, _tight_tree, auto
from relaxometer.problems.sssp._distance_proof import DistanceProver
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.sssp.near_far import many_sources
from relaxometer.problems.sssp.tiled import tiled
from relaxometer.problems.variants import Skipped, load_solver, solver_names, takes_weights
from relaxometer.studies.throughput import measure_throughput
from sample_graphs import as_wide, exact_distances, sample_graphs

WIDE = LENGTHS["uint32/uint64"]
TAKES_WIDE = [name for name in solver_names("sssp") if takes_weights(load_solver("sssp", name).Solver, WIDE)]
FAR = 2**64 - 1
"""The distance of an unreached vertex."""


def wide(name, n, tails, heads, weights):
    """A graph that keeps its loops and parallel arcs."""
    kept = {"keep_self_loops": True, "keep_parallel": True}
    return Graph.from_arcs(name, n, tails, heads, weights, weight_type="uint32/uint64", **kept)


def random_wide(n, arcs, weights, seed=0):
    """Random arcs, the last ten vertices out of reach, and a path through all others."""
    rng = np.random.default_rng(seed)
    tails = np.append(rng.integers(n - 10, size=arcs), np.arange(n - 11))
    heads = np.append(rng.integers(n - 10, size=arcs), np.arange(1, n - 10))
    return wide("random", n, tails, heads, rng.choice(weights, len(tails)))


def chain(n=300):
    """A path of heaviest arcs, whose length passes 2**40, with shorter ways in every tenth step."""
    tails, heads = np.arange(n - 1), np.arange(1, n)
    weights = np.where(tails % 10 == 0, 0, MAX_WEIGHT - tails)
    return wide(
        "chain", n, np.append(tails, tails), np.append(heads, heads), np.append(weights, weights + tails)
    )


def hubs(leaves=1100):
    """Two hubs with arcs to and from all leaves, more than a pass of a warp follows, and a lone vertex."""
    rng = np.random.default_rng(5)
    near, far = np.zeros(leaves, dtype=int), np.full(leaves, leaves + 1)
    ends = np.arange(1, leaves + 1)
    tails, heads = np.concatenate([near, ends, far, ends]), np.concatenate([ends, near, ends, far])
    return wide("hubs", leaves + 3, tails, heads, rng.integers(MAX_WEIGHT // 2, MAX_WEIGHT, len(tails)))


GRAPHS = {
    "hubs": hubs(),
    "heaviest": random_wide(120, 300, [MAX_WEIGHT, MAX_WEIGHT - 1]),
    "zero-or-heaviest": random_wide(120, 250, [0, MAX_WEIGHT, MAX_WEIGHT]),
    "all-magnitudes": random_wide(120, 40, 2 ** np.arange(32) - 1),
    "chain": chain(),
}


def proven(device, graph, source, answer):
    """Assert that an answer is exact, and proven."""
    columns = [device.asarray(column) for column in answer.columns.values()]
    assert columns[0].dtype == np.uint64
    assert device.asnumpy(columns[0]).tolist() == exact_distances(graph, source)
    certificate = SsspCertifier(ResidentGraph.upload(device, graph)).check(source, *columns)
    assert certificate.holds, certificate.reason
    assert not answer.overflowed


def solve(device, name, graph, source, phases=None, **parameters):
    module = load_solver("sssp", name)
    try:
        solver = module.Solver(ResidentGraph.upload(device, graph), module.Parameters(**parameters))
    except Skipped as reason:
        pytest.skip(str(reason))
    answer = solver.solve(source, phases)
    proven(device, graph, source, answer)
    return solver


def test_variants_of_every_kind_take_them():
    assert {
        "dijkstra-cpu",
        "conventional",
        "selection",
        "adaptive",
        "near-far",
        "many-sources",
        "bellman-ford-queue",
        "delta-stepping",
        "edge-bf-atomic",
        "spmv-csr",
        "spmv-ell",
        "push-pull",
        "tiled",
        "auto",
    } == set(TAKES_WIDE)
    assert unreached(np.uint64) == FAR


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
@pytest.mark.parametrize("name", TAKES_WIDE)
def test_sums_are_exact(device, name, graph):
    graph = as_wide(graph)
    for source in {0, graph.n_vertices - 1}:
        solve(device, name, graph, source)


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("name", TAKES_WIDE)
def test_sums_far_beyond_32_bits(device, name, graph):
    distances = exact_distances(graph, 3)
    assert FAR in distances
    assert max(distance for distance in distances if distance != FAR) > 2**32
    solve(device, name, graph, 3, phases=[])


def test_the_graphs_pass_33_bits_too():
    assert max(d for d in exact_distances(GRAPHS["heaviest"], 3) if d != FAR) > 2**33
    assert max(d for d in exact_distances(GRAPHS["chain"], 3) if d != FAR) > 2**40


@st.composite
def small_graphs(draw):
    n = draw(st.integers(1, 12))
    vertex = st.integers(0, n - 1)
    weight = st.sampled_from([0, 1, 2**31, MAX_WEIGHT - 1, MAX_WEIGHT]) | st.integers(0, MAX_WEIGHT)
    arcs = draw(st.lists(st.tuples(vertex, vertex, weight), max_size=40))
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    return wide("drawn", n, tails, heads, weights), draw(vertex)


@pytest.mark.parametrize("name", TAKES_WIDE)
@given(case=small_graphs())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_drawn_graphs(name, case):
    solve(get_device("host"), name, *case)


PARAMETERS = {
    "near-far": [
        {"narrow": narrow, "wide": 10**6, "delta": delta, "block_target": target, "grid_target": target}
        for narrow in (0, 10**6)
        for delta in (1e-12, 1e-3, 1.0, 1e9)
        for target in (1, 64)
    ]
    + [{"narrow": 0, "delta": 0.05, "grid_target": 20, "crowd": 20}],
    "many-sources": [{"delta": 1e-12, "target": 1}, {"delta": 1e9}],
    "delta-stepping": [{"delta": delta} for delta in (1, 2**16, 2**32 - 1, "median", "max-over-degree")],
    "bellman-ford-queue": [{"order": order, "keep": 2} for order in ("fifo", "slf", "lll", "slf-lll")],
    "edge-bf-atomic": [{"edges_per_thread": 1, "blocked": False, "check_every": 3}],
    "spmv-csr": [{"rows": rows} for rows in ("scalar", "vector", "merge")],
    "tiled": [
        {"tiles": 8, "delta": delta, "leash": leash}
        for delta, leash in ((1e-12, 1e-12), (1e-12, "none"), (3.0, 0.5), (1e9, "none"))
    ],
    "push-pull": [{"delta": delta, "beta": beta} for delta in (1, 2**32, 2**40) for beta in (1e-9, 64, 1e9)],
}


@pytest.mark.parametrize("graph", ["zero-or-heaviest", "all-magnitudes", "chain"])
@pytest.mark.parametrize(
    ("name", "parameters"), [(name, given) for name, several in PARAMETERS.items() for given in several]
)
def test_every_width_and_order_gives_the_answer(device, name, parameters, graph):
    """Also buckets so narrow that the last of 2**32 takes most vertices."""
    solve(device, name, GRAPHS[graph], 1, **parameters)


@pytest.mark.parametrize("cut", ["ranges", "grow", "bisection"])
@pytest.mark.parametrize(("delta", "leash"), [(1e-12, "none"), (3.0, 0.5)])
def test_tiles_in_global_memory(device, monkeypatch, cut, delta, leash):
    monkeypatch.setattr(tiled, "_bytes_in_shared", lambda *_: _maps.SHARED_BYTES + 1)
    graph = as_wide(sample_graphs()["grid"])
    solver = solve(device, "tiled", graph, 4, cut=cut, tiles=5, delta=delta, leash=leash)
    assert not solver.resolved["tiles_in_shared_memory"]


def test_tiles_of_64_bits_need_twice_the_memory(host_device, monkeypatch):
    graph = as_wide(sample_graphs()["grid"])
    need = tiled._bytes_in_shared(graph.n_vertices, WIDE)
    assert need == 2 * tiled._bytes_in_shared(graph.n_vertices, LENGTHS["uint32"])
    for spare, in_shared in ((0, True), (-1, False)):
        monkeypatch.setattr(_maps, "SHARED_BYTES", need + spare)
        solver = solve(host_device, "tiled", graph, 4, tiles=1)
        assert solver.resolved["tiles_in_shared_memory"] == in_shared


@pytest.mark.parametrize("name", TAKES_WIDE)
def test_the_order_of_threads_does_not_matter(name):
    for seed in (1, 2):
        solve(get_device("host", order_seed=seed), name, GRAPHS["zero-or-heaviest"], 5)


def test_many_sources_have_rows_of_64_bits(device):
    graph = GRAPHS["all-magnitudes"]
    solver = many_sources.Solver(ResidentGraph.upload(device, graph), many_sources.Parameters())
    distance = solver.solve_many([4, 0, 110]).distance
    for row, source in zip(device.asnumpy(distance), [4, 0, 110], strict=True):
        assert row.tolist() == exact_distances(graph, source)


def test_other_variants_are_skipped_with_a_reason(host_device):
    rows = measure_throughput(
        GRAPHS["chain"],
        host_device,
        variants=["many-sources", "phast-many"],
        searches=[2],
        repetitions=1,
        seed=1,
    ).to_pylist()
    assert [row["status"] for row in rows] == ["ok", "skipped"]
    assert rows[1]["reason"] == "takes weights of type uint32, not uint32 with distances of type uint64"


def test_auto_leaves_out_variants_that_do_not_take_them(host_device):
    resident = ResidentGraph.upload(host_device, GRAPHS["chain"])
    assert set(auto.candidates(resident)) == {"near-far", "push-pull", "tiled"}


def test_lengths_that_may_need_more_than_62_bits_are_skipped(host_device, monkeypatch):
    monkeypatch.setattr(_tight_tree, "MAX_VERTICES", 119)
    module = load_solver("sssp", "conventional")
    with pytest.raises(Skipped, match="120 vertices; lengths of paths may need more than 62 bits"):
        module.Solver(ResidentGraph.upload(host_device, GRAPHS["heaviest"]), module.Parameters())


class TestCertificate:
    """It finds answers that are wrong by any rule, also by sums that wrap at 2**64."""

    @staticmethod
    def answer():
        """0 -> 1 -> 2 is 2**33 - 4 long, 3 and 4 as far as 1, and 5 unreached."""
        arcs = [0, 1, 1, 3, 4], [1, 2, 3, 4, 3], [MAX_WEIGHT, MAX_WEIGHT, 0, 0, 0]
        graph = wide("right", 6, *arcs)
        distance = np.array([0, MAX_WEIGHT, 2 * MAX_WEIGHT, MAX_WEIGHT, MAX_WEIGHT, FAR], dtype=np.uint64)
        return graph, distance, np.uint32([0, 0, 1, 1, 3, NO_PREDECESSOR])

    @staticmethod
    def broken(device, graph, distance, predecessor, source=0):
        certifier = SsspCertifier(ResidentGraph.upload(device, graph))
        found = certifier.check(source, device.asarray(distance), device.asarray(predecessor))
        return {rule for rule, count in found.violations.items() if count}

    def test_a_right_answer_holds(self, device):
        assert not self.broken(device, *self.answer())

    @pytest.mark.parametrize(
        ("vertex", "length", "rules"),
        [
            (0, 1, {"source", "predecessor"}),
            (0, 2**32, {"source", "predecessor"}),
            (2, 2 * MAX_WEIGHT + 1, {"overstretched", "predecessor"}),
            (2, 2 * MAX_WEIGHT - 1, {"predecessor"}),
            (2, 2 * MAX_WEIGHT - 2**32, {"predecessor"}),  # the same low word
            (2, 2 * MAX_WEIGHT + 2**32, {"overstretched", "predecessor"}),
            (2, FAR, {"left_out", "predecessor"}),
            (5, 7, {"predecessor"}),
        ],
    )
    def test_another_distance(self, device, vertex, length, rules):
        graph, distance, predecessor = self.answer()
        distance[vertex] = length
        assert self.broken(device, graph, distance, predecessor) == rules

    @pytest.mark.parametrize(
        ("vertex", "before", "rules"),
        [
            (0, 1, {"source"}),
            (2, 0, {"predecessor"}),
            (2, NO_PREDECESSOR, {"predecessor"}),
            (5, 0, {"predecessor"}),
            (3, 4, {"tree"}),
        ],
    )
    def test_another_predecessor(self, device, vertex, before, rules):
        graph, distance, predecessor = self.answer()
        predecessor[vertex] = before
        assert self.broken(device, graph, distance, predecessor) == rules

    def test_a_sum_that_wraps_is_not_tight(self, device):
        """2**64 - 5 + 10 is 5 in 64 bits."""
        graph = wide("wraps", 3, [1], [2], [10])
        distance = np.array([0, 2**64 - 5, 5], dtype=np.uint64)
        assert "predecessor" in self.broken(device, graph, distance, np.uint32([0, 1, 1]))

    @given(case=small_graphs(), data=st.data())
    @settings(max_examples=60, deadline=None)
    def test_no_other_distances_hold(self, case, data):
        graph, source = case
        device = get_device("host")
        module = load_solver("sssp", "dijkstra-cpu")
        answer = module.Solver(ResidentGraph.upload(device, graph), module.Parameters()).solve(source)
        distance = answer.distance.copy()
        vertex = data.draw(st.integers(0, graph.n_vertices - 1))
        bit = data.draw(st.integers(0, 63))
        distance[vertex] ^= np.uint64(1 << bit)
        assert self.broken(device, graph, distance, answer.predecessor, source)


class TestDistancesAlone:
    """The proof of distances from many sources without predecessors."""

    @staticmethod
    def check(device, spoil=None):
        graph, sources = GRAPHS["zero-or-heaviest"], np.full(32, UNREACHED)
        sources[:3] = 4, 0, 100
        labels = np.full((1, graph.n_vertices, 32), FAR, dtype=np.uint64)
        for place in range(3):
            labels[0, :, place] = exact_distances(graph, int(sources[place]))
        if spoil:
            spoil(labels[0, :, 1])
        prover = DistanceProver(ResidentGraph.upload(device, graph))
        return graph, prover.check(device.asarray(sources), device.asarray(labels))

    def test_right_distances_hold(self, device):
        graph, proof = self.check(device)
        assert proof.certificate.holds, proof.certificate.reason
        for place, source in enumerate((4, 0, 100)):
            reached = [d for d in exact_distances(graph, source) if d != FAR]
            assert int(proof.reached[place]) == len(reached)
            assert int(proof.farthest[place]) == max(reached)
            assert int(proof.total[place]) == sum(reached)

    @pytest.mark.parametrize("rule", ["source", "overstretched", "tight"])
    def test_wrong_ones_do_not(self, device, rule):
        def spoil(distance):
            farthest = int(np.where(distance == FAR, 0, distance).argmax())
            if rule == "source":
                distance[0] = 1
            else:
                change = 2**32 if rule == "overstretched" else -1
                distance[farthest] = int(distance[farthest]) + change

        _, proof = self.check(device, spoil)
        assert proof.certificate.violations[rule]
        assert proof.wrong.tolist() == [place == 1 for place in range(32)]


def test_a_path_that_32_bits_do_not_hold_names_the_wider_type():
    reason = LENGTHS["uint32"].too_long
    assert reason == (
        "a shortest path is longer than the largest distance of type uint32; "
        "`distances: uint64` in the graph's dataset holds it"
    )
    assert LENGTHS["float32"].too_long == (
        "a shortest path is longer than the largest distance of type float32; "
        "weights of type float64 have distances that hold it"
    )
    assert LENGTHS["float64"].too_long.endswith("distance of type float64")
