"""Heap snapshots of V8 and heap dumps of Java made by hand."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

NODE_FIELDS = ["type", "name", "id", "self_size", "edge_count", "trace_node_id", "detachedness"]
NODE_TYPES = ["hidden", "array", "string", "object", "synthetic"]
EDGE_TYPES = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"]


def snapshot(names: list[str], edges: list[tuple[int, str, int, str]], **other: Any) -> dict[str, Any]:
    """Return a snapshot of objects of 10, 20, ... bytes with the ids 1, 3, ...

    Edges are tails, types, heads and names.
    """
    edges = sorted(edges, key=lambda edge: edge[0])
    strings = list(dict.fromkeys(["", *names, *(edge[3] for edge in edges)]))
    degrees = [sum(edge[0] == v for edge in edges) for v in range(len(names))]
    nodes = [
        (3, strings.index(name), 2 * v + 1, 10 * v + 10, degrees[v], 0, 0) for v, name in enumerate(names)
    ]
    of_edges = [
        (EDGE_TYPES.index(kind), 0 if kind == "element" else strings.index(name), 7 * head)
        for _, kind, head, name in edges
    ]
    meta = {
        "node_fields": NODE_FIELDS,
        "node_types": [NODE_TYPES, "string", "number", "number", "number", "number", "number"],
        "edge_fields": ["type", "name_or_index", "to_node"],
        "edge_types": [EDGE_TYPES, "string_or_number", "node"],
    }
    return {
        "snapshot": {"meta": meta, "node_count": len(nodes), "edge_count": len(edges)},
        "nodes": [number for row in nodes for number in row],
        "edges": [number for row in of_edges for number in row],
        "trace_tree": [],
        "strings": strings,
    } | other


PLAIN = snapshot(
    ["", "(GC roots)", "global", 'é"\\\n\t/\x08\x0c\r', "😀 list", "held weakly", "lone", "lone"],
    [
        *((0, "element", 1, ""), (0, "shortcut", 2, ""), (1, "hidden", 3, ""), (2, "property", 3, "b")),
        *((2, "property", 4, "a"), (4, "weak", 5, "w"), (3, "internal", 4, "i"), (3, "property", 3, "self")),
        *((2, "property", 4, "again"), (6, "property", 7, "x"), (7, "property", 6, "y")),
    ],
)
"""References of every kind, an object held weakly, and a cycle that nothing holds."""


def text(content: dict[str, Any]) -> bytes:
    """Return a snapshot as V8 writes it."""
    return json.dumps(content, separators=(",", ":")).encode()


class Hprof:
    """A heap dump of Java that is put together part by part."""

    def __init__(self, id_size: int = 8, version: bytes = b"1.0.2") -> None:
        self.size = id_size
        self.records = [b"JAVA PROFILE " + version + b"\0" + struct.pack(">IQ", id_size, 0)]
        self.parts: list[bytes] = []
        self._strings: dict[str, int] = {}

    def id(self, *numbers: int) -> bytes:
        return b"".join(number.to_bytes(self.size, "big") for number in numbers)

    def record(self, tag: int, body: bytes) -> None:
        self.records.append(struct.pack(">BII", tag, 0, len(body)) + body)

    def string(self, text: str) -> bytes:
        """Add a string; returns its id."""
        if text not in self._strings:
            self._strings[text] = 0x1000 + len(self._strings)
            self.record(0x01, self.id(self._strings[text]) + text.encode())
        return self.id(self._strings[text])

    def root(self, tag: int, one: int, more: int = 0) -> None:
        self.parts.append(bytes([tag]) + self.id(one) + bytes(more))

    def a_class(
        self, one: int, name: str, above: int = 0, fields: Any = (), statics: Any = (), size: int = 0
    ) -> None:
        """Add a class; fields are names and types, statics names, types and the bytes of the value."""
        self.record(0x02, bytes(4) + self.id(one) + bytes(4) + self.string(name))
        body = self.id(one) + bytes(4) + self.id(above, 0, 0, 0, 0, 0) + struct.pack(">IH", size, 0)
        body += struct.pack(">H", len(statics))
        body += b"".join(self.string(text) + bytes([kind]) + value for text, kind, value in statics)
        body += struct.pack(">H", len(fields))
        body += b"".join(self.string(text) + bytes([kind]) for text, kind in fields)
        self.parts.append(b"\x20" + body)

    def instance(self, one: int, of: int, content: bytes) -> None:
        self.parts.append(
            b"\x21" + self.id(one) + bytes(4) + self.id(of) + struct.pack(">I", len(content)) + content
        )

    def objects(self, one: int, of: int, *elements: int) -> None:
        self.parts.append(
            b"\x22" + self.id(one) + struct.pack(">II", 0, len(elements)) + self.id(of) + self.id(*elements)
        )

    def primitives(self, one: int, kind: int, count: int, width: int) -> None:
        self.parts.append(b"\x23" + self.id(one) + struct.pack(">IIB", 0, count, kind) + bytes(count * width))

    def bytes(self) -> bytes:
        """Return the file, its heap in two segments."""
        half = len(self.parts) // 2
        for tag, parts in ((0x1C, self.parts[:half]), (0x0C, self.parts[half:])):
            self.record(tag, b"".join(parts))
        self.record(0x2C, b"")
        return b"".join(self.records)


def java(id_size: int = 8, base: int = 0x100) -> bytes:
    """Return a dump with an object of every kind; ids are `base` and 1, 2, ..."""
    dump = Hprof(id_size)
    at = [base + number for number in range(20)]
    dump.a_class(at[1], "java/lang/Object", size=8)
    dump.a_class(at[2], "java/lang/ref/Reference", at[1], [("referent", 2), ("queue", 2)], size=16)
    dump.a_class(at[3], "java/lang/ref/WeakReference", at[2], size=16)
    dump.a_class(at[4], "Node", at[1], [("value", 4), ("next", 2)], [("all", 2, dump.id(at[9]))], size=16)
    dump.a_class(at[5], "Wide", at[4], [("far", 2), ("big", 11)], size=32)
    dump.a_class(at[6], "[LNode;", at[1])
    dump.instance(at[7], at[4], b"\1" + dump.id(at[8]))
    dump.instance(at[8], at[5], dump.id(at[10]) + bytes(8) + b"\0" + dump.id(0))
    dump.objects(at[9], at[6], at[7], 0, at[12])
    dump.primitives(at[10], 10, 5, 4)
    dump.instance(at[11], at[3], dump.id(at[12]) + dump.id(0x999))
    dump.instance(at[12], at[1], b"")
    dump.primitives(at[13], 8, 3, 1)
    dump.parts.append(b"\xfe" + bytes(4) + dump.string("app"))
    for tag, one, more in ((0xFF, 4, 0), (0x01, 11, id_size), (0x03, 11, 8), (0x8E, 5, 8), (0x90, 12, 0)):
        dump.root(tag, at[one], more)
    return dump.bytes()


def write_snapshot(heap: Any, path: Path, seed: int = 1) -> None:
    """Write a heap as V8 does, a line per row, with drawn names and a tenth as many strings as objects."""
    rng = np.random.default_rng(seed)
    n, degrees = heap.n_vertices, np.diff(heap.offsets)
    strings = [f"name {number} of an object" for number in range(max(n // 10, 1))]
    zeros = np.zeros(n, np.int64)
    names = rng.integers(len(strings), size=n + heap.n_arcs)
    sizes = heap.objects["size"].to_numpy()
    nodes = [rng.integers(5, size=n), names[:n], 2 * np.arange(n) + 1, sizes, degrees, zeros, zeros]
    edges = [rng.integers(4, size=heap.n_arcs), names[n:], 7 * heap.targets.astype(np.int64)]
    header = snapshot([""], [])["snapshot"] | {"node_count": n, "edge_count": heap.n_arcs}
    with path.open("wb") as file:
        file.write(b'{"snapshot":' + json.dumps(header, separators=(",", ":")).encode())
        for key, columns in (("nodes", nodes), ("edges", edges)):
            table = pa.table([pa.array(column) for column in columns], [str(i) for i in range(len(columns))])
            rows = pa.BufferOutputStream()
            csv.write_csv(table, rows, csv.WriteOptions(include_header=False))
            file.write(
                b',\n"%b":[' % key.encode() + rows.getvalue().to_pybytes().rstrip().replace(b"\n", b"\n,")
            )
            file.write(b"\n]")
        file.write(b',\n"strings":[' + ",\n".join(f'"{one}"' for one in strings).encode() + b"]}\n")
