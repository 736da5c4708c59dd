"""Every SSSP variant with every type of weights and its options, on every kind of graph and device."""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relaxometer.device import get_device
from relaxometer.graphs.lengths import unreached
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.problem import load_problem
from relaxometer.problems.sssp import _tight_tree
from relaxometer.problems.sssp.phase_synchronous.adaptive import PAPER_RATIO, best_thresholds, predicted_us
from relaxometer.problems.variants import Skipped, load_solver, refuse_weights
from sample_graphs import FLOATS, as_type, reference_phases, sample_graphs
from sssp.searches import (
    CASES,
    KINDS,
    VARIANTS,
    graph_of,
    hard_graphs,
    proven,
    small_graphs,
    solved,
    solver_for,
    special_weights,
    variants_for,
)

PHASE_SYNCHRONOUS = ["conventional", "selection", "adaptive"]
BY_PRODUCTS = [("spmv-csr", {"rows": rows}) for rows in ("scalar", "vector", "merge")] + [("spmv-ell", {})]
ON_DEVICE = [name for name in VARIANTS if load_solver("sssp", name).Solver.runs_on == "device"]
HARD = {kind: hard_graphs(kind) for kind in KINDS[1:]}

every_case = pytest.mark.parametrize(("variant", "kind"), CASES)


def test_which_variants_take_which_weights():
    most = {"dijkstra-cpu", *PHASE_SYNCHRONOUS, "near-far", "many-sources", "bellman-ford-queue", "auto"}
    most |= {"delta-stepping", "edge-bf-atomic", "spmv-csr", "spmv-ell", "push-pull", "tiled"}
    negative = {"bellman-ford-queue", "edge-bf-atomic", "spmv-csr", "spmv-ell"}
    assert {kind: set(variants_for(kind)) for kind in (*KINDS, "int32")} == {
        "uint32": set(VARIANTS),
        "uint32/uint64": most,
        "float32": most | {"dijkstra"},
        "float64": most,
        "int32": negative | {"bellman-ford-cpu", "edge-bf", "johnson"},
    }
    far = {kind: unreached(kind.split("/")[-1]) for kind in KINDS}
    assert far == {"uint32": 2**32 - 1, "uint32/uint64": 2**64 - 1, "float32": np.inf, "float64": np.inf}


@pytest.mark.parametrize("kind", [*KINDS[1:], "int32"])
def test_all_others_refuse_in_one_line(kind):
    graph = graph_of(kind, 2, [0], [1], [1])
    for variant in set(VARIANTS) - set(variants_for(kind)):
        with pytest.raises(Skipped, match=r"^takes weights of type [a-z0-9/, ]+, not u?(int|float)(32|64)"):
            refuse_weights(load_problem("sssp"), load_solver("sssp", variant).Solver, graph)


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
@every_case
def test_every_sample_graph(device, variant, kind, graph):
    sources = {0, graph.n_vertices // 2, graph.n_vertices - 1} if kind == "uint32" else {0}
    solved(device, variant, as_type(graph, kind), *sources)


@pytest.mark.parametrize(
    ("variant", "kind", "name"), [(*case, name) for case in CASES for name in HARD.get(case[1], ())]
)
def test_hard_sums(device, variant, kind, name):
    solved(device, variant, HARD[kind][name], 3, phases=[])


def many_graphs(kind, count=300):
    """Random graphs of up to 12 vertices; arcs of weight 0 lead from vertex 0 to a source in each."""
    rng = np.random.default_rng(3)
    tails, heads, weights, n = [], [], [], 1
    for _ in range(count):
        size, arcs = rng.integers(1, 13), rng.integers(0, 41)
        tails += [0, *(n + rng.integers(size, size=arcs))]
        heads += [n + rng.integers(size), *(n + rng.integers(size, size=arcs))]
        weights += [0, *rng.choice(special_weights(kind), arcs)]
        n += int(size)
    return graph_of(kind, n, tails, heads, weights)


MANY = {kind: many_graphs(kind) for kind in KINDS}


@every_case
def test_hundreds_of_random_graphs(device, variant, kind):
    solved(device, variant, MANY[kind], 0)


OPTIONS = {
    "adaptive": [{"to_all_us": 50.0}],
    "near-far": [
        {"narrow": narrow, "wide": 10**6, "delta": delta, "block_target": target, "grid_target": target}
        for narrow in (0, 10**6)
        for delta, target in ((1e-30, 1), (1e-3, 64), (0.1, 1), (1.0, 4), (1e30, 64))
    ]
    + [
        {"narrow": 6, "wide": 8, "delta": 0.3, "block_target": 4, "grid_target": 8},
        {"narrow": 0, "delta": 0.05, "grid_target": 20, "crowd": 20},
        {"narrow": 4, "wide": 4, "delta": 0.2, "grid_target": 6, "crowd": 6},
    ],
    "many-sources": [{"delta": 1e-30, "target": 1}, {"delta": 1e30}],
    "delta-stepping": [{"delta": delta} for delta in (1e-9, 1, 7, 2**31, "median", "max-over-degree")],
    "bellman-ford-queue": [
        {"order": order, **sizes}
        for order, sizes in itertools.product(
            ("fifo", "slf", "lll", "slf-lll"),
            ({"keep": 2}, {"blocks": 1}, {"blocks": 3, "capacity": 32, "keep": 0}),
        )
    ],
    "edge-bf": [
        {"read_only_cache": cache, "blocked": blocked, "distance": distance, "edges_per_thread": each}
        for cache, blocked, distance, each in itertools.product(
            (True, False), (True, False), ("float64", "uint32"), (1, 4)
        )
    ]
    + [{"block": block} for block in (1, 7, 64, 10**6)],
    "edge-bf-atomic": [
        {"blocked": blocked, "edges_per_thread": each}
        for blocked, each in itertools.product((True, False), (1, 4))
    ]
    + [{"block": block} for block in (1, 7, 64, 10**6)],
    "spmv-csr": [{"rows": rows} for rows in ("scalar", "vector", "merge")],
    "tiled": [
        {"tiles": 8, "cut": "ranges", "delta": 1e-12, "leash": 1e-12},
        {"tiles": 8, "cut": "grow", "delta": 1e-12, "leash": "none"},
        {"tiles": 3, "cut": "bisection", "delta": 3.0, "leash": 0.5},
        {"tiles": 2, "cut": "grow", "delta": 3.0, "leash": "auto"},
        {"tiles": 8, "cut": "bisection", "delta": 1e9, "leash": "none"},
    ],
    "push-pull": [
        {"delta": delta, "beta": beta}
        for delta, beta in ((1e-30, 1e-9), (1e-30, 1e9), (40, 4.0), (2**31, 1e-9), (2**40, 64), (3e38, 1e9))
    ],
    "dijkstra": [{"threads": threads} for threads in (128, 256, 512, 1024)],
    "phast": [{"tasks": 3, "middle": 0}, {"tasks": 4, "middle": 9}],
}
"""Parameters that reach the other branches of a variant."""

GRAPHS = {kind: [graph for name, graph in graphs.items() if name != "hubs"] for kind, graphs in HARD.items()}
GRAPHS["uint32"] = [sample_graphs()[name] for name in ("grid", "random-directed", "zero-weights", "hub")]


@pytest.mark.parametrize(
    ("variant", "kind", "parameters"),
    [
        (*case, parameters)
        for case in CASES
        if case[1] in ("uint32", "float64")
        for parameters in OPTIONS.get(case[0], ())
    ],
)
def test_every_option(device, variant, kind, parameters):
    """Also buckets so narrow that one more is the same length, or that the last of 2**32 takes most.

    The other types have these words or this arithmetic; `test_any_small_graph` draws options for them, too.
    """
    for graph in GRAPHS[kind]:
        if not (variant == "phast" and graph.name == "hub"):
            solved(device, variant, graph, 1, **parameters)


@pytest.mark.parametrize("variant", VARIANTS)
@given(data=st.data())
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_small_graph(variant, data):
    """Small weights vanish in large lengths, and zero-length cycles appear where no weight is zero.

    Sums of heavy weights may be too long, and those of floats fall on ties of rounding.
    """
    kind = data.draw(st.sampled_from([kind for name, kind in CASES if name == variant]))
    graph, source = data.draw(small_graphs(kind, heavy=kind == "uint32" and data.draw(st.booleans())))
    parameters = data.draw(st.sampled_from([{}, *OPTIONS.get(variant, ())]))
    if "tiles" in parameters:
        parameters = parameters | {"tiles": min(parameters["tiles"], graph.n_vertices)}
    solved(get_device("host"), variant, graph, source, **parameters)


OF_ORDER = [
    *((name, {}) for name in ON_DEVICE),
    *(("near-far", parameters) for parameters in OPTIONS["near-far"][8:11]),
    *(("tiled", parameters) for parameters in OPTIONS["tiled"][:3]),
    *BY_PRODUCTS,
]
"""Variants whose threads are run in other orders, too."""


@pytest.mark.parametrize(
    ("variant", "kind", "parameters"),
    [(name, kind, given) for name, given in OF_ORDER for kind in KINDS if (name, kind) in CASES],
)
def test_the_order_of_threads_does_not_matter(variant, kind, parameters):
    for seed, graph in enumerate(GRAPHS[kind][:2], 1):
        _, answer = solved(get_device("host", order_seed=seed), variant, graph, 3, **parameters)
        if kind == "uint32" and variant in (*PHASE_SYNCHRONOUS, "delta-stepping", "spmv-csr", "spmv-ell"):
            _, plain = solved(get_device("host"), variant, graph, 3, **parameters)
            np.testing.assert_array_equal(answer.predecessor, plain.predecessor)
            assert answer.phases == plain.phases


@pytest.mark.parametrize(("variant", "kind"), [case for case in CASES if case[1] != "uint32/uint64"])
def test_each_answer_has_its_own_overflow(device, variant, kind):
    """The first path from vertex 0 is too long, none from vertex 2 is, and a detour does no harm."""
    heaviest = FLOATS[kind].largest if kind in FLOATS else 2**32 - 2
    further = heaviest if kind in FLOATS else 1
    arcs = [0, 1, 2, 4, 5, 4], [1, 2, 3, 5, 6, 6], [heaviest, further, 1, heaviest, further, 5]
    resident = ResidentGraph.upload(device, graph_of(kind, 7, *arcs))
    solver = solver_for(variant, resident)
    assert [proven(solver, resident, source).overflowed for source in (0, 2, 0)] == [True, False, True]
    proven(solver, resident, 4)


@pytest.mark.parametrize("pieces", [(0, 1), (3, 5), (1025, 2)])
def test_long_rows_are_followed_in_pieces(device, monkeypatch, pieces):
    monkeypatch.setattr(_tight_tree, "MAX_ROW", pieces[0])
    monkeypatch.setattr(_tight_tree, "MAX_ARCS", pieces[1])
    for name in ("hub", "random-directed"):
        solved(device, "conventional", as_type(sample_graphs()[name], "float64"), 0)


def test_lengths_that_may_need_more_than_62_bits_are_skipped(host_device, monkeypatch):
    monkeypatch.setattr(_tight_tree, "MAX_VERTICES", 89)
    resident = ResidentGraph.upload(host_device, HARD["uint32/uint64"]["heaviest"])
    module = load_solver("sssp", "conventional")
    with pytest.raises(Skipped, match="90 vertices; lengths of paths may need more than 62 bits"):
        module.Solver(resident, module.Parameters())


@pytest.mark.parametrize("graph", sample_graphs().values(), ids=lambda graph: graph.name)
@pytest.mark.parametrize(
    ("variant", "parameters"), [*((name, {}) for name in PHASE_SYNCHRONOUS), *BY_PRODUCTS]
)
def test_phases_are_those_of_a_phase_synchronous_search(device, variant, parameters, graph):
    phases, expected = [], reference_phases(graph, 0)
    _, answer = solved(device, variant, graph, 0, phases=phases, **parameters)
    assert [phase.updated for phase in phases] == expected
    assert answer.phases == len(expected)
    relaxed = graph.degrees[0] if variant in PHASE_SYNCHRONOUS else graph.n_arcs
    assert phases[0].relaxed_arcs == relaxed


class TestAdaptive:
    """The switch between the two ways to make threads."""

    @pytest.mark.parametrize(
        ("to_all_us", "to_selected_us", "modes"),
        [
            (1e12, 1.0, ["selected"] * 4),
            (1e-3, 1e-6, ["selected", "all", "all", "all"]),
            (1e-3, 1e12, ["selected", "all", "selected", "all"]),
        ],
    )
    def test_modes_follow_the_thresholds(self, host_device, to_all_us, to_selected_us, modes):
        thresholds, phases = {"to_all_us": to_all_us, "to_selected_us": to_selected_us}, []
        solved(host_device, "adaptive", sample_graphs()["grid"], 0, phases=phases, **thresholds)
        assert [phase.mode for phase in phases[:4]] == modes

    def test_the_way_back_keeps_the_sources_ratio(self, host_device):
        solver, _ = solved(host_device, "adaptive", sample_graphs()["grid"], 0, to_all_us=350)
        assert solver.resolved == {"to_all_us": 350, "to_selected_us": 350 * PAPER_RATIO}
        assert pytest.approx(330) == 350 * PAPER_RATIO

    @pytest.mark.parametrize(
        ("selected", "everything", "best"),
        [([10.0, 100.0, 10.0], [30.0, 50.0, 30.0], 1800), ([10.0] * 3, [11.0] * 3, 600)],
    )
    def test_tuning_prefers_the_cheaper_mode_of_each_stretch(self, selected, everything, best):
        times = np.repeat(selected, 20), np.repeat(everything, 20)
        assert predicted_us(*times, *best_thresholds(*times)) < 1.05 * best
