"""Reader of heap snapshots of V8, as Chrome and Node.js write them: JSON of hundreds of megabytes.

The file is read once, in blocks. It names the fields of nodes and edges, and then lists the numbers of all
nodes, of all edges, and the strings. Of the strings only the names of nodes stay.

Which references keep an object alive is a choice of the tools, not of the file. Both rules leave out weak
edges, edges of an object to itself, and shortcuts that do not lead from the root. Objects that are left
without any reference, such as those only held weakly, belong to the root. Cycles that nothing else holds are
not reached.

``chrome`` (DevTools, 2025) also leaves out
  - of an entry of a WeakMap the reference of the table, since its key keeps the value alive, too;
  - references into the page from outside. The page is what is reached from the root's shortcuts (global
    objects) and from "(Document DOM trees)".

``memlab`` (2.0) instead takes for the page what is reached from the root's other edges. Then nearly all
references count.
"""

from __future__ import annotations

import codecs
import json
import re
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.compiled import njit
from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.formats.heaps import HeapSnapshotParameters
from relaxometer.datasets.readers.heaps import heap_graph, marked
from relaxometer.datasets.readers.text import opened
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph, offsets_of

BLOCK = 1 << 20
"""Bytes in memory at a time."""

MAX_HEADER = 1 << 20
"""Bytes before the nodes."""

NODE = {"type": np.int8, "name": np.uint32, "id": np.uint64, "self_size": np.uint64, "edge_count": np.uint32}
EDGE = {"type": np.int8, "name_or_index": np.uint32, "to_node": np.int64}
"""The fields that are read, with their types."""

_TABLE = re.compile(r" pair in WeakMap \(table @([0-9]{1,18})\)$")
"""The end of the name of a reference from an entry of a WeakMap, with the number of the table."""

_BLANK, _TEXT = r"[ \t\r\n]*+", r'"([^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+)'
_STRING = re.compile(rf'{_BLANK}{_TEXT}"{_BLANK}([,\]])')
_BEGUN = re.compile(rf'{_BLANK}(?:{_TEXT}(?:\\|"{_BLANK})?)?')
"""A string of a list with the sign after it, and what may become one."""

_HALF = re.compile("[\ud800-\udfff]")

MORE, CLOSED, DAMAGED = range(3)
"""Whether an array goes on after a block."""


class Snapshot(NamedTuple):
    """What a file says.

    `nodes` and `edges` are the columns `NODE` and `EDGE`. Edges are in the order of their nodes; ``to_node``
    counts nodes. `tables` has the id of the WeakMap's table that a string names; -1 for others.
    """

    root: int
    node_types: list[str]
    edge_types: list[str]
    nodes: dict[str, npt.NDArray[Any]]
    edges: dict[str, npt.NDArray[Any]]
    names: pa.DictionaryArray
    tables: npt.NDArray[np.int64]


def build(name: str, dataset: Dataset[HeapSnapshotParameters], file: Path) -> Graph:
    """Make the graph of a snapshot; see :data:`relaxometer.datasets.build.Reader`.

    Vertices are in the order of the file.
    """
    with opened(file) as stream:
        found = _Reader(file, stream).snapshot()
    offsets = offsets_of(found.nodes["edge_count"].astype(np.int64))
    heads = found.edges["to_node"]
    rules = dataset.parameters.rules
    keeps = _keeping(found, offsets, rules)
    objects = {
        "object": found.nodes["id"],
        "type": pa.DictionaryArray.from_arrays(found.nodes["type"], pa.array(found.node_types)),
        "name": found.names,
        "size": found.nodes["self_size"],
    }
    return heap_graph(name, (offsets, heads), keeps, objects, {"rules": rules}, found.root)


def _keeping(found: Snapshot, offsets: npt.NDArray[np.int64], rules: str) -> npt.NDArray[np.bool_]:
    """Return which edges keep the object alive that they lead to."""
    kind, heads, root = found.edges["type"], found.edges["to_node"], found.root
    number = {name: code for code, name in enumerate(found.edge_types)}
    weak, shortcut, internal, element = (
        number.get(name, -1) for name in ("weak", "shortcut", "internal", "element")
    )
    own = slice(offsets[root], offsets[root + 1])
    strong = kind != weak
    is_page = kind[own] == shortcut
    trees = found.names.dictionary.index("(Document DOM trees)").as_py()
    is_page |= (kind[own] == element) & (found.names.indices.to_numpy()[heads[own]] == trees)
    if rules == "memlab":
        is_page = ~is_page
    page = marked(offsets, heads, strong, offsets[root] + np.flatnonzero(is_page))
    keeps = _counting(offsets, heads, kind, page, root, weak, shortcut)
    if rules == "chrome" and (found.tables >= 0).any():
        entries = np.flatnonzero(kind == internal)
        table = found.tables[found.edges["name_or_index"][entries]]
        entries, table = entries[table >= 0], table[table >= 0]
        tails = np.searchsorted(offsets, entries, side="right") - 1
        keeps[entries[table == found.nodes["id"][tails].astype(np.int64)]] = False
    return keeps


@njit(cache=True)
def _counting(
    offsets: np.ndarray,
    heads: np.ndarray,
    kind: np.ndarray,
    page: np.ndarray,
    root: int,
    weak: int,
    shortcut: int,
) -> np.ndarray:
    """Return which edges count by their types and by what is in the page."""
    counts = np.empty(len(heads), np.bool_)
    for u in range(len(offsets) - 1):
        for edge in range(offsets[u], offsets[u + 1]):
            is_inner = kind[edge] != shortcut and (page[u] or not page[heads[edge]])
            counts[edge] = kind[edge] != weak and (u == root or is_inner)
    return counts


class _Reader:
    """Reads one file from its beginning to its end."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self._path, self._stream, self._block = path, stream, b""

    def snapshot(self) -> Snapshot:
        """Read the file."""
        header = self._header()
        try:
            said, meta = header["snapshot"], header["snapshot"]["meta"]
            node_types, edge_types = meta["node_types"][0], meta["edge_types"][0]
            fields = meta["node_fields"], meta["edge_fields"]
            counts = said["node_count"], said["edge_count"]
            root, rest = divmod(said.get("root_index", 0), len(fields[0]))
            lists = node_types, edge_types, *fields
            sound = all(
                isinstance(one, list) and all(type(x) is str and x.isascii() for x in one) for one in lists
            )
            sound &= all(type(count) is int for count in (*counts, root)) and not rest
            sound &= set(NODE) <= set(fields[0]) and set(EDGE) <= set(fields[1])
            sound &= all(len(one) <= 64 for one in lists)
        except (KeyError, IndexError, TypeError, AttributeError, ZeroDivisionError):
            sound = False
        if not sound:
            raise self._damage("its header does not describe nodes and edges as V8 does")
        nodes = self._rows(fields[0], NODE, "nodes", counts[0])
        self._find("edges")
        edges = self._rows(fields[1], EDGE, "edges", counts[1])
        ends, last, are_nodes = _divided(edges["to_node"], len(fields[0]))
        n_nodes = len(nodes["type"])
        for wrong, what in (
            (not 0 <= root < n_nodes, "the root is not a node"),
            (nodes["type"].max(initial=0) >= len(node_types), "a node of an unknown type"),
            (edges["type"].max(initial=0) >= len(edge_types), "an edge of an unknown type"),
            (last >= n_nodes or not are_nodes, "an edge leads to something else than a node"),
            (int(nodes["edge_count"].sum()) != len(ends), "the nodes announce other numbers of edges"),
        ):
            if wrong:
                raise self._damage(what)
        edges["to_node"] = ends
        self._find("strings")
        names, tables = self._strings(nodes["name"])
        is_named = edges["type"] == (edge_types.index("internal") if "internal" in edge_types else -1)
        if edges["name_or_index"][is_named].max(initial=0) >= max(len(tables), 1):
            raise self._damage("the name of an edge is not among the strings")
        return Snapshot(root, node_types, edge_types, nodes, edges, names, tables)

    def _damage(self, what: str) -> UserError:
        return UserError(f"{self._path}: not a whole heap snapshot of V8: {what}")

    def _more(self) -> None:
        """Append to the block what comes next in the file; raises at its end."""
        chunk = self._stream.read(BLOCK)
        if not chunk:
            raise self._damage("the file ends early")
        self._block += chunk

    def _find(self, key: str) -> None:
        """Go to the array of this name; before it are only numbers, or keys and the brackets around them."""
        sign = re.compile(rb'"%b"\s*:\s*\[' % key.encode())
        while not (found := sign.search(self._block)):
            self._block = self._block[-64:]
            self._more()
        self._block = self._block[found.end() :]

    def _header(self) -> Any:
        """Return what stands before the nodes."""
        sign = re.compile(rb'"nodes"\s*:\s*\[')
        self._block = self._stream.read(BLOCK)
        if not (found := sign.search(self._block, 0, MAX_HEADER)):
            raise self._damage('no "nodes" near its beginning')
        text = self._block[: found.start()] + b'"nodes":0}'
        self._block = self._block[found.end() :]
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._damage(f"its header is not JSON ({quoted(error)})") from None

    def _rows(
        self, fields: list[str], wanted: dict[str, Any], what: str, announced: int
    ) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of the fields that are wanted, up to the end of the array."""
        places = {name: place for place, name in enumerate(wanted)}
        slots = np.array([places.get(name, -1) for name in fields], np.int8)
        pieces: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in wanted}
        values, code, count, field = np.empty((len(wanted), 1), np.int64), MORE, 0, 0
        while code == MORE:
            text = np.frombuffer(self._block, np.uint8)
            begun = values[:, 0].copy()
            if values.shape[1] < (most := len(text) // 2 // len(fields) + 2):
                values = np.empty((len(wanted), most), np.int64)
                values[:, 0] = begun
            rows, field, at, code = _parse_rows(text, slots, values, field, count == 0)
            if code == DAMAGED:
                sample = self._block[max(at - 20, 0) : at + 20].decode("utf-8", "replace")
                raise self._damage(f"expected integers separated by commas in {what}, near {quoted(sample)}")
            self._block, count = self._block[at:], count + rows
            for part, (name, kind) in zip(values[:, :rows], wanted.items(), strict=True):
                pieces[name].append(part.astype(kind))
                if part.max(initial=0) > np.iinfo(kind).max:
                    raise self._damage(f"{name} of one of the {what} is {part.max()}")
            values[:, 0] = values[:, rows]
            if code == MORE:
                self._more()
        if count != announced or field:
            raise self._damage(f"{count} {what}, but its header announces {quoted(announced)}")
        return {name: np.concatenate(parts) for name, parts in pieces.items()}

    def _strings(self, named: npt.NDArray[np.uint32]) -> tuple[pa.DictionaryArray, npt.NDArray[np.int64]]:
        """Return the names of the nodes, and what `Snapshot.tables` holds, up to the end of the file."""
        is_used = np.zeros(int(named.max(initial=0)) + 1, np.bool_)
        is_used[named] = True
        used = is_used.tolist()
        names: list[str] = []
        tables: list[int] = []
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            text, at, sign = decoder.decode(self._block), 0, ","
            while sign == ",":
                if found := _STRING.match(text, at):
                    raw, sign, at = found[1], found[2], found.end()
                    if len(tables) < len(used) and used[len(tables)]:
                        names.append(_HALF.sub("\ufffd", json.loads(f'"{raw}"')) if "\\" in raw else raw)
                    table = _TABLE.search(raw) if raw.endswith(")") else None
                    tables.append(int(table[1]) if table else -1)
                elif _BEGUN.fullmatch(text, at):
                    self._block = b""
                    self._more()
                    text, at = text[at:] + decoder.decode(self._block), 0
                else:
                    raise ValueError
            end = text[at:] + decoder.decode(self._stream.read(1 << 16), True)
        except UnicodeDecodeError:
            raise self._damage("a string is not UTF-8") from None
        except ValueError:
            raise self._damage(f"expected strings separated by commas, after {len(tables)} of them") from None
        if end.strip(" \t\r\n") != "}":
            raise self._damage("something follows the strings")
        if len(tables) < len(used):
            raise self._damage("the name of a node is not among the strings")
        strings = pa.array(names, pa.string())
        if isinstance(strings, pa.ChunkedArray):
            raise UserError(f"{self._path}: names of more than the {2**31 - 1} bytes that are possible")
        numbers = (np.cumsum(is_used) - 1).astype(np.int32)
        return pa.DictionaryArray.from_arrays(numbers[named], strings), np.array(tables, np.int64)


@njit(cache=True)
def _divided(places: np.ndarray, width: int) -> tuple[np.ndarray, int, bool]:
    """Return places in an array as numbers of rows, uint32, their maximum, and whether all begin a row."""
    rows, last, begin = np.empty(len(places), np.uint32), -1, True
    for k in range(len(places)):
        row = places[k] // width
        begin &= row * width == places[k]
        last = max(last, row)
        rows[k] = row
    return rows, last, begin


@njit(cache=True)
def _parse_rows(
    text: np.ndarray, slots: np.ndarray, values: np.ndarray, field: int, is_first: bool
) -> tuple[int, int, int, int]:
    """Read rows of integers, each with the comma or bracket after it; there may be none if `is_first`.

    `slots` has the row of `values` that takes each field, -1 for a field that is not wanted; the first column
    of `values` may hold the beginning of a row, and `field` comes first. Returns how many rows were read,
    which field and character come next, and whether the array goes on.
    """
    row = at = value = digits = 0
    for i in range(len(text)):
        sign = text[i]
        if 48 <= sign <= 57:
            if digits >= 18 or (digits == 1 and value == 0):
                return row, field, i, DAMAGED
            value = value * 10 + (sign - 48)
            digits += 1
        elif sign == 44 or sign == 93:
            if digits:
                if slots[field] >= 0:
                    values[slots[field], row] = value
                field += 1
                if field == len(slots):
                    field, row = 0, row + 1
            elif sign == 44 or field or row or not is_first:
                return row, field, i, DAMAGED
            at, value, digits = i + 1, 0, 0
            if sign == 93:
                return row, field, at, CLOSED
        elif sign == 32 or sign == 10 or sign == 13 or sign == 9:
            if digits:
                digits = 18
        else:
            return row, field, i, DAMAGED
    return row, field, at, MORE
