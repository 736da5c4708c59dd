"""Heap snapshots of V8 made by hand."""

import json
from typing import Any

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
