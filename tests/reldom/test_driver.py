"""The driver of libreldom, on control-flow graphs of LLVM and on batches."""

import re
import struct
import subprocess
from pathlib import Path

import pytest

from dominator_samples import random_batch, reference_of_batch
from relaxometer.cli import export_batch
from relaxometer.cli.command import call
from relaxometer.graphs.batch import Batch, write_batch

SAMPLES = Path(__file__).with_name("samples")
pytestmark = pytest.mark.slow  # the first one builds the library
OF_MAIN = """\
main	entry	entry
main	for.cond	entry
main	"quoted \\22 name"	for.cond
main	sw1	"quoted \\22 name"
main	for.inc	"quoted \\22 name"
main	dead	-
main	for.end	for.cond
"""
OF_ONLY = "odd 'name'\t%0\t%0\nodd 'name'\t%1\t%0\nodd 'name'\t%2\t%0\n"


@pytest.fixture(scope="session")
def driver(built):
    def run(*arguments):
        return subprocess.run(
            [built / "driver", *arguments], capture_output=True, text=True, errors="replace"
        )

    return run


def test_functions_of_llvm_in_several_files_or_one(driver, tmp_path):
    result = driver(SAMPLES / "main.dot", SAMPLES / "only.dot")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == OF_MAIN + OF_ONLY
    joined = tmp_path / "joined.dot"
    joined.write_text("".join((SAMPLES / f"{name}.dot").read_text() for name in ("only", "main")))
    assert driver(joined).stdout == OF_ONLY + OF_MAIN


def test_labels_of_other_releases(driver, tmp_path):
    """LLVM 15 and later separate a block's name from its instructions; edges may have attributes."""
    file = tmp_path / "f.dot"
    file.write_text(
        """digraph "CFG for 'f' function" {
	label="CFG for 'f' function";

	Node0x1 [shape=record,label="{entry:\\l|  br i1 %a, label %b\\l|{<s0>T|<s1>F}}"];
	Node0x1:s0 -> Node0x2[label="1/2"];
	Node0x1:s1 -> Node0x3 [tooltip="entry -> c"];
	Node0x2 [shape=record,label="{a:b:\\l|  %x = icmp sgt i32 1, 2 \\l}"];
	Node0x2 -> Node0x3;
	Node0x3 [shape=record,label="{c\\ \\<1\\>|{<s0>T}}"];
}
"""
    )
    assert driver(file).stdout == "f\tentry\tentry\nf\ta:b\tentry\nf\tc <1>\tentry\n"


def test_an_exported_batch(driver, tmp_path):
    batch = random_batch()
    write_batch(batch, tmp_path / "batch")
    call(["export-batch", str(tmp_path / "batch"), str(tmp_path / "file")])
    rows = [line.split("\t") for line in driver(tmp_path / "file").stdout.splitlines()]
    names = [str(graph.name) for graph in batch for _ in range(graph.n_vertices)]
    assert [name for name, _, _ in rows] == names
    assert [int(above) for _, _, above in rows] == reference_of_batch(batch).tolist()


def test_times(driver, device, tmp_path):
    result = driver("--time", "3", SAMPLES / "main.dot")
    first, second = result.stdout.splitlines()
    assert first.startswith("1 graph, 7 vertices, 10 arcs, on ")
    assert first.endswith("on emulation of CUDA on the host") == (device.kind == "host")
    time = r"[\d.]+ us"
    assert re.fullmatch(f"host to host, 3 calls: median {time}, minimum {time}, maximum {time}", second)


@pytest.mark.parametrize(
    "arguments", [[], ["--time"], ["--time", "0", "x"], ["--time", "2x", "x"], ["--what"]]
)
def test_usage(driver, arguments):
    result = driver(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("usage: driver")


def small_batch(tmp_path):
    """The bytes of a batch of two graphs."""
    batch = Batch.from_graphs("two", [("f", 2, [0], [1], 0), ("g", 1, [], [], 0)])
    export_batch.write(batch, tmp_path / "batch")
    return (tmp_path / "batch").read_bytes()


DOT = "digraph \"CFG for 'f' function\" {\n"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "cannot be read"),
        (b"", "neither a control-flow graph in DOT nor a batch"),
        (b"int main() {}", "neither a control-flow graph in DOT nor a batch"),
        (DOT.encode(), "the file ends within a digraph"),
        (DOT.encode() * 2, "a digraph begins before the one before it ends"),
        (f"{DOT}Node0x1 -> Node0x2;\n}}".encode(), "an arc of f has the end Node0x1, which is not a block"),
        (f"{DOT}Node0x1 [];\nNode0x1 [];\n}}".encode(), "duplicate block Node0x1"),
        (b"reldom1\n\1", "the batch is truncated"),
        (b"reldom1\n" + struct.pack("<3q", 2**31, 1, 1) + bytes(64), "the batch is truncated"),
        (b"reldom1\n" + struct.pack("<3q", -1, 1, 1), "the batch has a count beyond 32 bits"),
        (b"reldom1\n" + struct.pack("<3q", 0, 1, 0) + bytes(24), "the batch is not as large as it says"),
    ],
)
def test_damaged_files(driver, tmp_path, content, complaint):
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
    result = driver(file)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == f"driver: {file}: {complaint}\n"


def test_every_byte_of_a_batch_may_be_damaged(driver, tmp_path):
    """The library refuses what the reader of files lets pass; nothing crashes."""
    whole = small_batch(tmp_path)
    for length in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:length])
        assert driver(tmp_path / "cut").returncode == 1, length
    for place in range(8, len(whole), 7):
        (tmp_path / "other").write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        result = driver(tmp_path / "other")
        assert result.returncode in (0, 1), place
        assert result.returncode == 0 or len(result.stderr.splitlines()) == 1


def test_a_batch_is_the_only_file(driver, tmp_path):
    small_batch(tmp_path)
    result = driver(SAMPLES / "main.dot", tmp_path / "batch")
    assert result.stderr == f"driver: {tmp_path / 'batch'}: a batch must be the only file\n"
    result = driver(tmp_path / "batch", SAMPLES / "main.dot")
    assert result.stderr == f"driver: {SAMPLES / 'main.dot'}: a batch must be the only file\n"


@pytest.mark.parametrize(
    ("batch", "target", "said"),
    [
        ("one", "file/below", r"^error: .*/file: File exists; name another target, then run again$"),
        (".", "new", r"error: .*batch\.json"),
    ],
)
def test_an_export_that_fails(tmp_path, batch, target, said):
    write_batch(Batch.from_graphs("one", [("f", 2, [0], [1], 0)]), tmp_path / "one")
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match=said):
        call(["export-batch", str(tmp_path / batch), str(tmp_path / target)])
    assert not (tmp_path / "new").exists()
