"""The synthetic Kanto map has the size, weights and phases of the paper's map; its bits never change."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from relaxometer.datasets.build import is_symmetric
from relaxometer.datasets.generators.kanto import WEIGHT_RANGE, build_main_roads, kanto_like
from relaxometer.datasets.parameters import NoParameters
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import content_hash


@pytest.fixture(scope="session")
def kanto():
    return kanto_like(NoParameters(), 1)


def test_the_map_is_like_the_papers(kanto):
    assert kanto.n_vertices == 1_427_876
    assert kanto.n_arcs == pytest.approx(4_584_822, rel=0.005)
    assert is_symmetric(replace(kanto, metadata={}))
    assert kanto.component_labels()[0] == 1
    assert kanto.weights.mean() == pytest.approx(83_666, rel=0.02)
    assert kanto.weights.std() == pytest.approx(184_384, rel=0.02)
    assert WEIGHT_RANGE[0] == kanto.weights.min() < kanto.weights.max() < WEIGHT_RANGE[1]
    assert 138.7 < kanto.lon.min() < kanto.lon.max() < 141
    assert 34.8 < kanto.lat.min() < kanto.lat.max() < 37.2
    expected = "b630a54bfd0853a877400514ca8dcd1cc0e315c84d4fcc3866596eaa06913cdd"
    assert content_hash(kanto) == expected


def test_a_search_takes_as_many_phases_as_on_the_papers_map(kanto):
    """Bellman-Ford takes a phase per arc of the deepest shortest path, and one more."""
    source = np.random.default_rng(3).integers(0, kanto.n_vertices)
    above = dijkstra(kanto.to_scipy(), indices=source, return_predecessors=True)[1]
    above[source] = source
    depth = np.where(above == np.arange(kanto.n_vertices), 0, 1)  # arcs to the vertex in `above`
    while (above != source).any():
        depth += depth[above]
        above = above[above]
    assert 200 <= depth.max() + 1 <= 260


def test_the_main_roads_are_like_the_papers_small_map(kanto):
    entry = Dataset(format="kanto-like-main", extracted_from="kanto-like")
    small = build_main_roads("small", entry, kanto)
    assert small.n_vertices == pytest.approx(310_000, rel=0.02)
    assert small.component_labels()[0] == 1
    assert 2.4 < small.n_arcs / small.n_vertices < 3.2
