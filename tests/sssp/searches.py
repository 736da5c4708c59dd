"""Searches by variants of SSSP, compared with plain sums and proven: shared by the tests of this folder."""

import numpy as np
import pytest
from hypothesis import strategies as st

from graph_strategies import drawn_graphs
from relaxometer.graphs.graph import MAX_WEIGHT, Graph
from relaxometer.graphs.lengths import LENGTHS, unreached
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp import NO_PREDECESSOR
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.variants import Skipped, load_solver, solver_names, takes_weights
from sample_graphs import FLOATS, reference_distances

KINDS = ("uint32", "uint32/uint64", "float32", "float64")
"""Types of weights that are not negative."""

VARIANTS = solver_names("sssp")


def variants_for(kind):
    """The variants that take weights of this type."""
    return [name for name in VARIANTS if takes_weights(load_solver("sssp", name).Solver, LENGTHS[kind])]


CASES = [(variant, kind) for kind in KINDS for variant in variants_for(kind)]
"""Every variant with every type of weights that it takes."""


def solver_for(variant, resident, **parameters):
    """The solver; the test is skipped if it does not suit the graph or needs a missing package."""
    module = load_solver("sssp", variant)
    try:
        return module.Solver(resident, module.Parameters(**parameters))
    except Skipped as reason:
        pytest.skip(str(reason))


def proven(solver, resident, source, phases=None):
    """Search, compare the answer with plain sums, check its certificate, and return it.

    Where a sum is beyond the type, the answer has to say so.
    """
    device, expected = resident.device, reference_distances(resident.host, source)
    answer = solver.solve(source, phases)
    distance, predecessor = (device.asarray(column) for column in answer.columns.values())
    assert distance.dtype == expected.dtype
    np.testing.assert_array_equal(device.asnumpy(distance), expected)
    without = device.asnumpy(predecessor) == NO_PREDECESSOR
    np.testing.assert_array_equal(without, expected == unreached(expected.dtype))
    certificate = SsspCertifier(resident).check(source, distance, predecessor)
    status, reason = certificate.outcome(overflowed=answer.overflowed, too_long="too long")
    assert status != "invalid", reason
    return answer


def proven_many(resident, solver, sources):
    """Search from many sources at once, compare each answer with plain sums, and check its certificate."""
    device, certifier = resident.device, SsspCertifier(resident)
    distance, predecessor, _ = solver.solve_many(sources)
    assert len(distance) == len(predecessor) == len(sources)
    for i, source in enumerate(sources):
        expected = reference_distances(resident.host, int(source))
        np.testing.assert_array_equal(device.asnumpy(distance[i]), expected, f"source {source}", strict=True)
        certificate = certifier.check(int(source), distance[i], predecessor[i])
        assert certificate.holds, certificate.reason


def solved(device, variant, graph, *sources, phases=None, **parameters):
    """Prove answers from these sources; return the solver and the last answer."""
    resident = ResidentGraph.upload(device, graph)
    solver = solver_for(variant, resident, **parameters)
    for source in sources:
        answer = proven(solver, resident, source, phases)
    return solver, answer


def graph_of(kind, n, tails, heads, weights, name="made"):
    """A graph that keeps its loops and parallel arcs."""
    kept = {"keep_self_loops": True, "keep_parallel": True}
    return Graph.from_arcs(name, n, tails, heads, weights, weight_type=kind, **kept)


def special_weights(kind):
    """Weights that sums round, lose or keep, or that are at the ends of the range."""
    if kind == "uint32":
        return [0, 1, 2, 12, 2**27]
    if kind == "uint32/uint64":
        return [0, 1, 2**31, MAX_WEIGHT - 1, MAX_WEIGHT]
    floats = FLOATS[kind]
    lost, normal = floats.one_lost, float(np.finfo(floats.number).smallest_normal)
    return [0.0, floats.tiny, 3 * floats.tiny, normal, 1.0, lost, lost + 2, 1e30]


def ordinary_weights(kind):
    """A strategy for other weights."""
    if kind in FLOATS:
        return st.floats(0, 2**30, width=8 * np.dtype(kind).itemsize)
    return st.integers(0, 12 if kind == "uint32" else MAX_WEIGHT)


def small_graphs(kind, heavy=False):
    """Draw a graph, mostly of special weights, and a source; of heavy uint32 weights, sums are too long."""
    like = "uint32/uint64" if heavy else kind
    weight = st.sampled_from(special_weights(like)) | ordinary_weights(like)
    return drawn_graphs(weight, weight_type=kind)


def _random(kind, choose, n=90):
    """Random arcs with weights that `choose` draws, a path, and ten vertices out of reach."""
    rng = np.random.default_rng(0)
    tails = np.append(rng.integers(n - 10, size=300), np.arange(n - 11))
    heads = np.append(rng.integers(n - 10, size=300), np.arange(1, n - 10))
    return graph_of(kind, n, tails, heads, choose(rng, len(tails)))


def _chain(kind, n=300):
    """A path of heaviest arcs, or whose first arc is so long that the others add nothing; arcs back."""
    tails, heads = np.arange(n - 1), np.arange(1, n)
    first, others = (FLOATS[kind].one_lost, 0.5) if kind in FLOATS else (MAX_WEIGHT, MAX_WEIGHT - 1)
    weights = np.append(first, np.full(2 * n - 3, others))
    return graph_of(kind, n + 1, np.append(tails, heads), np.append(heads, tails), weights)


def _hubs(kind, leaves=1100):
    """Two hubs with arcs to and from all leaves, more than a pass of a warp follows, and a lone vertex."""
    near, far, ends = np.zeros(leaves, int), np.full(leaves, leaves + 1), np.arange(1, leaves + 1)
    tails, heads = np.concatenate([near, ends, far, ends]), np.concatenate([ends, near, ends, far])
    rng = np.random.default_rng(5)
    weights = 7 * rng.random(4 * leaves) if kind in FLOATS else rng.integers(2**31, MAX_WEIGHT, 4 * leaves)
    return graph_of(kind, leaves + 3, tails, heads, weights)


def hard_graphs(kind):
    """Graphs by name on which sums of a type are lost, rounded, or longer than 32 bits hold."""
    if kind == "uint32/uint64":
        choices = {
            "heaviest": lambda rng, m: rng.choice([MAX_WEIGHT - 1, MAX_WEIGHT], m),
            "zero-or-heaviest": lambda rng, m: rng.choice([0, MAX_WEIGHT, MAX_WEIGHT], m),
            "all-magnitudes": lambda rng, m: rng.choice(2 ** np.arange(32) - 1, m),
        }
    else:
        floats = FLOATS[kind]
        low, high = np.log2(floats.tiny), np.log2(floats.largest) - 10
        choices = {
            "large-and-one": lambda rng, m: rng.choice([1.0, floats.one_lost, floats.one_lost + 2], m),
            "subnormal": lambda rng, m: floats.tiny * rng.integers(0, 1000, m),
            "all-magnitudes": lambda rng, m: 2.0 ** rng.uniform(low, high, m),
            "zero-or-not": lambda rng, m: rng.choice([0.0, 0.1], m),
        }
    graphs = {"chain": _chain(kind), "hubs": _hubs(kind)}
    return graphs | {name: _random(kind, choose) for name, choose in choices.items()}
