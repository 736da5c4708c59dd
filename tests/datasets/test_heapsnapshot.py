"""Heap snapshots of V8: every reference that counts, and no other; damaged files are refused in one line."""

import io
import json
import shutil
import subprocess

import numpy as np
import pytest

import relaxometer as rx
from built import refusal
from flow_facts import arcs_of as arcs
from heap_samples import PLAIN, snapshot, text, write_snapshot
from relaxometer.datasets.formats.programs import HeapLikeParameters
from relaxometer.datasets.generators.heaps import heap_like
from relaxometer.datasets.readers import heapsnapshot
from relaxometer.graphs.graph import read_graph, write_graph


def read(tmp_path, content, **parameters):
    path = tmp_path / "some.heapsnapshot"
    path.write_bytes(content if isinstance(content, bytes) else text(content))
    return rx.Graph.from_file(path, **parameters).csr


def test_objects_are_those_of_the_file_and_stored(tmp_path):
    graph = read(tmp_path, PLAIN)
    assert graph.objects["name"].to_pylist() == [*PLAIN["strings"][:7], "lone"]
    assert set(graph.objects["type"].to_pylist()) == {"object"}
    assert graph.objects["size"].to_pylist() == [10, 20, 30, 40, 50, 60, 70, 80]
    assert graph.objects["object"].to_pylist() == list(range(1, 17, 2))
    assert graph.metadata["search_keys"] == [0]
    write_graph(graph, tmp_path / "heap")
    again = read_graph(tmp_path / "heap")
    assert again.objects.to_pylist() == graph.objects.to_pylist()
    assert arcs(again) == arcs(graph)


NAME = "2 / part of key (Object @5) -> value (Object @7) pair in WeakMap (table @3)"
WEAK_MAP = [(0, "property", 1, "t"), (0, "property", 2, "k"), *((v, "internal", 3, NAME) for v in (1, 2))]
SHORTCUTS = [(0, "shortcut", 1, ""), (1, "property", 2, "p"), (2, "shortcut", 1, "s")]
TREES = [(0, "element", 1, ""), (0, "element", 2, ""), (1, "element", 3, ""), (2, "property", 3, "p")]
RULES = {
    # The object 3 is in the page and outside; the object 5 is held weakly; the cycle belongs to nobody.
    "all": ("chrome", PLAIN, [(0, 1), (0, 2), (0, 5), (2, 3), (2, 4), (3, 4), (6, 7), (7, 6)]),
    "all of memlab": ("memlab", PLAIN, [(0, 1), (0, 2), (0, 5), (1, 3), (3, 4), (6, 7), (7, 6)]),
    "shortcuts from the root": ("chrome", snapshot(["", "a", "b"], SHORTCUTS), [(0, 1), (1, 2)]),
    "page": ("chrome", snapshot(["", "(Document DOM trees)", "b", "a"], TREES), [(0, 1), (0, 2), (1, 3)]),
    "key": ("chrome", snapshot(["", "table", "key", "value"], WEAK_MAP), [(0, 1), (0, 2), (2, 3)]),
    "table": ("memlab", snapshot(["", "table", "key", "value"], WEAK_MAP), [(0, 1), (0, 2), (1, 3), (2, 3)]),
}


@pytest.mark.parametrize(("rules", "content", "expected"), RULES.values(), ids=RULES)
def test_references_count_by_the_rules_of_a_tool(tmp_path, rules, content, expected):
    assert arcs(read(tmp_path, content, rules=rules)) == expected


@pytest.mark.parametrize("block", [1, 7, 64])
def test_blocks_do_not_matter(tmp_path, monkeypatch, block):
    whole = read(tmp_path, PLAIN)
    sizes = iter([len(text(PLAIN).partition(b'"nodes":[')[0]) + 12])

    class Blocks(io.FileIO):
        """A stream that gives fewer bytes than asked for."""

        def readinto(self, buffer):
            return super().readinto(buffer[: next(sizes, block)])

    monkeypatch.setattr(heapsnapshot, "opened", Blocks)
    parts = read(tmp_path, PLAIN)
    assert parts.objects == whole.objects
    assert arcs(parts) == arcs(whole)


def test_a_heap_written_as_by_v8_is_read_again(tmp_path):
    heap = heap_like(HeapLikeParameters(objects=20_000), seed=1)
    write_snapshot(heap, tmp_path / "like.heapsnapshot")
    graph = rx.Graph.from_file(tmp_path / "like.heapsnapshot", rules="chrome").csr
    assert np.array_equal(graph.offsets, heap.offsets)
    assert np.array_equal(graph.targets, heap.targets)
    assert graph.objects["size"] == heap.objects["size"]


def test_texts_are_those_of_json_with_halves_of_characters_replaced(tmp_path):
    spaced = json.dumps(PLAIN, indent=1, ensure_ascii=False).encode() + b"\n"
    assert read(tmp_path, spaced).objects == read(tmp_path, PLAIN).objects
    content = text(snapshot(["", "X", "after"], [])).replace(b'"X"', rb'"a\ud83dz\ude00\ud83d\ud83d\ude00"')
    assert read(tmp_path, content).objects["name"][1].as_py() == "a\ufffdz\ufffd\ufffd😀"


FIRST = b"[3,0,1,10"


def damaged(old, new):
    """Return the snapshot with other bytes in one place."""
    assert text(PLAIN).count(old)
    return text(PLAIN).replace(old, new)


BAD = {
    "no header": (b"[]", 'no "nodes"'),
    "cut": (text(PLAIN)[:-40], "the file ends early"),
    "cut at its end": (text(PLAIN)[:-1], "something follows"),
    "negative": (damaged(FIRST, b"[3,-1,1,10"), "expected integers separated by commas in nodes"),
    "closed in a row": (damaged(FIRST, b"[3,0,1]"), "0 nodes, but its header announces '8'"),
    "no comma": (damaged(FIRST, b"[3 0,1,10"), "expected integers"),
    "name out of range": (damaged(FIRST, b"[3,9999,1,10"), "name of a node is not among"),
    "type": (damaged(FIRST, b"[99,0,1,10"), "unknown type"),
    "large": (damaged(FIRST, b"[3,4294967296,1,10"), "name of one of the nodes is 4294967296"),
    "head": (text({**PLAIN, "edges": [1, 0, 3, *PLAIN["edges"][3:]]}), "something else than a node"),
    "fewer edges": (text({**PLAIN, "edges": PLAIN["edges"][3:]}), "10 edges, but its header announces '11'"),
    "other degrees": (damaged(b"[3,0,1,10,2", b"[3,0,1,10,3"), "other numbers of edges"),
    "escape": (damaged(rb"\n\t", rb"\q\t"), "expected strings"),
    "UTF-8": (damaged(b"global", b"glo\xffal"), "not UTF-8"),
    "fields": (damaged(b'"self_size"', b'"size"'), "does not describe nodes"),
    "root": (damaged(b'"node_count"', b'"root_index":70,"node_count"'), "the root is not a node"),
    "empty": (text(snapshot([], [])), "the root is not a node"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_damaged_files_are_refused_in_one_line(tmp_path, content, message):
    assert message in refusal(read, tmp_path, content)


@pytest.mark.skipif(not shutil.which("node"), reason="no Node.js")
def test_a_snapshot_of_node_is_what_json_says(tmp_path):
    path = tmp_path / "real.heapsnapshot"
    script = (
        "global.kept = [new Map([['ключ', {a: 1}]]), new WeakMap()]; v8.writeHeapSnapshot(process.argv[1])"
    )
    subprocess.run(["node", "-e", f"const v8 = require('v8'); {script}", str(path)], check=True)
    content = json.loads(path.read_bytes())
    fields = content["snapshot"]["meta"]["node_fields"]
    rows = np.array(content["nodes"]).reshape(-1, len(fields))
    graph = read(tmp_path, path.read_bytes())
    objects = graph.objects
    assert objects["size"].to_pylist() == rows[:, fields.index("self_size")].tolist()
    assert objects["name"].to_pylist() == [content["strings"][i] for i in rows[:, fields.index("name")]]
    found = rx.prepare(rx.Graph(graph), "dominators", device="cpu").search(0)
    sums = found.retained(objects["size"].to_numpy()).verify().retained_size
    assert int(sums[0]) == int(objects["size"].to_numpy()[found.reached].sum())
