"""Layouts assign every arc and piece to the right ranks; ranks read only their part of a graph."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from relaxometer.core.errors import UserError
from relaxometer.distributed.partition import Layout, Numbering
from relaxometer.distributed.stored import _batches as batches_of
from relaxometer.distributed.stored import _tails as tails_of_slice
from relaxometer.distributed.stored import read_slice, stored_block
from relaxometer.graphs.graph import Graph, write_graph
from sample_graphs import sample_graphs

SCHEMES = [
    ("1x1", 1),
    ("2x1", 2),
    ("1x3", 3),
    ("2x3", 6),
    ("4x2", 8),
    ("paired", 2),
    ("paired", 8),
    ("paired", 32),
    ("3x1-dealt", 3),
]


@pytest.mark.parametrize(("scheme", "n_ranks"), SCHEMES)
@pytest.mark.parametrize("n_vertices", [1, 129, 5000])
def test_every_arc_has_its_ends_on_its_rank(scheme, n_ranks, n_vertices):
    layout = Layout(scheme, n_ranks, n_vertices)
    rng = np.random.default_rng(1)
    tails, heads = rng.integers(0, n_vertices, (2, 500)).astype(np.uint32)
    to = layout.rank_of_arcs(tails, heads)
    assert set(to) <= set(range(n_ranks))
    for rank in range(n_ranks):
        place, own = layout.place(rank), to == rank
        for pieces, ends in ((place.heads, heads[own]), (place.tails, tails[own])):
            numbering = Numbering(layout, pieces, np)
            local = numbering.local(ends)
            assert (local >= 0).all()
            np.testing.assert_array_equal(numbering.vertices()[local], ends)
            assert [numbering.local_of(int(vertex)) for vertex in ends] == local.tolist()
            elsewhere = set(range(layout.n_pieces)) - set(pieces)
            firsts = layout.at_places(np.array(sorted(elsewhere), dtype=np.int64) * layout.piece)
            assert all(numbering.local_of(vertex) == -1 for vertex in firsts.tolist())


@pytest.mark.parametrize(("scheme", "n_ranks"), SCHEMES)
def test_an_owner_knows_the_seekers_and_readers_of_its_pieces(scheme, n_ranks):
    layout = Layout(scheme, n_ranks, 10_000)
    places = [layout.place(rank) for rank in range(n_ranks)]
    assert sorted(piece for place in places for piece in place.owned) == list(range(layout.n_pieces))
    for piece in range(layout.n_pieces):
        owner = layout.owner(piece)
        assert piece in places[owner].owned
        seekers = layout.seekers(piece)
        assert seekers[0] == owner
        assert sorted(seekers) == [rank for rank, place in enumerate(places) if piece in place.heads]
        readers = [rank for rank, place in enumerate(places) if piece in {*place.heads, *place.tails}]
        assert sorted(layout.readers(piece)) == readers


@pytest.mark.parametrize("n_ranks", [1, 18])
def test_the_paired_scheme_needs_its_number_of_ranks(n_ranks):
    with pytest.raises(UserError, match=f"2, 8, 32, .* given {n_ranks}$"):
        Layout("paired", n_ranks, 100)


@pytest.mark.parametrize("name", ["one-way", "hub", "random-directed"])
def test_ranks_read_only_what_they_need(tmp_path, monkeypatch, name):
    graph = sample_graphs()[name]
    monkeypatch.setattr("relaxometer.core.files.ROW_GROUP", 50)
    write_graph(graph, tmp_path)
    assert len(tails_of_slice(tmp_path / "vertices.parquet", 0, 0)) == 0
    for first in range(0, graph.n_arcs, 37):
        stop = min(first + 90, graph.n_arcs)
        tails = tails_of_slice(tmp_path / "vertices.parquet", first, stop)
        np.testing.assert_array_equal(tails, graph.tails[first:stop])
        arcs = read_slice(tmp_path / "arcs.parquet", ["target", "weight"], first, stop)
        np.testing.assert_array_equal(arcs["target"], graph.targets[first:stop])
        np.testing.assert_array_equal(arcs["weight"], graph.weights[first:stop])


@pytest.mark.parametrize(
    ("weight", "weight_type", "reason"),
    [
        (0.5, "float32", "weights are of type 'float32'; .* take uint32$"),
        (5, "uint32/uint64", "distances are of type 'uint64'; .* take uint32$"),
    ],
)
def test_ranks_refuse_weights_and_distances_of_another_type(tmp_path, weight, weight_type, reason):
    write_graph(Graph.from_arcs("far", 2, [0], [1], [weight], weight_type=weight_type), tmp_path)
    with pytest.raises(UserError, match=f"^graph far: {reason}"):
        stored_block(OneRank(), "1x1", tmp_path, weighted=True)
    assert read_slice(tmp_path / "arcs.parquet", ["target"], 0, 1)["target"].tolist() == [1]


class OneRank:
    """Stands for the only rank, whose arrays stay on the host."""

    rank, size = 0, 1

    class device:  # noqa: N801
        asarray = staticmethod(np.asarray)


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("arcs", lambda table: table.slice(1), "its files do not have the graph that graph.json describes"),
        ("arcs", lambda table: with_value(table, "target", 900), "its files do not have the graph that"),
        ("arcs", lambda table: with_value(table, "target", None), "column 'target' lacks values"),
        ("arcs", lambda table: table.drop_columns("weight"), "no column 'weight'"),
        ("vertices", lambda table: with_value(table, "offset", 200), "offsets descend"),
        ("vertices", lambda table: table.cast(pa.schema({"offset": pa.string()})), "of type 'string'"),
        ("vertices", None, "not readable as Parquet"),
    ],
)
def test_a_damaged_stored_graph_is_one_line(tmp_path, file, change, message):
    graph = sample_graphs()["random-directed"]
    write_graph(graph, tmp_path)
    path = tmp_path / f"{file}.parquet"
    if change:
        pq.write_table(change(pq.read_table(path, columns=COLUMNS[file])), path)
    else:
        path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(UserError, match=message):
        list(batches_of(OneRank(), tmp_path, graph.n_vertices, graph.n_arcs, True, 50))


COLUMNS = {"arcs": ["target", "weight"], "vertices": ["offset"]}


def with_value(table, name, value):
    values = table[name].to_pylist()
    values[1] = value
    column = pa.array(values, table.schema.field(name).type)
    return table.set_column(table.schema.get_field_index(name), name, column)
