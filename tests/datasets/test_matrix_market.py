"""Matrix Market files as graphs: all readable kinds, a real file, and one line for each mistake."""

import pytest

from relaxometer.core.errors import UserError
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.registry import Dataset

BANNER = "%%MatrixMarket matrix coordinate"
SMALL = f"{BANNER} real general\n% by hand\n3 3 3\n1 2 1.5\n2 1 2.26\n3 3 4\n"


def build(file, **parameters):
    dataset = Dataset(format="matrix-market", path=str(file), parameters=parameters)
    return build_graph("small", dataset, files=[file])


def build_text(tmp_path, text, **parameters):
    path = tmp_path / "small.mtx"
    path.write_text(text, encoding="utf-8")
    return build(path, **parameters)


def arcs(graph):
    return list(zip(graph.tails.tolist(), graph.targets.tolist(), graph.weights.tolist(), strict=True))


def test_values_are_scaled_and_rounded(tmp_path):
    graph = build_text(tmp_path, SMALL, weights={"distribution": "values", "scale": 10})
    assert graph.n_vertices == 3
    assert arcs(graph) == [(0, 1, 15), (1, 0, 23)]
    assert graph.metadata["entries_in_file"] == 3


def test_default_weights_are_ones_and_values_are_noted(tmp_path, capsys):
    graph = build_text(tmp_path, SMALL.replace("2.26", "-2.26"))
    assert arcs(graph) == [(0, 1, 1), (1, 0, 1)]
    assert graph.metadata["values_in_file"] == "not used: weights are 1"
    assert "small.mtx: has values, but weights are 1; give `weights:" in capsys.readouterr().err
    pattern = f"{BANNER} pattern general\n3 3 1\n1 2\n"
    assert "values_in_file" not in build_text(tmp_path, pattern).metadata


@pytest.mark.parametrize(
    ("kind", "entries", "expected"),
    [
        ("pattern general", "1 2\n2 3\n", [(0, 1, 1), (1, 2, 1)]),
        ("pattern symmetric", "2 1\n3 2\n", [(0, 1, 1), (1, 0, 1), (1, 2, 1), (2, 1, 1)]),
        ("integer symmetric", "2 1 5\n3 1 6\n", [(0, 1, 1), (0, 2, 1), (1, 0, 1), (2, 0, 1)]),
        ("Real General", "1 2 1e-3\n1 3 .5\n", [(0, 1, 1), (0, 2, 1)]),
    ],
)
def test_kinds_that_are_graphs(tmp_path, kind, entries, expected):
    assert arcs(build_text(tmp_path, f"{BANNER} {kind}\n3 3 2\n{entries}")) == expected


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "real general",
            "complex general",
            "small.mtx:1: '%%MatrixMarket matrix coordinate complex general': not",
        ),
        (f"{BANNER} real general\n", "", "small.mtx:1: '% by hand': expected '%%MatrixMarket"),
        ("real", "pattern", "small.mtx: its field is 'pattern', so weights cannot be its values"),
        ("3 3 3", "3 4 3", "small.mtx:3: '3 4 3': a graph is a square matrix"),
        ("3 3 3", "3 3", "small.mtx:3: '3 3': expected '<rows> <columns> <entries>'"),
        (
            "3 3 3",
            "3 3 4",
            "'3 3 4' announces 4 entries, but 3 follow; the file is incomplete or its header is wrong",
        ),
        ("2 1 2.26", "2, 1 2.26", "small.mtx:5: '2, 1 2.26': row '2,' is not an integer from 1 to 3; fields"),
        ("2 1 2.26", "2 1 -2.26", "small.mtx:5: '2 1 -2.26': value -2.26 is not a number from 0 to"),
        ("2 1 2.26", "2 1", "small.mtx:5: '2 1': 2 fields; expected '<row> <column> <value>'"),
        (SMALL, f"{BANNER} real general\n", "small.mtx: no line '<rows> <columns> <entries>'"),
    ],
)
def test_every_mistake_is_one_line(tmp_path, old, new, message):
    with pytest.raises(UserError) as caught:
        build_text(tmp_path, SMALL.replace(old, new, 1), weights={"distribution": "values"})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_banner_in_the_entry_must_not_contradict_that_of_the_file(tmp_path):
    values = {"distribution": "values"}
    assert build_text(tmp_path, SMALL, weights=values, banner="real general").n_arcs
    with pytest.raises(
        UserError, match=r"small\.mtx:1: .* `banner` of the entry is 'real symmetric'; leave it"
    ):
        build_text(tmp_path, SMALL, weights=values, banner="real symmetric")


def test_real_roads_without_a_banner(road_file):
    graph = build(road_file("road-usroads.mtx.gz"), banner="pattern symmetric")
    assert (graph.n_vertices, graph.n_arcs) == (129_164, 330_870)
    assert graph.largest_component().n_vertices == 126_146
    assert graph.metadata["directed"] is False
