"""Files that ask for more than they hold: memory and time follow the content, not the header."""

import gzip
import lzma
import time

import numpy as np
import pytest

from relaxometer.core.errors import UserError
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.readers.dimacs import read_co, read_gr
from relaxometer.datasets.readers.text import FREE_VERTICES, VERTICES_PER_ITEM
from relaxometer.datasets.registry import Dataset

MTX = "%%MatrixMarket matrix coordinate pattern general\n"


def build(tmp_path, form, content, name="file", **entry):
    path = tmp_path / name
    path.write_bytes(content)
    return build_graph("g", Dataset(format=form, path=str(path), **entry), files=[path])


@pytest.mark.parametrize(
    ("form", "content", "entry"),
    [
        ("dimacs", b"p sp 4000000000 1\na 1 2 3\n", {}),
        ("topology", b"p tw 4000000000 1\n1 2\n", {}),
        ("matrix-market", MTX.encode() + b"4000000000 4000000000 1\n1 2\n", {}),
        ("graph500-edges", np.array([[0, 1]]).tobytes(), {"parameters": {"scale": 31}}),
    ],
)
def test_a_header_may_not_announce_far_more_vertices_than_the_file_describes(tmp_path, form, content, entry):
    most = FREE_VERTICES + VERTICES_PER_ITEM
    with pytest.raises(UserError, match=f"file:?.* vertices, but a file of 1 .* may announce {most} at most"):
        build(tmp_path, form, content, **entry)


def test_vertices_without_arcs_are_welcome(tmp_path):
    assert build(tmp_path, "dimacs", b"p sp 100000 1\na 1 2 3\n").n_vertices == 100_000


FIFTY_MB = 50_000_000


@pytest.mark.parametrize("before", [b"", b"p sp 2 1\na 1 2 3\n"])
@pytest.mark.parametrize(
    ("line", "times"),
    [(b"\n", FIFTY_MB), (b" \t\r\n", FIFTY_MB // 4), (b"c\n", FIFTY_MB // 20)],
    ids=["newlines", "blank lines", "comments"],
)
def test_megabytes_of_nothing_take_seconds(tmp_path, before, line, times):
    path = tmp_path / "bomb.gr.gz"
    path.write_bytes(gzip.compress(before + line * times, 1))
    start = time.process_time()
    if b"a" in before:
        assert [column.tolist() for column in read_gr(path)[1:]] == [[0], [1], [3]]
    else:
        with pytest.raises(UserError, match="no problem line"):
            read_gr(path)
    assert time.process_time() - start < 10


@pytest.mark.parametrize("text", [b" ", b"a 1 2 "])
def test_a_line_of_fifty_megabytes_is_refused(tmp_path, text):
    path = tmp_path / "bomb.gr.xz"
    path.write_bytes(lzma.compress(b"p sp 3 1\n" + text * (FIFTY_MB // len(text)), preset=0))
    start = time.process_time()
    with pytest.raises(UserError, match=r"bomb\.gr\.xz:2: '.*': more than 1048576 bytes in one line$"):
        read_gr(path)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("text", [b"1" * 1_000_000, b"a 1 2" + b" " * 1_000_000 + b"x", b"a " * 500_000])
def test_a_long_line_takes_no_longer_than_many_short_ones(tmp_path, text):
    start = time.process_time()
    with pytest.raises(UserError, match=r"file:2: "):
        build(tmp_path, "dimacs", b"p sp 3 1\n" + text + b"\n")
    parameters = {"weights": {"distribution": "values"}}
    with pytest.raises(UserError, match=r"file:3: "):
        build(
            tmp_path,
            "matrix-market",
            MTX.replace("pattern", "real").encode() + b"2 2 1\n1 2 " + text + b"z\n",
            parameters=parameters,
        )
    assert time.process_time() - start < 5


def test_a_dictionary_of_four_gigabytes_is_refused_where_memory_is_short(tmp_path, monkeypatch):
    def without_memory(*args):
        raise MemoryError

    monkeypatch.setattr("relaxometer.datasets.readers.text._OPEN", {".xz": without_memory})
    with pytest.raises(UserError, match=r"file\.xz: needs more memory than there is$"):
        read_gr(tmp_path / "file.xz")


@pytest.mark.parametrize("line", [b"\x0c", b"\x0b\x1c", b"\xc2\x85", b"\xe2\x80\xa8"])
def test_a_line_of_unusual_white_space_is_named(tmp_path, line):
    (tmp_path / "arcs.gr").write_bytes(b"p sp 2 1\n" + line + b"\na 1 2 3\n")
    with pytest.raises(UserError, match=r"arcs\.gr:2: .*: expected an arc 'a <tail> <head> <weight>'"):
        read_gr(tmp_path / "arcs.gr")
    (tmp_path / "places.co").write_bytes(b"p aux sp co 1\nv 1 0 0\n" + line + b"\n")
    with pytest.raises(UserError, match=r"places\.co:3: .*: expected a vertex"):
        read_co(tmp_path / "places.co", 1)


@pytest.mark.parametrize("old_end", [b"\r", b"\x0c", b"\x1e"])
def test_only_newlines_end_lines(tmp_path, old_end):
    path = tmp_path / "arcs.gr"
    path.write_bytes(b"p sp 2 2\na 1 2 3" + old_end + b"a 2 1 3\n")
    with pytest.raises(UserError, match=r"arcs\.gr:2: .* fields; expected"):
        read_gr(path)


@pytest.mark.parametrize("comment", ["", "c a map\n"])
def test_lines_that_end_as_on_old_macs_are_named(tmp_path, comment):
    path = tmp_path / "arcs.gr"
    path.write_bytes(f"{comment}p sp 2 2\na 1 2 3\n\na 2 1 3\n".replace("\n", "\r").encode())
    with pytest.raises(UserError, match=r"arcs\.gr: its lines end in carriage returns \(CR\), as on"):
        read_gr(path)


def test_messages_cannot_send_commands_to_the_terminal(tmp_path):
    (tmp_path / "arcs.gr").write_bytes(b"p sp 2 1\na 1 \x1b]0;owned\x07 3\n")
    with pytest.raises(UserError) as caught:
        read_gr(tmp_path / "arcs.gr")
    assert str(caught.value).isprintable()
