"""Text files with random damage: every reader accepts them or names the mistake in one line."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.edge_files import EdgeListParameters, MatrixParameters
from relaxometer.datasets.readers.dimacs import arc_lines, read_co, read_gr
from relaxometer.datasets.readers.matrix_market import read_mtx
from relaxometer.datasets.readers.text import Column, LineFormat
from relaxometer.datasets.readers.text_edges import read_edge_list
from relaxometer.datasets.readers.topology import read_edges

VALUES = {"distribution": "values", "scale": 10}
FILES = {
    "arcs.gr": (b"c roads\np sp 3 3\na 1 2 10\na 2 3 0\na 3 1 7\n", read_gr),
    "places.co": (b"c\np aux sp co 2\nv 1 -735307 41085\nv 2 0 9\n", lambda path: read_co(path, 2)),
    "edges.gr": (b"p tw 3 2\n1 2\n2 3\n", read_edges),
    "matrix.mtx": (
        b"%%MatrixMarket matrix coordinate real symmetric\n% by hand\n3 3 2\n1 2 1.5\n3 3 2e3\n",
        lambda path: read_mtx(path, MatrixParameters(weights=VALUES)),
    ),
    "edges.txt": (
        b"# from\tto\n1\t2\t.5\n70\t1\t3\n",
        lambda path: read_edge_list(path, EdgeListParameters(weights=VALUES)),
    ),
}
# What numbers, lines and comments are made of, and what looks like it.
PIECES = st.text("0123456789-+.eEinfaxpvc%# \t\r\n\0_é²", max_size=6).map(str.encode)


@st.composite
def damaged(draw, content):
    """Replace a few short stretches by others."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        stop = min(start + draw(st.integers(0, 6)), len(content))
        content = content[:start] + draw(PIECES) + content[stop:]
    return content


@pytest.mark.parametrize("name", FILES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_accepted_or_refused_in_one_line(tmp_path, name, data):
    content, read = FILES[name]
    path = tmp_path / name
    path.write_bytes(data.draw(damaged(content)))
    try:
        read(path)
    except UserError as error:
        message = str(error)
        assert "\n" not in message
        # Without a header or any line, and for a vertex without its place, there is no line to name.
        located = re.escape(str(path)) + r":(\d+: | no | vertex | its field is | its lines end in )"
        assert re.match(located, message)


@pytest.mark.parametrize(
    ("form", "content"),
    [
        (arc_lines(9), b"a 1 2 10\na 2 3 0\na 3 1 7\n"),
        (LineFormat("an entry", (Column("row", 1, 9), Column("value", 0, 1e9, real=True))), b"1 .5\n2 1e2\n"),
    ],
    ids=["integers", "reals"],
)
@given(data=st.data())
def test_what_the_fast_reader_accepts_the_slow_one_reads_the_same(form, content, data):
    content = data.draw(damaged(content))
    fast = form.read_fast(content)
    if fast is not None:
        slow = form.read_slowly(None, 1, content)
        assert [values.tolist() for values in fast] == [values.tolist() for values in slow]


@pytest.mark.parametrize(
    "weight", ["0" * 5000, "0" * 5000 + "7", "-" + "0" * 40, "00000000000000000000000000000001"]
)
def test_both_readers_take_leading_zeros(weight):
    block = f"a 1 2 {weight}\n".encode()
    fast, slow = arc_lines(9).read_fast(block), arc_lines(9).read_slowly(None, 1, block)
    assert [values.tolist() for values in fast] == [values.tolist() for values in slow]
