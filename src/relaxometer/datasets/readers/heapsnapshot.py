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

import json
import re
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.compiled import njit
from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.formats.programs import HeapSnapshotParameters
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

WEAK_MAP = np.frombuffer(b" pair in WeakMap (table @", np.uint8)
"""What stands before the number of the table, and a bracket, in the name of a reference from an entry."""

UNESCAPED, DIGITS = np.full(256, -1), np.full(256, -1)
UNESCAPED[[*b'"/\\bfnrt']] = [*b'"/\\\b\f\n\r\t']
DIGITS[[*b"0123456789abcdefABCDEF"]] = [*range(16), *range(10, 16)]
"""Characters by the letter after a backslash, and values of hexadecimal digits; -1 for others."""

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
        sizes, texts, tables = [], [], []
        code, count = MORE, 0
        while code == MORE:
            text = np.frombuffer(self._block, np.uint8)
            spans = np.empty((2, len(text) // 2 + 1), np.int64)
            found, at, code = _find_strings(text, spans[0], spans[1], count == 0)
            starts, ends = spans[:, :found]
            used = is_used[count : count + found]
            content, lengths = np.empty(at, np.uint8), np.zeros(len(used), np.int64)
            size = _decode(text, starts[: len(used)], used, content, lengths)
            if code == DAMAGED or size < 0:
                raise self._damage(f"expected strings separated by commas, after {count} of them")
            sizes.append(lengths[used])
            texts.append(content[:size])
            tables.append(_tables(text, ends, WEAK_MAP))
            self._block, count = self._block[at:], count + found
            if code == MORE:
                self._more()
        if self._block.strip() + self._stream.read(1 << 16).strip() != b"}":
            raise self._damage("something follows the strings")
        if count < len(is_used):
            raise self._damage("the name of a node is not among the strings")
        ends, content = offsets_of(np.concatenate(sizes)), np.concatenate(texts)
        if ends[-1] >= 2**31:
            raise UserError(f"{self._path}: names of {ends[-1]} bytes; at most {2**31 - 1} are possible")
        buffers = pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(content)
        strings = pa.StringArray.from_buffers(len(ends) - 1, *buffers)
        try:
            strings.validate(full=True)
        except pa.ArrowInvalid:
            raise self._damage("a string is not UTF-8") from None
        numbers = (np.cumsum(is_used) - 1).astype(np.int32)
        return pa.DictionaryArray.from_arrays(numbers[named], strings), np.concatenate(tables)


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


@njit(cache=True)
def _find_strings(
    text: np.ndarray, starts: np.ndarray, ends: np.ndarray, is_first: bool
) -> tuple[int, int, int]:
    """Find the quotation marks of strings that end here.

    Returns how many were found, where the next begins, and whether the array goes on.
    """
    count = at = i = 0
    expected = True
    while i < len(text):
        sign = text[i]
        if sign == 34:
            start = i
            i += 1
            while i < len(text) and text[i] != 34:
                if text[i] < 32:
                    return count, i, DAMAGED
                i += 1 + (text[i] == 92)
            if i >= len(text):
                break
            if not expected:
                return count, i, DAMAGED
            expected = False
            starts[count], ends[count] = start, i
        elif sign == 44 or sign == 93:
            if not expected:
                count += 1
            elif sign == 44 or count or not is_first:
                return count, i, DAMAGED
            expected, at = True, i + 1
            if sign == 93:
                return count, at, CLOSED
        elif sign != 32 and sign != 10 and sign != 13 and sign != 9:
            return count, i, DAMAGED
        i += 1
    return count, at, MORE


@njit(cache=True)
def _tables(text: np.ndarray, ends: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return the number between `before` and a bracket that each string ends with; -1 if it does not."""
    found = np.full(len(ends), -1, np.int64)
    for k in range(len(ends)):
        i = ends[k] - 1
        if text[i] != 41:
            continue
        value, power = 0, 1
        while 48 <= text[i - 1] <= 57 and power < 10**18:
            i -= 1
            value += power * (text[i] - 48)
            power *= 10
        start = i - len(before)
        if power > 1 and start >= 0 and np.all(text[start:i] == before):
            found[k] = value
    return found


@njit(cache=True)
def _decode(
    text: np.ndarray, starts: np.ndarray, used: np.ndarray, content: np.ndarray, lengths: np.ndarray
) -> int:
    """Write the content of the strings that are used, and its lengths; returns its size, -1 if damaged."""
    size = 0
    for k in range(len(starts)):
        if not used[k]:
            continue
        begin, i = size, starts[k] + 1
        high = 0
        while text[i] != 34:
            sign = text[i]
            i += 1
            if sign != 92:
                content[size] = sign
                size += 1
                continue
            sign = text[i]
            i += 1
            if sign != 117:
                plain = UNESCAPED[sign]
                if plain < 0:
                    return -1
                content[size] = plain
                size += 1
                continue
            code = 0
            for _ in range(4):
                digit = DIGITS[text[i]]
                if digit < 0:
                    return -1
                code, i = code * 16 + digit, i + 1
            if 0xDC00 <= code < 0xE000 and high and size >= begin + 3:
                code, size = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00), size - 3
            high = code if 0xD800 <= code < 0xDC00 and text[i] == 92 and text[i + 1] == 117 else 0
            size = _encode(0xFFFD if 0xD800 <= code < 0xE000 else code, content, size)
        lengths[k] = size - begin
    return size


@njit(cache=True)
def _encode(code: int, content: np.ndarray, size: int) -> int:
    """Append a character as UTF-8; returns the new size."""
    if code < 0x80:
        content[size] = code
        return size + 1
    if code < 0x800:
        content[size], content[size + 1] = 0xC0 | code >> 6, 0x80 | code & 63
        return size + 2
    last = size + (2 if code < 0x10000 else 3)
    content[size] = 0xE0 | code >> 12 if code < 0x10000 else 0xF0 | code >> 18
    if code >= 0x10000:
        content[size + 1] = 0x80 | code >> 12 & 63
    content[last - 1], content[last] = 0x80 | code >> 6 & 63, 0x80 | code & 63
    return last + 1
