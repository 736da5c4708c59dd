"""Vertices for untimed searches: near the sources, with arcs, and never a source."""

import numpy as np
import pyarrow as pa
import pytest

from relaxometer.core.errors import UserError
from relaxometer.graphs.graph import Graph
from relaxometer.race.sources import sources_table, untimed_vertices
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


HALF = Graph.from_arcs("half", 100, np.arange(49), np.arange(1, 50), np.ones(49, dtype=int))
"""Half of its vertices have no arcs."""


def drawn(count, seed):
    return sources_table(HALF, count, seed)["source"].to_pylist()


def test_drawn_sources_have_arcs_and_follow_the_seed():
    assert sorted(drawn(1000, 1)) == np.flatnonzero(HALF.degrees).tolist()
    assert drawn(8, 1) == drawn(20, 1)[:8] != drawn(8, 2)


def test_sources_that_cannot_be_had_are_one_line():
    with pytest.raises(UserError, match="graph empty: no vertex has arcs, so no source can be drawn"):
        sources_table(Graph.from_arcs("empty", 3, [], [], []), 2, 1)
    with pytest.raises(UserError, match="graph half: keeps no ids: give numbers"):
        sources_table(HALF, ["7"], 1)
    with pytest.raises(UserError, match=r"source 100 is out of range; expected 0 to 99 \(config"):
        sources_table(HALF, [100], 1)


@pytest.mark.parametrize("ids", [pa.array(["Lyon", "7", "Nice"], pa.large_string()), pa.array([-3, 7, 9])])
def test_sources_are_given_by_id(ids):
    graph = Graph.from_arcs("town", 3, [0, 1], [1, 2], [1, 1], ids=ids)
    table = sources_table(graph, ["7", 0], 1)
    assert table.to_pydict() == {"source": [1, 0], "id": [ids[1].as_py(), ids[0].as_py()]}
    with pytest.raises(UserError, match="graph town: has no vertex 'Rome'"):
        sources_table(graph, ["Rome"], 1)
    with pytest.raises(UserError, match="a source is given by number and by id"):
        sources_table(graph, [1, "7"], 1)
