"""Files of graphs that are damaged, or not what their names say: one line each."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from built import refusal
from relaxometer.graphs.batch import Batch, read_batch, write_batch
from relaxometer.graphs.files import read_sources
from relaxometer.graphs.graph import Graph, content_hash, read_degrees, read_graph, write_graph

BATCH = Batch.from_graphs("two", [("gg", 2, [0, 0], [0, 1], 0), ("other", 3, [0, 2], [2, 1], 0)])
CHANGED = "the graph is not the one that was written (content_sha256 differs); delete the folder and"


@pytest.fixture
def folder(tmp_path):
    arcs, places = ([0, 1, 1, 2], [1, 0, 2, 1], [5, 5, 7, 7]), np.arange(4.0)
    write_graph(Graph.from_arcs("small", 4, *arcs, lon=places, lat=places), tmp_path)
    return tmp_path


def short_refusal(read, *arguments):
    message = refusal(read, *arguments)
    assert len(message) < 400
    return message


def change(path, **columns):
    """Replace columns of a Parquet file."""
    table = pq.read_table(path)
    for name, values in columns.items():
        table = table.set_column(table.schema.get_field_index(name), name, values)
    pq.write_table(table, path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("null", "expected keys and values, found 'None'"),
        ("9" * 5000, "not readable as JSON (Exceeds the limit"),
        ("\xff", "not readable as JSON ('utf-8' codec"),
        ({"vertices": "4"}, "vertices is '4', expected a count"),
        ({"arcs": ...}, "no key 'arcs'"),
        ({"name": ["n" * 500]}, "name is \"['nnn"),
        ({"content_sha256": None}, "content_sha256 is 'None', expected text"),
        ({"parameters": [4]}, "parameters is '[4]', expected keys and values"),
        ({"search_keys": ["\x1b]0;owned\x07"]}, "search_keys is not a list of vertices"),
    ],
)
def test_a_wrong_description_is_one_line(folder, text, message):
    path = folder / "graph.json"
    if isinstance(text, dict):
        changed = json.loads(path.read_text(encoding="utf-8")) | text
        text = json.dumps({key: value for key, value in changed.items() if value is not ...})
    path.write_bytes(text.encode("latin-1"))
    refused = short_refusal(read_graph, folder)
    assert refused.startswith(f"{path}: ")
    assert message in refused
    assert refused.endswith("; delete the folder and build it again")


@pytest.mark.parametrize(
    ("file", "column", "values", "message"),
    [
        ("arcs", "target", pa.array(["a", "b", "c", "d"]), "'target' is of type 'string', expected uint32"),
        ("arcs", "weight", pa.array([1, 2, None, 4], pa.uint32()), "column 'weight' lacks values"),
        ("vertices", "offset", pa.array(["0"] * 4), "'offset' is of type 'string', expected int64"),
        ("arcs", "weight", pa.array([5, 5, 6, 7], pa.uint32()), CHANGED),
        ("vertices", "offset", pa.array([0, 2, 3, 4]), CHANGED),
        ("vertices", "lat", pa.array([0, 1, 2.5, 3]), CHANGED),
    ],
)
def test_another_type_or_value_is_one_line(folder, file, column, values, message):
    path = folder / f"{file}.parquet"
    change(path, **{column: values})
    refused = short_refusal(read_graph, folder)
    assert refused.startswith(f"{folder}: " if message == CHANGED else f"{path}: column ")
    assert message in refused


@pytest.mark.parametrize(
    ("read", "file"),
    [
        *((read_graph, file) for file in ("vertices.parquet", "arcs.parquet", "graph.json")),
        *(
            (read_batch, file)
            for file in ("graphs.parquet", "vertices.parquet", "arcs.parquet", "batch.json")
        ),
    ],
)
@pytest.mark.parametrize(
    "damage", [lambda data: data[:-20], lambda data: b"", None], ids=["cut", "empty", "no"]
)
def test_a_damaged_or_missing_file_is_one_line(folder, read, file, damage):
    if read is read_batch:
        write_batch(BATCH, folder)
    path = folder / file
    if damage:
        path.write_bytes(damage(path.read_bytes()))
    else:
        path.unlink()
    assert f"{file}: not readable as " in short_refusal(read, folder)


@pytest.mark.parametrize(
    ("file", "columns"),
    [
        ("graphs", {"name": pa.array(["gg", "another"])}),
        ("graphs", {"arcs": pa.array([2, 1])}),
        ("graphs", {"entry": pa.array([0, 1], pa.uint32())}),
        ("vertices", {"offset": pa.array([0, 99, 2, 3, 4])}),
        ("arcs", {"target": pa.array([0, 1, 0, 2], pa.uint32())}),
    ],
)
def test_a_changed_value_of_a_batch_is_one_line(tmp_path, file, columns):
    write_batch(BATCH, tmp_path)
    change(tmp_path / f"{file}.parquet", **columns)
    said = "the batch is not the one that was written (not what batch.json says); delete the folder and"
    assert refusal(read_batch, tmp_path) == f"{tmp_path}: {said} build it again"


def test_a_missing_row_a_doubled_column_and_names_that_are_not_utf_8_are_one_line(folder):
    path = folder / "arcs.parquet"
    whole, table = path.read_bytes(), pq.read_table(path)
    pq.write_table(table.slice(0, 3), path)
    assert "arcs.parquet: 3 rows, but graph.json says 4; delete" in short_refusal(read_graph, folder)
    pq.write_table(table.append_column("target", table["target"]), path)
    assert "no column 'target'" in short_refusal(read_graph, folder)
    path.write_bytes(whole.replace(b"weight", b"\xff\xfe\xfd\xff\xff\xff"))
    assert short_refusal(read_graph, folder).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("file", "columns"), [("arcs", {"target": [1, 0, 2, 9]}), ("vertices", {"offset": [0, 3, 1, 4]})]
)
def test_a_graph_that_is_none_is_refused_even_with_its_own_hash(folder, file, columns):
    ((name, values),) = columns.items()
    kind = pa.uint32() if name == "target" else pa.int64()
    change(folder / f"{file}.parquet", **{name: pa.array(values, kind)})
    vertices, arcs = (pq.read_table(folder / f"{file}.parquet") for file in ("vertices", "arcs"))
    offsets = np.append(vertices["offset"].to_numpy(), 4)
    columns = (arcs["target"], arcs["weight"], vertices["lon"], vertices["lat"])
    forged = Graph("small", offsets, *(column.to_numpy() for column in columns))
    description = folder / "graph.json"
    content = json.loads(description.read_text(encoding="utf-8")) | {"content_sha256": content_hash(forged)}
    description.write_text(json.dumps(content), encoding="utf-8")
    assert "the graph is not the one that was written" in short_refusal(read_graph, folder)


def test_degrees_are_read_as_carefully(folder):
    change(folder / "vertices.parquet", offset=pa.array(["0"] * 4))
    assert "expected int64" in short_refusal(read_degrees, folder)
    change(folder / "vertices.parquet", offset=pa.array([0, 3, 1, 4]))
    assert "vertices.parquet: offsets descend" in short_refusal(read_degrees, folder)


def test_names_of_a_batch_that_are_not_utf_8_are_one_line(tmp_path):
    write_batch(BATCH, tmp_path)
    ends = pa.array([0, 1, 2], pa.int32()).buffers()[1]
    text = pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"\x80g")])
    change(tmp_path / "graphs.parquet", name=text)
    assert short_refusal(read_batch, tmp_path).startswith(
        f"{tmp_path}/graphs.parquet: not readable as Parquet"
    )


def test_sources_are_read(tmp_path):
    path = tmp_path / "g.parquet"
    pq.write_table(pa.table({"source": [3, 0, 2]}), path)
    assert read_sources(path, 4).tolist() == [3, 0, 2]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"source": [0, 4]}, "source 4 is out of range; expected 0 to 3"),
        ({"source": ["0"]}, "column 'source' is of type 'string', expected int64"),
        ({"source": [None, 1]}, "column 'source' lacks values"),
        ({"target": [1]}, "no column 'source'"),
        (None, "not readable as Parquet"),
    ],
)
def test_wrong_sources_are_one_line(tmp_path, columns, message):
    path = tmp_path / "g.parquet"
    if columns:
        pq.write_table(pa.table(columns), path)
    else:
        path.write_bytes(b"PAR1 damaged PAR1")
    refused = short_refusal(read_sources, path, 4)
    assert refused.startswith(f"{path}: ")
    assert message in refused
    assert refused.endswith("; delete the file, and it is drawn again")
