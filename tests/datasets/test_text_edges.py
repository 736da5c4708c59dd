"""Plain lists of edges: a real file, numbers with gaps, and one line for each mistake."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import numpy as np
import pytest

from relaxometer.core.errors import UserError
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.readers.text_edges import renumbered
from relaxometer.datasets.registry import Dataset

SMALL = "# FromNodeId\tToNodeId\n0\t7\n7\t3\n3\t0\n0\t7\n"


def build(file, **parameters):
    dataset = Dataset(format="edge-list", path=str(file), parameters=parameters)
    return build_graph("small", dataset, files=[file])


def build_text(tmp_path, text, **parameters):
    path = tmp_path / "small.txt"
    path.write_text(text, encoding="utf-8")
    return build(path, **parameters)


def arcs(graph):
    return list(zip(graph.tails.tolist(), graph.targets.tolist(), graph.weights.tolist(), strict=True))


def test_numbers_are_closed_up(tmp_path):
    directed = build_text(tmp_path, SMALL, directed=True)
    assert directed.n_vertices == 3
    assert arcs(directed) == [(0, 2, 1), (1, 0, 1), (2, 1, 1)]
    assert directed.metadata["lines_in_file"] == 4
    assert build_text(tmp_path, SMALL).n_arcs == 6


@pytest.mark.parametrize(
    "same",
    [SMALL.replace("\t", " "), SMALL.replace("#", "%"), SMALL.replace("7\t3\n", "7\t3\n# between\n\n")],
    ids=["spaces", "percent", "comment between"],
)
def test_other_ways_to_write_it(tmp_path, same):
    assert arcs(build_text(tmp_path, same)) == arcs(build_text(tmp_path, SMALL))


def test_marks_of_encodings_are_read_or_named(tmp_path):
    assert arcs(build_text(tmp_path, f"\ufeff{SMALL}")) == arcs(build_text(tmp_path, SMALL))
    (tmp_path / "small.txt").write_text(SMALL, encoding="utf-16")
    with pytest.raises(UserError, match=r"small\.txt: it is text in UTF-16; save it as UTF-8$"):
        build(tmp_path / "small.txt")


def test_a_third_column_may_be_the_weight(tmp_path):
    text = "1 2 0.5\n2 3 1.25\n"
    weighted = build_text(tmp_path, text, directed=True, weights={"distribution": "values", "scale": 100})
    assert arcs(weighted) == [(0, 1, 50), (1, 2, 125)]
    assert arcs(build_text(tmp_path, text, directed=True)) == [(0, 1, 1), (1, 2, 1)]


def test_values_that_are_not_used_are_noted(tmp_path, capsys):
    text = "1 2 0.5\n2 3 1.25\n"
    graph = build_text(tmp_path, text)
    assert graph.metadata["values_in_file"] == "not used: weights are 1"
    told = "small.txt: has values, but weights are 1; give `weights: {distribution: values}` to use them\n"
    assert told in capsys.readouterr().err
    for weights in ({"distribution": "values"}, {"distribution": "unit"}):
        assert "values_in_file" not in build_text(tmp_path, text, weights=weights).metadata
    assert "values_in_file" not in build_text(tmp_path, "1 2\n").metadata
    assert "has values" not in capsys.readouterr().err


def test_an_edge_listed_both_ways_has_one_weight(tmp_path):
    drawn = {"distribution": "log-uniform", "range": [1, 10**6]}
    assert build_text(tmp_path, "1 2\n2 1\n2 3\n3 2\n", weights=drawn).metadata["directed"] is False


@pytest.mark.parametrize("gap", [1, 10**15], ids=["table", "sorting"])
def test_both_ways_to_renumber_agree(gap):
    random = np.random.default_rng(1)
    sources, targets = random.integers(0, 50, (2, 30))
    n_vertices, *new = renumbered(sources * gap, targets * gap)
    ids = np.unique([sources, targets])
    assert n_vertices == len(ids)
    np.testing.assert_array_equal(ids[new], [sources, targets])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("7\t3", "7\tx", "small.txt:3: '7\\tx': head x is not an integer from 0 to 9223372036854775807"),
        ("7\t3", "from\tto", "9223372036854775807; headers and comments begin with # or %"),
        ("7\t3", "7", "small.txt:3: '7': 1 field; expected '<tail> <head>'"),
        (
            "7\t3",
            "7,3",
            "'7,3': 1 field; expected '<tail> <head>'; fields are separated by spaces or tabs, not commas",
        ),
        (SMALL, "# nothing\n", "small.txt: no edges; expected lines '<tail> <head>'"),
    ],
)
def test_every_mistake_is_one_line(tmp_path, old, new, message):
    with pytest.raises(UserError) as caught:
        build_text(tmp_path, SMALL.replace(old, new, 1))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def tar(content):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("small.txt")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def zipped(content):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("small.txt", content)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "pack", "kind"),
    [
        ("small.zip", zipped, "a zip archive"),
        ("small.bz2", bz2.compress, "compressed by bzip2"),
        ("small.tar", tar, "a tar archive"),
        ("small.tar.gz", lambda content: gzip.compress(tar(content)), "a tar archive"),
        ("small.tar.xz", lambda content: lzma.compress(tar(content)), "a tar archive"),
        ("small.GZ", gzip.compress, "compressed by gzip, which its name does not say by .gz at the end"),
        ("small.txt", lzma.compress, "compressed by xz, which its name does not say by .xz at the end"),
    ],
)
def test_an_archive_is_refused_with_advice(tmp_path, name, pack, kind):
    path = tmp_path / name
    path.write_bytes(pack(SMALL.encode()))
    with pytest.raises(UserError) as caught:
        build(path)
    assert str(caught.value) == f"{path}: it is {kind}; unpack it and name the file inside"


def test_values_must_be_there(tmp_path):
    with pytest.raises(UserError, match=r"small\.txt:2: .* no third field, but the entry takes"):
        build_text(tmp_path, SMALL, weights={"distribution": "values"})


@pytest.mark.parametrize("weights", [{"distribution": "values"}, {"distribution": "unit"}])
@pytest.mark.parametrize(
    ("text", "separator"),
    [("1,2,6\n", "commas"), ("1, 2, 6\n", "commas"), ("a,b\n1,2\n", "commas"), ("1;2;6\n", "semicolons")],
)
def test_other_separators_are_refused_with_advice(tmp_path, text, separator, weights):
    with pytest.raises(UserError, match=r"small\.txt:1: ") as caught:
        build_text(tmp_path, text, weights=weights)
    assert str(caught.value).endswith(f"; fields are separated by spaces or tabs, not {separator}")


def test_real_roads(road_file):
    graph = build(road_file("luxembourg_osm.pairs.gz"))
    assert (graph.n_vertices, graph.n_arcs) == (114_599, 239_332)
    assert graph.component_labels()[0] == 1
