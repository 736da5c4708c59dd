"""PHAST from many sources: every cut of the sweep, and proofs of distances without predecessors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaxometer.datasets.formats.generated import RoadParameters
from relaxometer.datasets.generators.roads import road_like
from relaxometer.device import get_device
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import NO_PREDECESSOR, UNREACHED
from relaxometer.problems.sssp._distance_proof import DistanceProver, zero_components
from relaxometer.problems.sssp._maps import MAX_MEAN
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.sssp.phast import _cch, _preorder, phast_many
from relaxometer.problems.sssp.phast.phast_many import RING_BYTES, Parameters, Solver
from relaxometer.problems.variants import Skipped
from sample_graphs import reference_distances, sample_graphs

MAPS = [graph for graph in sample_graphs().values() if graph.name != "hub"]


def roads():
    return road_like(RoadParameters(rows=28, columns=33), seed=3)


def forest(seed=4):
    """Three parts that no path joins, and vertices of their own; some arcs are one-way, some are free."""
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, 60, (2, 400))
    part = rng.integers(0, 3, 400) * 70
    return Graph.from_arcs("forest", 230, tails + part, heads + part, rng.integers(0, 9, 400))


def solver_for(device, graph, **parameters):
    resident = ResidentGraph.upload(device, graph)
    return resident, Solver(resident, Parameters(**parameters))


def expected(graph, sources):
    return np.array([reference_distances(graph, int(source)) for source in sources])


def check(resident, solver, sources):
    """Check distances and predecessors of one call against a plain search and the certificate."""
    device = resident.device
    distance, predecessor, _ = solver.solve_many(sources)
    certifier = SsspCertifier(resident)
    assert len(distance) == len(predecessor) == len(sources)
    for i, source in enumerate(sources):
        wanted = reference_distances(resident.host, int(source))
        np.testing.assert_array_equal(device.asnumpy(distance[i]), wanted)
        certificate = certifier.check(int(source), distance[i], predecessor[i])
        assert certificate.holds, certificate.reason


@pytest.mark.parametrize("k", [32, 64])
@pytest.mark.parametrize("graph", MAPS, ids=lambda graph: graph.name)
def test_every_sample_graph(device, graph, k):
    """From more sources than a sweep has, some of them given twice."""
    resident, solver = solver_for(device, graph, k=k)
    sources = np.resize(np.arange(graph.n_vertices)[::-1], k + 5)
    check(resident, solver, sources)


@pytest.mark.parametrize("segments", [1, 2, 4, 8, 16, 32, 64, "auto"])
@pytest.mark.parametrize("make", [roads, forest])
def test_distances_are_right_however_the_sweep_is_cut(device, make, segments):
    graph = make()
    resident, solver = solver_for(device, graph, segments=segments)
    check(resident, solver, np.linspace(0, graph.n_vertices - 1, 35).astype(int))


def test_free_arcs_are_followed_in_several_launches(host_device, monkeypatch):
    """From more sources than a grid has rows."""
    monkeypatch.setattr(phast_many, "MAX_PLACES", 7)
    resident, solver = solver_for(host_device, forest())
    assert (resident.host.weights == 0).any()
    check(resident, solver, np.arange(0, 210, 6))


@pytest.mark.parametrize("count", [1, 31, 32, 33, 64, 65, 100])
def test_any_number_of_sources(host_device, count):
    graph = roads()
    _, solver = solver_for(host_device, graph)
    sources = np.arange(count) * 7
    distance = solver.solve_many(sources).distance
    np.testing.assert_array_equal([distance[i] for i in range(count)], expected(graph, sources))
    with pytest.raises(IndexError):
        distance[count]


@pytest.mark.parametrize("seed", [1, 2])
def test_distances_do_not_depend_on_the_order_of_threads(seed):
    resident, solver = solver_for(get_device("host", order_seed=seed), forest(), segments=8)
    check(resident, solver, np.arange(40))


def test_without_predecessors(host_device):
    graph = forest()
    _, solver = solver_for(host_device, graph)
    distance, _ = solver.find_distances([0, 75])
    np.testing.assert_array_equal([distance[0], distance[1]], expected(graph, [0, 75]))


@pytest.mark.parametrize("count", [0, 5])
def test_no_sources_or_too_many_are_refused(host_device, count):
    _, solver = solver_for(host_device, sample_graphs()["grid"], sources=4)
    with pytest.raises(ValueError, match=rf"{count} sources; expected 1 to 4"):
        solver.solve_many(range(count))


def test_a_path_too_long_is_noticed(host_device):
    graph = Graph.from_arcs("too-far", 4, [0, 1, 2, 3], [1, 2, 3, 3], [MAX_WEIGHT, 1, 1, 1])
    _, solver = solver_for(host_device, graph)
    trees = solver.solve_many([1, 0])
    assert trees.overflowed
    assert host_device.asnumpy(trees.predecessor[1]).tolist() == [0, 0, NO_PREDECESSOR, NO_PREDECESSOR]
    assert solver.find_distances([1, 0])[1]
    distance, overflowed = solver.find_distances([1, 3])
    assert not overflowed
    np.testing.assert_array_equal([distance[0], distance[1]], expected(graph, [1, 3]))


def test_a_shortcut_too_long_is_no_error(host_device):
    """From 0, the sum of both halves is beyond 32 bits, and a direct arc is shorter."""
    graph = Graph.from_arcs("detour", 3, [0, 1, 0], [1, 2, 2], [MAX_WEIGHT, 1, 5])
    resident, solver = solver_for(host_device, graph)
    check(resident, solver, np.arange(3))


def test_a_path_of_the_tree_that_does_not_fit_is_skipped(host_device):
    side = 60
    ends = np.array([(a, b) for a in range(side) for b in range(side) if a != b])
    graph = Graph.from_arcs("clique", 30 * side, ends[:, 0], ends[:, 1], np.ones(len(ends), dtype=int))
    resident = ResidentGraph.upload(host_device, graph)
    assert Solver(resident, Parameters()).resolved["height"] == side
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("relaxometer.problems.sssp._maps.SHARED_BYTES", 4 * 32 * side + RING_BYTES - 1)
        with pytest.raises(Skipped, match=f"a path of {side} take {4 * 32 * side} bytes"):
            Solver(resident, Parameters())


@st.composite
def small_graphs(draw):
    n = draw(st.integers(1, 20))
    vertex = st.integers(0, n - 1)
    most = min(60, int(MAX_MEAN) * n)  # with more it is not taken for a map
    arcs = draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 12)), max_size=most))
    tails, heads, weights = zip(*arcs, strict=True) if arcs else ((), (), ())
    loops = draw(st.booleans())
    return Graph.from_arcs("drawn", n, tails, heads, weights, keep_self_loops=loops, keep_parallel=loops)


@given(graph=small_graphs(), k=st.sampled_from([32, 64]), segments=st.sampled_from([1, 4, 64]))
@settings(max_examples=40)
def test_any_small_graph(graph, k, segments):
    resident, solver = solver_for(get_device("host"), graph, k=k, segments=segments)
    check(resident, solver, np.arange(graph.n_vertices))
    sweeps = solver.sweep(np.arange(graph.n_vertices), sums=True)
    assert DistanceProver(resident).check(sweeps.sources, sweeps.labels).certificate.holds


class TestPreorder:
    """The order of the sweep."""

    @pytest.fixture
    def both(self):
        cch = _cch.contract(roads(), 16.0)
        return cch, _preorder.in_preorder(cch)

    def test_every_arc_comes_from_the_path_above(self, both):
        cch, hierarchy = both
        assert sorted(hierarchy.order) == list(range(len(cch.order)))
        rank = _cch.inverse(cch.order)[hierarchy.order]
        path = []
        for position, r in enumerate(rank):
            del path[hierarchy.depth[position] :]
            neighbours = cch.up[cch.offsets[r] : cch.offsets[r + 1]]
            assert set(neighbours) <= set(path)
            assert (path[-1:] or [-1]) == [cch.parent[r]]
            path.append(r)

    def test_arcs_of_a_vertex_are_those_of_the_hierarchy(self, both):
        cch, hierarchy = both
        rank = _cch.inverse(cch.order)[hierarchy.order]
        depth = np.empty(len(rank), dtype=np.int64)
        depth[rank] = hierarchy.depth
        for position, r in enumerate(rank):
            own = slice(cch.offsets[r], cch.offsets[r + 1])
            wanted = set(zip(depth[cch.up[own]].tolist(), cch.downward[own].tolist(), strict=True))
            row, *further = hierarchy.records[slice(*hierarchy.first_record[position : position + 2])]
            assert row[2] == hierarchy.depth[position] | len(further) << 16
            found = [*row[4:].reshape(2, 2).tolist(), *np.array(further).reshape(-1, 2).tolist()]
            found += [[int(hierarchy.depth[position]) - 1, int(row[3])]]
            kept = {(d // 32 if tail else d, w) for tail, (d, w) in enumerate(found[::-1]) if w != UNREACHED}
            assert kept == {(d, w) for d, w in wanted if w != UNREACHED}

    def test_records_above_a_segment_are_those_of_its_ancestors(self, both):
        _, hierarchy = both
        ends = [*hierarchy.path_records[1:].tolist(), len(hierarchy.records) - _preorder.PADDING]
        assert hierarchy.path_records[0] == hierarchy.first_record[-1]
        assert (hierarchy.segment_records == hierarchy.first_record[hierarchy.segments[:-1]]).all()
        for segment, end in enumerate(ends):
            first, place = hierarchy.segments[segment], hierarchy.path_records[segment]
            assert hierarchy.path_lengths[segment] == hierarchy.depth[first]
            for depth in range(hierarchy.depth[first]):
                above = hierarchy.records[place, 0]
                assert hierarchy.depth[above] == depth
                assert above < first < above + hierarchy.records[place, 1]
                own = hierarchy.records[slice(*hierarchy.first_record[above : above + 2])]
                copied = hierarchy.records[place : place + len(own)]
                np.testing.assert_array_equal(copied[:, 1:], own[:, 1:])
                np.testing.assert_array_equal(copied[1:], own[1:])
                place += len(own)
            assert place == end
        assert not hierarchy.records[-_preorder.PADDING :].any()

    def test_segments_have_about_the_same_work(self, both):
        _, hierarchy = both
        ends = hierarchy.segments.astype(np.int64)
        work = np.diff(hierarchy.first_record[ends])
        assert ends[0] == 0
        assert ends[-1] == len(hierarchy.order)
        whole, _ = hierarchy.work
        assert work.sum() == whole
        assert work.max() < 1.6 * whole / len(work)


class TestProof:
    """Proofs without predecessors: right answers hold, and each rule can fail."""

    def proof(self, graph, sources, change=None):
        resident, solver = solver_for(get_device("host"), graph)
        sweeps = solver.sweep(np.array(sources), sums=True)
        if change is not None:
            change(sweeps.labels)
        return DistanceProver(resident).check(sweeps.sources, sweeps.labels), sweeps

    @pytest.mark.parametrize("graph", MAPS, ids=lambda graph: graph.name)
    def test_right_distances_hold_and_sums_agree(self, graph):
        sources = np.resize(np.arange(graph.n_vertices), 40)
        proof, sweeps = self.proof(graph, sources)
        assert proof.certificate.holds, proof.certificate.reason
        assert not proof.wrong.any()
        wanted = expected(graph, sources)
        reached = wanted != UNREACHED
        np.testing.assert_array_equal(sweeps.reached[:40], reached.sum(axis=1))
        np.testing.assert_array_equal(sweeps.farthest[:40], np.where(reached, wanted, 0).max(axis=1))
        np.testing.assert_array_equal(sweeps.total[:40], np.where(reached, wanted, 0).sum(axis=1))
        for name in ("reached", "farthest", "total"):
            np.testing.assert_array_equal(getattr(proof, name), getattr(sweeps, name))

    def test_more_cycles_of_weight_zero_than_a_grid_has_rows(self, device):
        """A chain of 65,536 zero-weight edges; in a second answer the last of them is too near."""
        n = 2 * 65_536
        tails = np.arange(n - 1)
        ends = np.concatenate([tails, tails[::2] + 1]), np.concatenate([tails + 1, tails[::2]])
        weights = np.concatenate([tails % 2, np.zeros(n // 2, dtype=int)])
        prover = DistanceProver(ResidentGraph.upload(device, Graph.from_arcs("chain", n, *ends, weights)))
        sources = np.full(32, UNREACHED)
        sources[:2] = 0
        labels = np.full((1, n, 32), UNREACHED)
        labels[0, :, 0] = labels[0, :, 1] = np.arange(n) // 2
        assert prover.check(device.asarray(sources), device.asarray(labels)).certificate.holds
        labels[0, -2:, 1] -= 1
        proof = prover.check(device.asarray(sources), device.asarray(labels))
        assert proof.certificate.first["tight"] == n - 2
        assert np.flatnonzero(proof.wrong).tolist() == [1]

    @pytest.mark.parametrize(
        ("change", "rule"),
        [
            (lambda d: d.__setitem__((0, 5, 2), d[0, 5, 2] + 1), "overstretched"),
            (lambda d: d.__setitem__((0, 5, 2), d[0, 5, 2] - 1), "tight"),
            (lambda d: d.__setitem__((0, 5, 2), UNREACHED), "overstretched"),
            (lambda d: d.__setitem__((0, 2, 2), 1), "source"),
            (lambda d: d.__setitem__((0, slice(None), 2), d[0, :, 2] + 7), "source"),
        ],
    )
    def test_a_wrong_distance_is_found_and_named(self, change, rule):
        graph = sample_graphs()["grid"]
        proof, _ = self.proof(graph, range(6), change)
        assert proof.certificate.violations[rule] > 0
        assert np.flatnonzero(proof.wrong).tolist() == [2]

    def test_an_unreached_part_that_claims_distances_is_refused(self):
        proof, _ = self.proof(
            sample_graphs()["two-islands"], [0], lambda d: d.__setitem__((0, slice(3, 6), 0), [7, 12, 18])
        )
        assert proof.certificate.violations == {"source": 0, "overstretched": 0, "tight": 1}
        assert proof.certificate.first == {"tight": 3}

    def test_a_free_cycle_cannot_reach_itself(self):
        """Every arc of a free cycle is tight wherever the cycle claims to be."""
        tails, heads, weights = [0, 2, 3, 4, 4], [1, 3, 4, 2, 1], [5, 0, 0, 0, 1]
        graph = Graph.from_arcs("cycle", 5, tails, heads, weights)
        proof, _ = self.proof(graph, [0], lambda d: d.__setitem__((0, slice(2, 5), 0), 4))
        assert proof.certificate.violations == {"source": 0, "overstretched": 0, "tight": 1}
        proof, _ = self.proof(graph, [2, 0])
        assert proof.certificate.holds

    def test_a_free_loop_holds_nobody(self):
        graph = Graph.from_arcs("loop", 3, [0, 1, 2], [1, 2, 2], [5, 7, 0], keep_self_loops=True)
        proof, _ = self.proof(graph, [0], lambda distances: distances.__setitem__((0, 2, 0), 3))
        assert proof.certificate.first == {"tight": 2}

    def test_free_cycles_are_checked_for_more_sources_than_a_block_has_threads(self):
        graph = Graph.from_arcs("cycle", 5, [0, 2, 3, 4, 4], [1, 3, 4, 2, 1], [5, 0, 0, 0, 1])

        def change(distances):
            batch, place = divmod(299, distances.shape[2])
            distances[batch, 2:5, place] = 4

        proof, _ = self.proof(graph, [0] * 300, change)
        assert np.flatnonzero(proof.wrong).tolist() == [299]

    def test_components_of_weight_zero(self):
        graph = Graph.from_arcs(
            "zeros", 6, [0, 1, 1, 2, 3, 3], [1, 0, 2, 3, 3, 4], [0, 0, 0, 0, 0, 1], keep_self_loops=True
        )
        component, members = zero_components(graph)
        assert component.tolist() == [0, 0, *[UNREACHED] * 4]
        assert members.tolist() == [0]
