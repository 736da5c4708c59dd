"""Text formats of graphs: real maps with known answers, and one line for each mistake in a file."""

import bz2
import gzip
import io
import lzma
import tarfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from built import built, built_from, refusal, weighted_arcs
from relaxometer.core.errors import UserError
from relaxometer.datasets.readers import numbering
from relaxometer.datasets.readers.dimacs import arc_lines, read_co, read_gr
from relaxometer.datasets.readers.text import FREE_VERTICES, VERTICES_PER_ITEM
from relaxometer.datasets.registry import load_registry
from relaxometer.graphs.describe import either_way, hops_in
from relaxometer.graphs.graph import Graph, content_hash

GR = "c a comment\np sp 3 4\nc\na 1 2 10\na 2 1 10\na 2 3 0\na 1 2 7\n"
PLACES = "c\np aux sp co 3\nv 1 -73530767 41085396\nv 3 -73530538 41086098\nv 2 0 -90000000\n"
PACE = "c roads\np tw 4 3\n1 2\n2 3\n4 2\n"
BANNER = "%%MatrixMarket matrix coordinate"
MTX = f"{BANNER} real general\n% by hand\n3 3 3\n1 2 1.5\n2 1 2.26\n3 3 4\n"
PAIRS = "# FromNodeId\tToNodeId\n0\t7\n7\t3\n3\t0\n0\t7\n"
SAMPLES = {"dimacs": GR, "topology": PACE, "matrix-market": MTX, "edge-list": PAIRS}
VALUES = {"distribution": "values"}
OWN = Path(__file__).parents[2] / "resources/datasets.yaml"


@pytest.mark.parametrize(
    ("form", "content", "parameters", "expected"),
    [
        ("dimacs", "p sp 5 0\n", {}, []),
        ("edge-list", "1 2\n2 1\n", {}, [(0, 1, 1), (1, 0, 1)]),
        ("matrix-market", MTX, {"weights": {**VALUES, "scale": 10}}, [(0, 1, 15), (1, 0, 23)]),
        ("matrix-market", MTX.replace("2.26", "-2.26"), {}, [(0, 1, 1), (1, 0, 1)]),
        ("matrix-market", MTX, {"banner": "real general"}, [(0, 1, 1), (1, 0, 1)]),
        ("matrix-market", f"{BANNER} pattern general\n3 3 1\n1 2\n", {}, [(0, 1, 1)]),
        ("matrix-market", f"{BANNER} Integer Symmetric\n3 3 1\n3 1 6\n", {}, [(0, 2, 1), (2, 0, 1)]),
    ],
)
def test_small_files_are_graphs(tmp_path, form, content, parameters, expected):
    assert weighted_arcs(built_from(tmp_path, form, content, **parameters)) == expected


@pytest.mark.parametrize(
    ("form", "unusual"),
    [
        ("dimacs", GR.replace("\n", "\r\n")),
        ("dimacs", GR.replace("a 2 3 0", "a  2\t3 0 ")),
        ("dimacs", GR.replace("a 2 3 0", "c in the middle of it\n\na 2 3 0")),
        ("dimacs", GR.replace("a 2 3 0", f"a {'0' * 5000}2 3 0 ").replace("c\n", "c x\n")),
        ("dimacs", GR.removesuffix("\n")),
        ("dimacs", "\ufeff" + GR),
        ("dimacs", "\ufeff" + GR.removeprefix("c\n")),
        ("edge-list", "\ufeff" + PAIRS),
        ("edge-list", PAIRS.replace("\t", " ").replace("#", "%").replace("7 3\n", "7 3\n% between\n\n")),
    ],
    ids=range(9),
)
def test_unusual_but_valid_files_read_the_same(tmp_path, form, unusual):
    expected = content_hash(built_from(tmp_path, form, SAMPLES[form]))
    assert content_hash(built_from(tmp_path, form, unusual)) == expected


def zstandard(content):
    return pa.Codec("zstd").compress(content, asbytes=True)


COMPRESSED = [(".gr.gz", gzip.compress), (".gr.xz", lzma.compress), (".gr.bz2", bz2.compress)]
COMPRESSED.append((".gr.zst", zstandard))


@pytest.mark.parametrize(("suffix", "compress"), [(".gr", bytes), *COMPRESSED])
def test_compression_is_told_by_the_name(tmp_path, suffix, compress):
    path = tmp_path / f"small{suffix}"
    path.write_bytes(compress(GR.encode()))
    assert read_gr(path)[0] == 3


def test_the_matrix_inside_an_archive_of_suitesparse_is_read(tmp_path):
    path = tmp_path / "renamed.tar.gz"
    path.write_bytes(gzip.compress(tar({"small/small_b.mtx": b"a vector", "small/small.mtx": MTX.encode()})))
    expected = weighted_arcs(built_from(tmp_path, "matrix-market", MTX))
    assert weighted_arcs(built("matrix-market", path)) == expected
    path.write_bytes(path.read_bytes()[:60])
    assert "incomplete or damaged: delete it" in refusal(built, "matrix-market", path)
    for content, message in {
        gzip.compress(bytes(10240)): "an archive without a file NAME/NAME.mtx; unpack it and name the file",
        gzip.compress(MTX.encode()): "not a tar archive, as its name says; rename it to renamed.gz",
        MTX.encode(): "; rename it to renamed.tar",
    }.items():
        path.write_bytes(content)
        assert message in refusal(built, "matrix-market", path)


ARRAY = "%%MatrixMarket matrix array {}\n3 3\n{}\n"
SIGNED = {"distribution": "values", "type": "int32"}


@pytest.mark.parametrize(
    ("content", "weights"),
    [
        (MTX.replace("MatrixMarket", "matrixmarket"), {"distribution": "values", "type": "float64"}),
        (f"{BANNER} integer skew-symmetric\n3 3 2\n2 1 5\n3 2 -4\n", SIGNED),
        (ARRAY.format("real general", "\n".join("012304560")), VALUES),
        (ARRAY.format("integer symmetric", "\n".join("712040")), VALUES),
        (ARRAY.format("integer skew-symmetric", "5\n-2\n0"), SIGNED),
    ],
)
def test_matrices_agree_with_scipy(tmp_path, content, weights):
    graph = built_from(tmp_path, "matrix-market", content, weights=weights)
    expected = scipy.io.mmread(io.BytesIO(content.replace("matrixm", "MatrixM").encode()))
    expected = np.array(expected if isinstance(expected, np.ndarray) else expected.todense())
    np.fill_diagonal(expected, 0)
    np.testing.assert_array_equal(graph.to_scipy().todense(), expected)


def refused(folder, form, content, **parameters):
    """Return the line that refuses a file, without its folder."""
    return refusal(built_from, folder, form, content, **parameters).removeprefix(f"{folder}/")


@pytest.mark.parametrize("block", [1, 7, 20])
def test_blocks_are_joined_and_mistakes_in_later_ones_name_their_line(tmp_path, monkeypatch, block):
    text = GR.removesuffix("\n")
    expected = weighted_arcs(built_from(tmp_path, "dimacs", text))
    monkeypatch.setattr("relaxometer.datasets.readers.text.BLOCK", block)
    assert "small:7: 'a 1 2 0x7': weight 0x7 is no" in refused(tmp_path, "dimacs", GR.replace("2 7", "2 0x7"))
    monkeypatch.setattr("relaxometer.datasets.readers.text.LineFormat.read_slowly", None)
    assert weighted_arcs(built_from(tmp_path, "dimacs", text)) == expected


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


MISTAKES = {
    "dimacs": [
        ("a 2 3 0", "a 2 4 0", "small:6: 'a 2 4 0': head 4 is not an integer from 1 to 3"),
        ("a 2 3 0", "a 2 3 -5", "small:6: 'a 2 3 -5': weight -5 is not an integer from 0 to 4294967294"),
        ("a 2 3 0", "a 2 3 1.5", "small:6: 'a 2 3 1.5': weight 1.5 is not an integer"),
        ("a 2 3 0", "e 2 3 0", "small:6: 'e 2 3 0': expected an arc 'a <tail> <head> <weight>'"),
        ("a 2 3 0", "\u00e9" * 80, f"small:6: '{'é' * 75}...': expected an arc"),
        ("a 2 3 0", "a 2 \x1b]0;owned\x07 3", r"small:6: 'a 2 \x1b]0;owned\x07 3': head"),
        # Only newlines end lines, and only spaces and tabs are blank.
        ("a 2 3 0", "\x0c", "small:6: '\\x0c': expected an arc"),
        ("2 3 0\n", "2 3 0\x1e", "small:6: 'a 2 3 0\\x1ea 1 2 7': 7 fields; expected"),
        (GR, GR.replace("\n", "\r"), "small: its lines end in carriage returns (CR), as on old Macs"),
        ("p sp 3 4", "p sp 3 5", "small:2: 'p sp 3 5' announces 5 arcs, but 4 follow"),
        ("p sp 3 4", "p sp 4294967296 4", "at most 4294967295 vertices are possible"),
        ("p sp 3 4", "p sp 3 4\np sp 3 4", "small:3: 'p sp 3 4': the file already has a problem line"),
        ("p sp 3 4\n", "", "small:3: 'a 1 2 10': expected a line 'p sp <vertices> <arcs>' before"),
        (GR, "c nothing\n", "small: no problem line; expected a line 'p sp <vertices> <arcs>'"),
        (GR, "", "small: no problem line"),
    ],
    "topology": [
        ("4 2", "5 2", "small:5: '5 2': vertex 5 is not an integer from 1 to 4"),
        ("4 2", "4", "small:5: '4': 1 field; expected '<vertex> <neighbour>'"),
        ("4 2\n", "", "small:2: 'p tw 4 3' announces 3 edges, but 2 follow"),
        ("p tw", "p sp", "small:2: 'p sp 4 3': expected 'p tw <vertices> <edges>'"),
    ],
    "matrix-market": [
        ("real", "complex", f"small:1: '{BANNER} complex general': not readable as a graph; expected"),
        (f"{BANNER} real general\n", "", "small:1: '% by hand': expected '%%MatrixMarket"),
        ("real", "pattern", "small: its field is 'pattern', so weights cannot be its values"),
        ("3 3 3", "3 4 3", "small:3: '3 4 3': a graph is a square matrix"),
        ("3 3 3", "3 3 4", "'3 3 4' announces 4 entries, but 3 follow; the file is incomplete or its"),
        ("2 1 2.26", "2, 1 2.26", "small:5: '2, 1 2.26': row '2,' is not an integer from 1 to 3; fields"),
        ("2 1 2.26", "2 1 -2.26", "small:5: '2 1 -2.26': value -2.26 is not a number from 0 to"),
        ("2 1 2.26", "2 1", "small:5: '2 1': 2 fields; expected '<row> <column> <value>'"),
        (MTX, f"{BANNER} real general\n", "small: no line '<rows> <columns> <entries>'"),
        (MTX, f"{BANNER} pattern skew-symmetric\n3 3 1\n2 1\n", "skew-symmetric': not readable as a graph"),
        (MTX, f"{BANNER} integer skew-symmetric\n3 3 1\n2 1 5\n", "value -5 is not a number from 0 to"),
        (MTX, ARRAY.format("integer general", "1\n2"), "small:2: '3 3' announces 9 entries, but 2 follow"),
        (MTX, ARRAY.format("integer general\n3 3 9", "1"), "small:2: '3 3 9': expected '<rows> <columns>'"),
    ],
    "edge-list": [
        ("7\t3", "7\tx", "small:3: '7\\tx': head x is not an integer from 0 to 9223372036854775807"),
        ("7\t3", "A7\t3", "tail A7 is not an integer from 0 to 9223372036854775807; texts as ids need"),
        ("7\t3", "from\tto", "`header: false`; comments begin with # or %"),
        ("# FromNodeId", f"{BANNER} real general\n#", "a matrix, whose second line is its size"),
        ("7\t3", "7\t-0", "small:3: '7\\t-0': head -0 is not an integer from 0 to 9223372036854775807"),
        ("0\t7\n7", "0 7\n7 -0\n7", "small:3: '7 -0': head -0 is not an integer from 0 to"),
        ("# FromNodeId", "% bip unweighted\n#", "small:1: '% bip unweighted': bipartite, so a number of"),
        ("7\t3", "7", "small:3: '7': 1 field; expected '<tail> <head>'"),
        (
            PAIRS,
            "1 2 5 10\n",
            "small:1: '1 2 5 10': 4 fields; expected '<tail> <head> <value>'; other columns",
        ),
        ("7\t3", "7,3", "'7,3': 1 field; expected '<tail> <head>'; fields are separated by spaces or tabs"),
        (PAIRS, "a,b\n1,2\n", "; fields are separated by spaces or tabs, not commas"),
        (PAIRS, "1;2;6\n", "; fields are separated by spaces or tabs, not semicolons"),
        (PAIRS, "# nothing\n", "small: no edges; expected lines '<tail> <head>'"),
    ],
}


@pytest.mark.parametrize(
    ("form", "old", "new", "message"),
    [(form, *mistake) for form, mistakes in MISTAKES.items() for mistake in mistakes],
)
def test_every_mistake_names_its_line(tmp_path, form, old, new, message):
    parameters = {"weights": VALUES} if form == "matrix-market" else {}
    assert message in refused(tmp_path, form, SAMPLES[form].replace(old, new, 1), **parameters)


def test_parameters_that_the_file_contradicts_are_one_line(tmp_path):
    message = refused(tmp_path, "edge-list", PAIRS, weights=VALUES)
    assert "small:2: '0\\t7': no third field, but the entry takes" in message
    message = refused(tmp_path, "matrix-market", MTX, banner="real symmetric")
    assert "small:1: " in message
    assert "`banner` of the entry is 'real symmetric'; leave it" in message


SNAP = "# Directed graph (each unordered pair of nodes is saved once): small.txt"


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (SNAP, True),
        (f"\ufeff{SNAP}", True),
        (f"# Nodes: 3 Edges: 4\n{SNAP}", True),
        ("# Undirected graph: ../../data/small.txt", False),
        ("% asym unweighted", True),
        ("% sym positive", False),
        ("# nothing\n% asym", None),
        ("# Directed edges", None),
    ],
)
@pytest.mark.parametrize("given", [None, True, False])
def test_a_header_that_says_whether_edges_are_directed_is_obeyed_or_contradicted(
    tmp_path, capsys, header, says, given
):
    graph = built_from(tmp_path, "edge-list", f"{header}\n1 2\n", directed=given)
    assert graph.n_arcs == (1 if (says if given is None else given) else 2)
    told = capsys.readouterr().err
    if given is not None and says not in (None, given):
        line = header.removeprefix("\ufeff").splitlines()[-1]
        entry = f"`directed: {given}`".lower()
        assert f"small: says '{line}', but its entry {entry}, which counts; leave it out to obey" in told
    else:
        assert "which counts" not in told


METIS = [
    "3 3\n2 3\n1 3\n1 2\n",
    "% comment\n4 3\n2 3\n\n1 4\n1 3\n",
    "4 3 0\n2 3 4\n1\n1\n1\n",
    "3 2 1\n2 7\n1 7 3 5\n2 5\n",
    "3 3 10\n9 2 3\n9 1 3\n9 1 2\n",
    "2 1 011 2\n5 6 2 9\n7 8 1 9\n",
]
"""A ring, also with a lone vertex; other degrees; weights of edges, of vertices, two of each vertex."""


def test_a_file_of_metis_is_not_a_list_of_edges_and_the_reverse(tmp_path):
    for content in METIS:
        assert "a file of METIS, whose lines list the neighbours" in refused(tmp_path, "edge-list", content)
    for content, n_arcs in (
        ("3 2\n1 2\n2 3\n", 4),
        ("4 4\n1 2\n2 3\n3 4\n", 6),
        ("2 2 1\n1 2 1\n2 3 1\n", 4),
    ):
        assert built_from(tmp_path, "edge-list", content).n_arcs == n_arcs


@pytest.mark.parametrize(("suffix", "compress"), COMPRESSED)
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[:-9], r"^[^\n]*incomplete or damaged: delete it and fetch it again$"),
        (lambda data: b"<html>" + data, "not compressed by .*: it begins with a web page; fetch it again$"),
        (lambda _: GR.encode(), r"as its name says: it begins with b'.*'; rename it to cut\.gr$"),
    ],
    ids=["cut", "page", "unpacked"],
)
def test_a_damaged_archive_is_one_line(tmp_path, suffix, compress, damage, message):
    path = tmp_path / f"cut{suffix}"
    path.write_bytes(damage(compress(GR.encode() * 50)))
    with pytest.raises(UserError, match=message):
        read_gr(path)


def tar(members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def zipped(content):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("small.txt", content)
    return packed.getvalue()


UNPACK, UNSAID = "unpack it and name the file inside", "which its name does not say by"


@pytest.mark.parametrize(
    ("name", "pack", "advice"),
    [
        ("a.zip", zipped, f"a zip archive; {UNPACK}"),
        ("a.bz", bz2.compress, f"compressed by bzip2, {UNSAID} .bz2 at the end; {UNPACK}"),
        ("a.tar.xz", lambda content: lzma.compress(tar({"a.txt": content})), f"a tar archive; {UNPACK}"),
        ("a.GZ", gzip.compress, f"compressed by gzip, {UNSAID} .gz at the end; {UNPACK}"),
        ("a.txt", lambda text: text.decode().encode("utf-16"), "text in UTF-16; save it as UTF-8"),
    ],
)
def test_another_kind_of_file_is_refused_with_advice(tmp_path, name, pack, advice):
    path = tmp_path / name
    path.write_bytes(pack(PAIRS.encode()))
    assert refusal(built, "edge-list", path) == f"{path}: it is {advice}"


def test_a_missing_file_is_one_line(tmp_path):
    assert "none.gr: no such file" in refusal(read_gr, tmp_path / "none.gr")


@pytest.mark.parametrize(("form", "content"), [("edge-list", "1 2 0.5\n2 3 1.25\n"), ("matrix-market", MTX)])
def test_values_that_are_not_used_are_noted(tmp_path, capsys, form, content):
    graph = built_from(tmp_path, form, content)
    assert graph.metadata["values_in_file"] == "not used: weights are 1"
    told = "small: has values, but weights are 1; give `weights: {distribution: values}` to use them\n"
    assert told in capsys.readouterr().err
    for weights in ({**VALUES, "scale": 100}, {"distribution": "unit"}):
        assert "values_in_file" not in built_from(tmp_path, form, content, weights=weights).metadata
    assert "values_in_file" not in built_from(tmp_path, "edge-list", "1 2\n").metadata
    assert "has values" not in capsys.readouterr().err


@pytest.mark.parametrize("factors", [(1, 1), (1, 10**15), (10**5, 10**5), (-1, 10**15)], ids=str)
def test_ids_are_numbered_in_ascending_order_by_table_and_by_hash(factors, monkeypatch):
    monkeypatch.setattr(numbering, "_LEAST_PENDING", 20)
    ends = np.random.default_rng(1).integers(0, 50, (6, 2, 30))
    ends[3:] *= factors[1]
    ends[:3] *= factors[0]
    numbers = numbering.Numbering()
    for tails, heads in ends:
        numbers.add(pa.array(tails), pa.array(heads))
    ids, *new = numbers.finish()
    assert ids.to_pylist() == np.unique(ends).tolist()
    np.testing.assert_array_equal(ids.to_numpy()[np.stack(new)], np.hstack(ends))


def test_an_edge_list_keeps_its_numbers_unless_they_are_those_of_the_vertices(tmp_path):
    assert built_from(tmp_path, "edge-list", "1 2\n2 0\n").ids is None
    assert built_from(tmp_path, "edge-list", f"7 {2**62}\n3 7\n").ids.to_pylist() == [3, 7, 2**62]


def test_an_entry_may_add_coordinates_in_millionths_of_a_degree(tmp_path):
    files = [tmp_path / "small.gr", tmp_path / "small.co"]
    for file, text in zip(files, (GR, PLACES), strict=True):
        file.write_text(text, encoding="utf-8")
    graph = built("dimacs", *files, entry={"coordinates": {"path": str(files[1])}})
    assert graph.lon.tolist() == [-73.530767, 0, -73.530538]
    assert graph.lat.tolist() == [41.085396, -90, 41.086098]
    assert graph.metadata["coordinates"] == "small.co"
    assert len(graph.metadata["coordinates_sha256"]) == 64


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
    assert message in refusal(read_co, path, 3)


class TestMemoryAndTime:
    """They follow the content of a file, not its header."""

    TEN_MB = 10_000_000

    @pytest.mark.parametrize(
        ("form", "content", "parameters"),
        [
            ("dimacs", "p sp 4000000000 1\na 1 2 3\n", {}),
            ("topology", "p tw 4000000000 1\n1 2\n", {}),
            ("matrix-market", f"{BANNER} pattern general\n4000000000 4000000000 1\n1 2\n", {}),
            ("graph500-edges", np.array([[0, 1]]).tobytes(), {"scale": 31}),
        ],
    )
    def test_a_header_may_not_announce_far_more_than_the_file_has(self, tmp_path, form, content, parameters):
        most = FREE_VERTICES + VERTICES_PER_ITEM
        message = refused(tmp_path, form, content, **parameters)
        assert "vertices, but a file of 1 " in message
        assert message.endswith(f" may announce {most} at most")
        assert built_from(tmp_path, "dimacs", "p sp 100000 1\na 1 2 3\n").n_vertices == 100_000

    @pytest.mark.parametrize(
        ("line", "times"),
        [(b"\n", TEN_MB), (b" \t\r\n", TEN_MB // 4), (b"c\n", TEN_MB // 10)],
        ids=["newlines", "blank lines", "comments"],
    )
    def test_megabytes_of_nothing_take_seconds(self, tmp_path, line, times):
        path = tmp_path / "bomb.gr.gz"
        path.write_bytes(gzip.compress(b"p sp 2 1\na 1 2 3\n" + line * times, 1))
        start = time.process_time()
        assert [column.tolist() for column in read_gr(path)[1:]] == [[0], [1], [3]]
        assert time.process_time() - start < 5

    def test_a_line_of_ten_megabytes_is_refused(self, tmp_path):
        path = tmp_path / "bomb.gr.xz"
        path.write_bytes(lzma.compress(b"p sp 3 1\n" + b"a 1 2 " * (self.TEN_MB // 6), preset=0))
        start = time.process_time()
        with pytest.raises(UserError, match=r"bomb\.gr\.xz:2: '.*': more than 1048576 bytes in one line$"):
            read_gr(path)
        assert time.process_time() - start < 5

    @pytest.mark.parametrize("text", ["1" * 10**6, "a 1 2" + " " * 10**6 + "x", "a " * 500_000])
    def test_a_long_line_takes_no_longer_than_many_short_ones(self, tmp_path, text):
        start = time.process_time()
        assert "small:2: " in refused(tmp_path, "dimacs", f"p sp 3 1\n{text}\n")
        matrix = f"{BANNER} real general\n2 2 1\n1 2 {text}z\n"
        assert "small:3: " in refused(tmp_path, "matrix-market", matrix, weights=VALUES)
        assert time.process_time() - start < 5

    def test_a_dictionary_of_four_gigabytes_is_refused_where_memory_is_short(self, tmp_path, monkeypatch):
        def without_memory(*args):
            raise MemoryError

        monkeypatch.setattr("relaxometer.datasets.readers.text._OPEN", {".xz": without_memory})
        assert refusal(read_gr, tmp_path / "file.xz").endswith("file.xz: needs more memory than there is")


def test_real_roads_have_their_published_distances(road_file):
    start = time.process_time()
    n_vertices, *arcs = read_gr(road_file("USA-road-d.NY.gr.gz"))
    assert time.process_time() - start < 5, "the vectorised path was not taken"
    assert (n_vertices, len(arcs[0])) == (264_346, 733_846)
    graph = Graph.from_arcs("ny", n_vertices, *arcs)
    assert graph.n_arcs == 730_100
    distance = sp.csgraph.dijkstra(graph.to_scipy(), indices=0)
    assert (int(distance.max()), int(distance.sum())) == (1_440_081, 186_686_642_878)


def test_real_files_of_other_formats(road_file):
    n_vertices, sources, _, weights = read_gr(road_file("rome99.gr"))
    assert (n_vertices, len(sources), weights.min(), weights.max()) == (3_353, 8_870, 1, 12_711)
    matrix = built("matrix-market", road_file("road-usroads.mtx.gz"), banner="pattern symmetric")
    assert (matrix.n_vertices, matrix.n_arcs) == (129_164, 330_870)
    assert matrix.largest_component().n_vertices == 126_146
    assert matrix.metadata["directed"] is False
    pairs = built("edge-list", road_file("luxembourg_osm.pairs.gz"))
    assert (pairs.n_vertices, pairs.n_arcs) == (114_599, 239_332)
    assert pairs.component_labels()[0] == 1


def test_a_real_topology_has_known_levels(road_file):
    file = load_registry(OWN, {})["usa-ny-topology"].file_name
    levels = hops_in(*either_way(built("topology", road_file(file))), 0)
    assert (int(levels.max()), int(levels.sum())) == (619, 90_771_609)
