"""The synthetic Kanto map has the size, weights and search dynamics of the paper's map."""

import numpy as np
import pytest
from numba import njit

from relaxometer.datasets.generators.kanto import WEIGHT_RANGE, build_main_roads, kanto_like, log_uniform
from relaxometer.datasets.parameters import NoParameters
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import content_hash

SMALL_PHASE = 10_000
SOURCES = 1


@pytest.fixture(scope="module")
def kanto():
    return kanto_like(NoParameters(), 1)


@njit
def phase_profile(offsets, targets, weights, source, updated):
    """Fill `updated` with the vertices that each phase updates; return the number of phases."""
    n = len(offsets) - 1
    settled = np.full(n, 2**62, dtype=np.int64)
    proposed = settled.copy()
    settled[source] = proposed[source] = 0
    listed = np.zeros(n, dtype=np.bool_)
    frontier, following = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    frontier[0], size, phase = source, 1, 0
    while size:
        count = 0
        for v in frontier[:size]:
            for i in range(offsets[v], offsets[v + 1]):
                head = np.int64(targets[i])
                if settled[v] + weights[i] < proposed[head]:
                    proposed[head] = settled[v] + weights[i]
                    if not listed[head]:
                        listed[head], following[count] = True, head
                        count += 1
        for v in following[:count]:
            settled[v], listed[v] = proposed[v], False
        frontier, following, size = following, frontier, count
        updated[phase] = size
        phase += 1
    return phase


def profiles(graph):
    updated = np.zeros(5000, dtype=np.int64)
    sources = np.random.default_rng(3).integers(0, graph.n_vertices, SOURCES)
    csr = graph.offsets, graph.targets, graph.weights
    return [updated[: phase_profile(*csr, source, updated)].copy() for source in sources]


def test_the_map_is_like_the_papers(kanto):
    assert kanto.n_vertices == 1_427_876
    assert kanto.n_arcs == pytest.approx(4_584_822, rel=0.005)
    assert (kanto.to_scipy() != kanto.to_scipy().T).nnz == 0
    assert kanto.component_labels()[0] == 1
    assert kanto.weights.mean() == pytest.approx(83_666, rel=0.02)
    assert kanto.weights.std() == pytest.approx(184_384, rel=0.02)
    assert WEIGHT_RANGE[0] == kanto.weights.min() < kanto.weights.max() < WEIGHT_RANGE[1]
    assert 138.7 < kanto.lon.min() < kanto.lon.max() < 141
    assert 34.8 < kanto.lat.min() < kanto.lat.max() < 37.2


@pytest.mark.slow
def test_a_search_moves_over_it_as_over_the_papers_map(kanto):
    searches = profiles(kanto)
    phases = [len(search) for search in searches]
    assert min(phases) >= 200
    assert max(phases) <= 260
    assert min(search.max() for search in searches) > 500_000
    small = np.mean(np.concatenate(searches) <= SMALL_PHASE)
    assert 0.50 <= small <= 0.68


def test_the_main_roads_are_like_the_papers_small_map(kanto):
    entry = Dataset(format="kanto-like-main", extracted_from="kanto-like")
    small = build_main_roads("small", entry, [], kanto)
    assert small.n_vertices == pytest.approx(310_000, rel=0.02)
    assert small.component_labels()[0] == 1
    assert 2.4 < small.n_arcs / small.n_vertices < 3.2


def test_the_bits_never_change(kanto):
    expected = "b630a54bfd0853a877400514ca8dcd1cc0e315c84d4fcc3866596eaa06913cdd"
    assert content_hash(kanto) == expected


def test_log_uniform_integers():
    drawn = log_uniform(np.random.default_rng(0), 100_000, 10, 1_000_000)
    assert drawn.min() == 10
    assert drawn.max() < 1_000_000
    decades = np.bincount(np.floor(np.log10(drawn)).astype(int), minlength=6)[1:]
    np.testing.assert_allclose(decades, 20_000, rtol=0.03)
