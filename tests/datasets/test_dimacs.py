"""The DIMACS reader: real maps with known answers, and one line for each mistake."""

import gzip
import lzma
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from relaxometer.core.errors import UserError
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.readers.dimacs import arc_lines, read_co, read_gr
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph

GOOD = "c a comment\np sp 3 4\nc\na 1 2 10\na 2 1 10\na 2 3 0\na 1 2 7\n"


def read_text(tmp_path, text):
    path = tmp_path / "small.gr"
    path.write_bytes(text.encode())
    return read_gr(path)


def refusal(tmp_path, text):
    with pytest.raises(UserError) as caught:
        read_text(tmp_path, text)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{tmp_path}/")


def test_vertices_count_from_zero_and_order_is_kept(tmp_path):
    n_vertices, sources, targets, weights = read_text(tmp_path, GOOD)
    assert n_vertices == 3
    assert sources.tolist() == [0, 1, 1, 0]
    assert targets.tolist() == [1, 0, 2, 1]
    assert weights.tolist() == [10, 10, 0, 7]


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gr", bytes), (".gr.gz", gzip.compress), (".gr.xz", lzma.compress)]
)
def test_compression_is_told_by_the_name(tmp_path, suffix, compress):
    path = tmp_path / f"small{suffix}"
    path.write_bytes(compress(GOOD.encode()))
    assert read_gr(path)[0] == 3


@pytest.mark.parametrize(
    "unusual",
    [
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("a 2 3 0", "a  2\t3 0 "),
        GOOD.replace("a 2 3 0", "c in the middle of it\n\na 2 3 0"),
        GOOD.replace("a 2 3 0", f"a 2 3 {'0' * 5000}"),
        GOOD.replace("a 2 3 0", f"a {'0' * 5000}2 3 0 ").replace("c\n", "c x\n"),
        GOOD.removesuffix("\n"),
        "\ufeff" + GOOD,
        "\ufeff" + GOOD.removeprefix("c\n"),
    ],
    ids=[
        "carriage returns",
        "wide spaces",
        "comment among arcs",
        "leading zeros",
        "leading zeros, read slowly",
        "no last newline",
        "a mark of UTF-8",
        "a mark of UTF-8 before the header",
    ],
)
def test_unusual_but_valid_files_read_the_same(tmp_path, unusual):
    for expected, found in zip(read_text(tmp_path, GOOD), read_text(tmp_path, unusual), strict=True):
        np.testing.assert_array_equal(expected, found)


@pytest.mark.parametrize("block", [1, 7, 20])
@pytest.mark.parametrize("text", [GOOD, GOOD.removesuffix("\n")], ids=["whole", "no last newline"])
def test_blocks_are_joined(tmp_path, monkeypatch, block, text):
    expected = read_text(tmp_path, text)
    monkeypatch.setattr("relaxometer.datasets.readers.text.BLOCK", block)
    monkeypatch.setattr("relaxometer.datasets.readers.text.LineFormat.read_slowly", None)
    for one, other in zip(expected, read_text(tmp_path, text), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_mistake_in_a_later_block_names_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr("relaxometer.datasets.readers.text.BLOCK", 10)
    assert "small.gr:7: 'a 1 2 0x7': weight 0x7 is no" in refusal(
        tmp_path, GOOD.replace("a 1 2 7", "a 1 2 0x7")
    )


def test_a_graph_may_have_no_arcs(tmp_path):
    n_vertices, *arcs = read_text(tmp_path, "p sp 5 0\n")
    assert n_vertices == 5
    assert [len(values) for values in arcs] == [0, 0, 0]


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 2)), min_size=1, max_size=30
    )
)
def test_both_readers_agree(arcs):
    data = "".join(f"a {u} {v} {w}\n" for u, v, w in arcs).encode()
    fast, slow = arc_lines(9).read_fast(data), arc_lines(9).read_slowly(None, 1, data)
    assert fast is not None
    for column, expected, found in zip(zip(*arcs, strict=True), fast, slow, strict=True):
        np.testing.assert_array_equal(expected, column)
        np.testing.assert_array_equal(found, column)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a 2 3 0", "a 2 4 0", "small.gr:6: 'a 2 4 0': head 4 is not an integer from 1 to 3"),
        ("a 2 3 0", "a 2 3 -5", "small.gr:6: 'a 2 3 -5': weight -5 is not an integer from 0 to 4294967294"),
        ("a 2 3 0", "a 2 3 4294967295", "weight 4294967295 is not an integer from 0 to 4294967294"),
        ("a 2 3 0", "a 2 3 1.5", "small.gr:6: 'a 2 3 1.5': weight 1.5 is not an integer"),
        ("a 2 3 0", "e 2 3 0", "small.gr:6: 'e 2 3 0': expected an arc 'a <tail> <head> <weight>'"),
        ("a 2 3 0", "p sp 3 4", "small.gr:6: 'p sp 3 4': expected an arc"),
        ("a 2 3 0", "\u00e9" * 80, f"small.gr:6: '{'é' * 75}...': expected an arc"),
        ("p sp 3 4", "p sp 3 5", "small.gr:2: 'p sp 3 5' announces 5 arcs, but 4 follow"),
        ("p sp 3 4", "p max 3 4", "small.gr:2: 'p max 3 4': expected 'p sp <vertices> <arcs>'"),
        ("p sp 3 4", "p sp 4294967296 4", "at most 4294967295 vertices are possible"),
        ("p sp 3 4", "p sp 3 4\np sp 3 4", "small.gr:3: 'p sp 3 4': the file already has a problem line"),
        ("p sp 3 4\n", "", "small.gr:3: 'a 1 2 10': expected a line 'p sp <vertices> <arcs>' before"),
        (GOOD, "c nothing\n", "small.gr: no problem line; expected a line 'p sp <vertices> <arcs>'"),
        (GOOD, "", "small.gr: no problem line"),
    ],
)
def test_every_mistake_names_its_line(tmp_path, old, new, message):
    assert message in refusal(tmp_path, GOOD.replace(old, new, 1))


@pytest.mark.parametrize(("suffix", "compress"), [(".gr.gz", gzip.compress), (".gr.xz", lzma.compress)])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-9], r"^[^\n]*incomplete or damaged: delete it and fetch it again$"),
        (lambda data: b"<html>" + data, "not compressed by .*: it begins with a web page; fetch it again$"),
        (lambda _: GOOD.encode(), r"as its name says: it begins with b'.*'; rename it to cut\.gr$"),
    ],
    ids=["cut", "page", "unpacked"],
)
def test_a_damaged_archive_is_one_line(tmp_path, suffix, compress, damage, message):
    path = tmp_path / f"cut{suffix}"
    path.write_bytes(damage(compress(GOOD.encode() * 50)))
    with pytest.raises(UserError, match=message):
        read_gr(path)


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(UserError, match=r"none\.gr: no such file"):
        read_gr(tmp_path / "none.gr")


@pytest.mark.parametrize(
    ("file", "n_vertices", "n_in_file", "n_arcs", "furthest", "total"),
    [
        ("USA-road-d.NY.gr.gz", 264_346, 733_846, 730_100, 1_440_081, 186_686_642_878),
        ("USA-road-d.BAY.gr.gz", 321_270, 800_172, 794_830, 2_165_941, 295_629_435_062),
    ],
)
def test_real_roads_have_their_published_distances(
    road_file, file, n_vertices, n_in_file, n_arcs, furthest, total
):
    start = time.process_time()
    n_read, sources, targets, weights = read_gr(road_file(file))
    assert time.process_time() - start < 5, "the vectorised path was not taken"
    assert (n_read, len(sources)) == (n_vertices, n_in_file)
    graph = Graph.from_arcs(file, n_read, sources, targets, weights)
    assert graph.n_arcs == n_arcs
    distance = sp.csgraph.dijkstra(graph.to_scipy(), indices=0)
    assert (int(distance.max()), int(distance.sum())) == (furthest, total)


def test_rome_is_directed(road_file):
    n_vertices, sources, _, weights = read_gr(road_file("rome99.gr"))
    assert (n_vertices, len(sources)) == (3_353, 8_870)
    assert (weights.min(), weights.max()) == (1, 12_711)


PLACES = "c\np aux sp co 3\nv 1 -73530767 41085396\nv 3 -73530538 41086098\nv 2 0 -90000000\n"


def test_coordinates_come_in_millionths_of_a_degree(tmp_path):
    path = tmp_path / "small.co"
    path.write_text(PLACES, encoding="utf-8")
    lon, lat = read_co(path, 3)
    np.testing.assert_allclose(lon, [-73.530767, 0, -73.530538])
    np.testing.assert_allclose(lat, [41.085396, -90, 41.086098])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("v 3", "v 4", "small.co:4: 'v 4 -73530538 41086098': vertex 4 is not an integer from 1 to 3"),
        ("v 3", "v 1", "small.co: vertex 1 is placed 2 times; expected once"),
        ("0 -90000000", "0 -90000001", "latitude -90000001 is not an integer from -90000000 to 90000000"),
        ("v 2 0 -90000000\n", "", "small.co:2: 'p aux sp co 3' announces 3 vertices, but 2 follow"),
        ("co 3", "co 4", "announces 4 vertices, but the graph has 3; the files belong to different graphs"),
        ("p aux", "p sp", "small.co:2: 'p sp sp co 3': expected 'p aux sp co <vertices>'"),
    ],
)
def test_every_mistake_in_coordinates_is_one_line(tmp_path, old, new, message):
    path = tmp_path / "small.co"
    path.write_text(PLACES.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read_co(path, 3)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_entry_may_add_coordinates(tmp_path):
    files = [tmp_path / "small.gr", tmp_path / "small.co"]
    for file, text in zip(files, (GOOD, PLACES), strict=True):
        file.write_text(text, encoding="utf-8")
    dataset = Dataset(format="dimacs", path=str(files[0]), coordinates={"path": str(files[1])})
    graph = build_graph("small", dataset, files=files)
    assert graph.lat.tolist() == [41.085396, -90, 41.086098]
    assert graph.metadata["coordinates"] == "small.co"
    assert len(graph.metadata["coordinates_sha256"]) == 64
