"""Vertices for untimed searches: near the sources, with arcs, and never a source."""

import numpy as np

from relaxometer.measure.sources import untimed_vertices
from sample_graphs import sample_graphs

GRID = sample_graphs()["grid"]


def test_neighbours_of_sources_come_first():
    sources = np.array([0, 100])
    found = untimed_vertices(GRID, sources, 4)
    assert len(found) == len(set(found)) == 4
    assert not set(found) & set(sources.tolist())
    for source, near in zip(sources, found[:2], strict=True):
        assert near in GRID.targets[GRID.offsets[source] : GRID.offsets[source + 1]]
    assert (GRID.degrees[found] > 0).all()


def test_the_sources_serve_if_no_other_vertex_has_arcs():
    everywhere = np.flatnonzero(GRID.degrees)
    assert untimed_vertices(GRID, everywhere, 3) == everywhere[:3].tolist()
