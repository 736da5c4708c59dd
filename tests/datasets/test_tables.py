"""Tables of edges: columns by name, ids of any kind, text, Parquet and Arrow files."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import relaxometer as rx
from built import built, refusal, weights_by_ends
from relaxometer.core.errors import UserError
from relaxometer.datasets.readers import tables
from relaxometer.graphs.graph import read_graph, write_graph

TOWNS = "from,to,name,km\nParis,Lyon,A6,465\nLyon, Marseille ,A7,314\nParis,Marseille,,900\n"


def build(tmp_path, content, name="towns.csv", **parameters):
    file = tmp_path / name
    if isinstance(content, pa.Table):
        (pq.write_table if name.endswith(".parquet") else feather.write_feather)(content, file)
    else:
        file.write_text(content, encoding="utf-8")
    return built("table", file, **parameters)


def edges(graph):
    ids = graph.ids.to_pylist()
    return {(ids[u], ids[v]): weight for (u, v), weight in weights_by_ends(graph).items()}


EDGES = {("Lyon", "Marseille"): 314, ("Paris", "Lyon"): 465, ("Paris", "Marseille"): 900}


@pytest.mark.parametrize(
    ("name", "content", "parameters"),
    [
        ("towns.csv", TOWNS, {}),
        ("towns.csv", f"# roads\n% of France\n{TOWNS}", {"source": 1, "target": "to"}),
        ("towns.csv", f"\ufeff{TOWNS}".replace("\n", "\r\n"), {}),
        ("towns.tsv", TOWNS.replace(",", "\t"), {}),
        ("towns.txt", TOWNS.replace(",", ";"), {"separator": ";"}),
        ("towns.csv", TOWNS.partition("\n")[2], {"header": False, "weight": 4}),
    ],
)
def test_text_tables(tmp_path, name, content, parameters):
    graph = build(tmp_path, content, name, **{"directed": True, "weight": "km", **parameters})
    assert graph.ids.to_pylist() == ["Lyon", "Marseille", "Paris"]
    assert edges(graph) == EDGES
    assert graph.weights.dtype == np.uint32


@pytest.mark.parametrize("name", ["towns.parquet", "towns.arrow"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_binary_tables(tmp_path, name, kind):
    ends = [pa.array(column).cast(kind) for column in zip(*EDGES, strict=True)]
    columns = [*ends, pa.array([314, 465, 900], pa.int16())]
    graph = build(tmp_path, pa.table(columns, ["src", "dst", "cost"]), name, directed=True)
    assert edges(graph) == EDGES


def test_ids_are_numbers_only_if_all_of_them_survive_as_numbers(tmp_path, monkeypatch):
    huge, table = 2**63 + 5, "u,v\n{},10\n10,-3\n"
    assert build(tmp_path, table.format(9)).ids.to_pylist() == [-3, 9, 10]
    assert build(tmp_path, table.format("007")).ids.to_pylist() == ["-3", "007", "10"]
    assert build(tmp_path, f"u,v\n{huge},10\n").ids.to_pylist() == [10, huge]
    monkeypatch.setattr(tables, "BLOCK", 16)  # the first block has numbers only
    mixed = build(tmp_path, "u,v\n-7,10\n7,10\n7,10\n07, 10\n7,x\n")
    assert mixed.ids.to_pylist() == ["-7", "07", "10", "7", "x"]
    assert build(tmp_path, f"u,v\n7,10\n7,10\n7,10\n{huge},10\n").ids.to_pylist() == [7, 10, huge]
    wide = pa.table({"u": pa.array([huge], pa.uint64()), "v": pa.array([3], pa.int32())})
    assert build(tmp_path, wide, "wide.parquet").ids.to_pylist() == [3, huge]


INTEGERS = {"distribution": "values", "type": "uint32"}


@pytest.mark.parametrize(
    ("content", "parameters", "message"),
    [
        ("a,b\n1,2\n", {}, r"no column for `source`; the file has 'a, b'.*`header: false`"),
        (TOWNS, {"weight": "miles"}, "`weight: miles` names no single column; the file has"),
        ("u,u,v\n1,2,3\n", {"source": "u"}, "`source: u` names no single column"),
        (TOWNS, {"source": 2}, "not different columns"),
        ("u,v,km,h\na,b,5,1\n", {}, "which column holds the weights.* one of 'km, h' by `weight`"),
        ("", {}, "no rows"),
        ('# a\nu,v,"w\n1,2,3\n', {}, r"towns.csv:2: 'u,v,\"w': not a row of a table"),
        ("u,v\n", {}, "no rows"),
        ("u,v,cost\na,b,1\n\na,b\n", {}, r"towns.csv:4: 'a,b': 2 columns; expected 3"),
        ("u,v,cost\na,b,1\na,  ,1\n", {}, r"towns.csv:3: .* the column of `target` is empty"),
        ("u,v,cost\na,b,1\na,c,\n", {}, r"towns.csv:3: 'a,c,': the column of `weight` is empty"),
        ("u,v,cost\n'a\n',b,x\n", {}, r"towns.csv:2: "),
        ("u,v,cost\na,b,-1\n", {}, "an undirected edge of negative weight"),
        ("u,v,cost\na,b,1\nb,c,.5\n", {"weights": INTEGERS}, ":3: .*0?.5"),
    ],
)
def test_faults_of_text_tables_are_named(tmp_path, content, parameters, message):
    with pytest.raises(UserError, match=message) as error:
        build(tmp_path, content, **parameters)
    assert "towns.csv" in str(error.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"u": ["a", None], "v": ["b", "c"]}, "row 2: column 'u', `source`, has no value"),
        ({"u": [0.5], "v": [1.5]}, "column 'u', `source`, is of type 'double'; expected integers or texts"),
        ({"u": [1], "v": ["b"]}, "integers, the other texts"),
        ({"u": [1, 2], "v": [2, 3], "cost": [1.0, float("nan")]}, ":2: 'row 2': value nan is not a number"),
        ({"u": [1], "v": [2], "cost": ["x"]}, "`weight`, is of type string; not numbers"),
    ],
)
def test_faults_of_binary_tables_are_named(tmp_path, columns, message):
    with pytest.raises(UserError, match=message):
        build(tmp_path, pa.table(columns), "towns.parquet")


@pytest.mark.parametrize(
    "parameters",
    [{"weight": "km", "weights": {"distribution": "unit"}}, {"separator": "ab"}, {"separator": "1"}],
)
def test_contradictory_parameters_are_refused(tmp_path, parameters):
    with pytest.raises(ValueError, match=r"weight|separator"):
        build(tmp_path, TOWNS, **parameters)


@pytest.mark.parametrize(
    ("content", "parameters", "weights", "said"),
    [
        (TOWNS, {}, {314, 465, 900}, "weights are from the column 'km'"),
        ("1 2 5\n2 3 6\n", {"header": False, "separator": " "}, {5, 6}, "weights are from the column '3'"),
        (
            pa.table({"u": [1, 2], "v": [2, 3], "name": ["a", "b"], "t": [0.5, 2.0]}),
            {},
            {0.5, 2},
            "column 't'",
        ),
        ("u,v,name\n1,2,A6\n", {}, {1}, "every weight is 1: no column besides the ends holds numbers"),
        (TOWNS, {"weights": {"distribution": "unit"}}, {1}, ""),
    ],
)
def test_the_only_further_column_of_numbers_is_the_weight(
    tmp_path, capsys, content, parameters, weights, said
):
    name = "towns.parquet" if isinstance(content, pa.Table) else "towns.csv"
    graph = build(tmp_path, content, name, **parameters)
    assert set(graph.weights.tolist()) == weights
    assert said in capsys.readouterr().err
    assert ("weights_from" in graph.metadata) == (weights != {1})


@pytest.mark.parametrize("texts", [True, False])
def test_ids_stay_with_the_graph(tmp_path, texts):
    graph = build(tmp_path, TOWNS if texts else "u,v\n7,9\n9,300\n")
    write_graph(graph, tmp_path / "built")
    assert read_graph(tmp_path / "built").ids.equals(graph.ids)
    part = graph.induced(np.array([True, False, True]))
    assert part.ids.to_pylist() == [graph.ids[0].as_py(), graph.ids[2].as_py()]
    assert list(rx.Graph.read_parquet(tmp_path / "built").nodes) == graph.ids.to_pylist()
    other = pa.array(["x", "y", "z"], pa.large_string()) if texts else pa.array([1, 2, 3])
    path = tmp_path / "built/vertices.parquet"
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.column_names.index("id"), "id", other), path)
    assert "content_sha256 differs" in refusal(read_graph, tmp_path / "built")
