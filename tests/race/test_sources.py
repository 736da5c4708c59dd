"""Sources and vertices for untimed searches; files of sources and query sets say what they were drawn for."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from relaxometer.core.errors import UserError
from relaxometer.core.files import write_table
from relaxometer.graphs.graph import Graph
from relaxometer.problems.routes._queries import Spec
from relaxometer.race.requests import request_for_queries, request_for_sources, serves, with_request
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


@pytest.mark.parametrize("ids", [pa.array(["Lyon", "7", "Nice"], pa.large_string()), pa.array([0, 7, 2**40])])
def test_sources_are_given_by_id(ids):
    graph = Graph.from_arcs("town", 3, [0, 1], [1, 2], [1, 1], ids=ids)
    table = sources_table(graph, [str(ids[2]), "7", 0], 1)
    assert table.to_pydict() == {"source": [2, 1, 0], "id": ids.to_pylist()[::-1]}
    with pytest.raises(UserError, match="graph town: has no vertex 'Rome'"):
        sources_table(graph, ["Rome"], 1)
    with pytest.raises(UserError, match="source 7 is out of range; expected 0 to 2, or an id in quotes: '7'"):
        sources_table(graph, [7], 1)
    with pytest.raises(UserError, match="a source is given by number and by id"):
        sources_table(graph, [1, "7"], 1)


TABLE = pa.table({"source": [3, 5]})


def written(folder, request):
    path = folder / "drawn.parquet"
    write_table(with_request(TABLE, request), path)
    assert pq.read_table(path).column_names == ["source"]
    return path


@pytest.mark.parametrize(
    ("drawn", "fitting", "others"),
    [
        (8, [(8, 1), (3, 1)], [(9, 1), (8, 2), ([3, 5], 1)]),
        ([3, 5], [([3, 5], 1)], [([5, 3], 1), (2, 1)]),
    ],
)
def test_sources_of_another_seed_or_too_few_do_not_serve(tmp_path, drawn, fitting, others):
    path = written(tmp_path, request_for_sources(drawn, 1))
    assert all(serves(path, request_for_sources(*wanted)) for wanted in fitting)
    assert not any(serves(path, request_for_sources(*wanted)) for wanted in others)


def test_query_sets_of_other_specs_do_not_serve(tmp_path):
    four = Spec(pairs=4)
    path = written(tmp_path, request_for_queries({"near": four}, 2, 1))
    for specs, draws in (({"near": four}, 1), ({"near": Spec(pairs=4, paths=False)}, 2)):
        assert serves(path, request_for_queries(specs, draws, 1))
    for specs in ({"near": Spec(pairs=99)}, {"far": four}, {"near": four, "far": four}):
        assert not serves(path, request_for_queries(specs, 2, 1))
    assert not serves(path, request_for_queries({"near": four}, 3, 1))


def test_an_edited_file_of_pairs_does_not_serve_and_a_missing_one_does(tmp_path):
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("0 1\n")
    wanted = {"near": Spec(file=str(pairs))}
    path = written(tmp_path, request_for_queries(wanted, 1, 1))
    assert serves(path, request_for_queries(wanted, 1, 1))
    pairs.write_text("0 1\n1 2\n")
    assert not serves(path, request_for_queries(wanted, 1, 1))
    pairs.unlink()
    assert serves(path, request_for_queries(wanted, 1, 1))


@pytest.mark.parametrize("metadata", [None, {"drawn for": "{"}, {"drawn for": "7"}])
def test_a_file_that_does_not_say_is_taken(tmp_path, metadata):
    path = tmp_path / "drawn.parquet"
    write_table(TABLE.replace_schema_metadata(metadata), path)
    assert serves(path, request_for_sources(8, 1))
    path.write_bytes(b"damaged")
    assert serves(path, request_for_sources(8, 1))
