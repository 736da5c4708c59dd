"""Heap dumps of Java and Android: every reference of every kind of object, and their sizes in memory."""

import shutil
import struct
import subprocess

import pytest

import relaxometer as rx
from built import refusal
from flow_facts import arcs_of
from heap_samples import Hprof, java
from relaxometer.datasets.readers import hprof

NAMES = (
    "(roots) java.lang.Object java.lang.ref.Reference java.lang.ref.WeakReference Node Wide Node[] Node Wide "
)
NAMES += "Node[] int[] java.lang.ref.WeakReference java.lang.Object byte[]"


def read(tmp_path, content):
    path = tmp_path / "some.hprof"
    path.write_bytes(content)
    return rx.Graph.from_file(path).csr


@pytest.mark.parametrize("id_size", [4, 8])
@pytest.mark.parametrize("chunk", [1, 1 << 16])
def test_references_of_every_kind(tmp_path, monkeypatch, id_size, chunk):
    monkeypatch.setattr(hprof, "CHUNK", chunk)
    graph = read(tmp_path, java(id_size))
    assert set(arcs_of(graph)) == {
        *((0, 4), (0, 5), (0, 11), (0, 13)),  # roots, and the orphan 13
        *((2, 1), (3, 2), (4, 1), (5, 4), (6, 1), (4, 9)),  # classes
        *((7, 4), (7, 8), (8, 5), (8, 10)),  # instances, with inherited fields; 11 holds 12 only weakly
        *((9, 6), (9, 7), (9, 12), (11, 3), (12, 1)),
    }
    assert graph.objects["name"].to_pylist() == NAMES.split()
    assert graph.metadata["roots"] == 3


@pytest.mark.parametrize(
    ("id_size", "base", "expected"),
    [
        # Node: a byte and a reference; Wide: also a reference and 8 bytes.
        (8, 0x100, [24, 32, 32, 40, 24, 16, 24]),
        (8, 1 << 40, [32, 48, 48, 48, 32, 16, 32]),
        (4, 0x100, [16, 32, 24, 32, 16, 8, 16]),
    ],
)
def test_sizes_are_those_in_memory(tmp_path, id_size, base, expected):
    assert read(tmp_path, java(id_size, base)).objects["size"].to_pylist()[7:] == expected


WHOLE = java()
SHORT = Hprof()
SHORT.a_class(1, "A", fields=[("a", 2)])
SHORT.instance(2, 1, b"")
NOBODY = Hprof()
NOBODY.instance(2, 1, b"")
BAD = {
    "another file": (b"{}", "does not begin as a heap dump"),
    "ids": (b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", 3, 0), "ids of 3 bytes"),
    "cut record": (WHOLE[:-4], "the file ends early"),
    "cut dump": (WHOLE[:-30], "the file ends early"),
    "unknown part": (WHOLE.replace(b"\xfe\0\0\0\0", b"\x66\0\0\0\0"), "an unknown or cut part"),
    "short instance": (SHORT.bytes(), "fields of instance 1 are shorter"),
    "no class": (NOBODY.bytes(), "a class that is not in the file"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_damaged_files_are_refused_in_one_line(tmp_path, content, message):
    assert message in refusal(read, tmp_path, content)


PROGRAM = """
class Keep {
    static Keep list;
    Keep next; int value;
    public static void main(String[] files) throws Exception {
        for (int i = 0; i < 1000; i++) { Keep one = new Keep(); one.next = list; list = one; }
        java.lang.management.ManagementFactory.getPlatformMXBean(
            com.sun.management.HotSpotDiagnosticMXBean.class).dumpHeap(files[0], true);
    }
}
"""


@pytest.mark.skipif(not shutil.which("javac"), reason="no JDK")
def test_a_dump_of_hotspot(tmp_path):
    (tmp_path / "Keep.java").write_text(PROGRAM)
    file = tmp_path / "real.hprof"
    subprocess.run(["java", "Keep.java", str(file)], cwd=tmp_path, check=True)
    graph = rx.Graph.from_file(file)
    objects = graph.csr.objects
    kinds = zip(objects["name"].to_pylist(), objects["type"].to_pylist(), strict=True)
    links = [v for v, kind in enumerate(kinds) if kind == ("Keep", "instance")]
    assert len(links) == 1000
    tree = rx.prepare(graph, "dominators", device="cpu").search(0)
    found = tree.retained(objects["size"].to_numpy()).verify()
    assert sorted(found.retained_size[links].tolist()) == list(range(24, 24_001, 24))
