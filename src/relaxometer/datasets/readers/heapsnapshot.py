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

BLOCK = 1 << 18
"""Bytes that are read at a time; with the numbers of as many, they fit in a core's cache."""

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

MOST_DIGITS = 18
"""Of a number that is read."""

MORE, CLOSED, DAMAGED, ROW, LAST_ROW, CUT = range(6)
"""How an array goes on after a block or a row: further, closed, damaged, with the next row, closed after the
row, closed within the row."""


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
        self._path, self._stream = path, stream
        self._buffer, self._begin, self._end = np.empty(2 * MAX_HEADER, np.uint8), 0, 0

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
            sound &= all(len(one) <= 64 for one in lists) and all(len(set(one)) == len(one) for one in fields)
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

    @property
    def _text(self) -> npt.NDArray[np.uint8]:
        """What has been read of the file and not been used."""
        return self._buffer[self._begin : self._end]

    def _read(self, most: int) -> int:
        """Append to the text what comes next in the file; returns the number of bytes, 0 at its end."""
        size = self._end - self._begin
        buffer = self._buffer if size + most < len(self._buffer) else np.empty(2 * (size + most), np.uint8)
        buffer[:size] = self._text
        count = self._stream.readinto(buffer.data[size : size + most])  # type: ignore[attr-defined]
        buffer[size + count] = 0
        self._buffer, self._begin, self._end = buffer, 0, size + count
        return int(count)

    def _more(self) -> None:
        if not self._read(BLOCK):
            raise self._damage("the file ends early")

    def _find(self, key: str) -> None:
        """Go to the array of this name; before it are only numbers, or keys and the brackets around them."""
        sign = re.compile(rb'"%b"\s*:\s*\[' % key.encode())
        while not (found := sign.search(self._text.data)):
            self._begin = max(self._begin, self._end - 64)
            self._more()
        self._begin += found.end()

    def _header(self) -> Any:
        """Return what stands before the nodes."""
        sign = re.compile(rb'"nodes"\s*:\s*\[')
        self._read(MAX_HEADER)
        if not (found := sign.search(self._text.data)):
            raise self._damage('no "nodes" near its beginning')
        text = self._text[: found.start()].tobytes() + b'"nodes":0}'
        self._begin += found.end()
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._damage(f"its header is not JSON ({quoted(error)})") from None

    def _rows(
        self, fields: list[str], wanted: dict[str, Any], what: str, announced: int
    ) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of the fields that are wanted, up to the end of the array."""
        places = {name: place for place, name in enumerate(wanted)}
        slots = np.array([places.get(name, len(wanted)) for name in fields], np.int64)
        # A damaged header may announce any number.
        possible = max(self._path.stat().st_size // (2 * len(fields)), BLOCK)
        columns = {name: np.empty(min(max(announced, 0), possible), kind) for name, kind in wanted.items()}
        values, code, count = np.empty((0, 0), np.int64), MORE, 0
        while code == MORE:
            text = self._buffer[self._begin : self._end + 1]
            if values.shape[1] < (most := len(text) // 2 // len(fields) + 1):
                values = np.empty((len(wanted) + 1, most), np.int64)
            rows, at, code = _parse_rows(text, slots, values, count == 0)
            if code == DAMAGED:
                sample = text[max(at - 20, 0) : at + 20].tobytes().decode("utf-8", "replace")
                raise self._damage(f"expected integers separated by commas in {what}, near {quoted(sample)}")
            for part, (name, kind) in enumerate(wanted.items()):
                if count + rows > len(columns[name]):
                    columns[name] = np.append(columns[name], np.empty(count + rows, kind))
                most = _append(values[part, :rows], columns[name], count)
                if most > np.iinfo(kind).max:
                    raise self._damage(f"{name} of one of the {what} is {most}")
            self._begin, count = self._begin + at, count + rows
            if code == MORE:
                self._more()
        if count != announced or code == CUT:
            raise self._damage(f"{count} {what}, but its header announces {quoted(announced)}")
        return {name: column[:count] for name, column in columns.items()}

    def _strings(self, named: npt.NDArray[np.uint32]) -> tuple[pa.DictionaryArray, npt.NDArray[np.int64]]:
        """Return the names of the nodes, and what `Snapshot.tables` holds, up to the end of the file."""
        is_used = np.zeros(int(named.max(initial=0)) + 1, np.bool_)
        is_used[named] = True
        sizes, texts, tables = [], [], []
        code, count = MORE, 0
        while code == MORE:
            text = self._text
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
            self._begin, count = self._begin + at, count + found
            if code == MORE:
                self._more()
        while self._read(BLOCK) and self._end - self._begin < MAX_HEADER:
            pass
        if self._text.tobytes().strip() != b"}":
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
    text: np.ndarray, slots: np.ndarray, values: np.ndarray, is_first: bool
) -> tuple[int, int, int]:
    """Read rows of integers, each with the comma or bracket after it; there may be none if `is_first`.

    `text` ends with a zero that is not of the file. `slots` has the row of `values` that takes each field.
    Returns how many rows were read, which character comes next, and whether the array goes on.
    """
    row = i = 0
    while True:
        plain, i = _plain_rows(text, i, slots, values, row)
        row += plain
        i, code = _any_row(text, i, slots, values, row, is_first and row == 0)
        if code == LAST_ROW:
            return row + 1, i, CLOSED
        if code != ROW:
            return row, i, code
        row += 1


@njit(cache=True)
def _plain_rows(
    text: np.ndarray, begin: int, slots: np.ndarray, values: np.ndarray, row: int
) -> tuple[int, int]:
    """Read rows as V8 writes them, without blanks but a line feed before the comma at the end of each.

    Returns how many there are, and where the first one that is not of this kind, or may be cut, begins.
    """
    first_row, longest = row, (MOST_DIGITS + 2) * len(slots)
    while begin + longest < len(text):
        i = begin
        for field in range(len(slots)):
            first = i
            value = text[i] - 48
            if value < 0 or value > 9:
                return row - first_row, begin
            i += 1
            digit = text[i] - 48
            while 0 <= digit <= 9:
                value = value * 10 + digit
                i += 1
                digit = text[i] - 48
            length = i - first
            if length > MOST_DIGITS or (length > 1 and text[first] == 48):
                return row - first_row, begin
            values[slots[field], row] = value
            sign = text[i]
            if sign == 10:  # a branch, which is predicted: the next character need not wait
                i += 1
                sign = text[i]
            if sign != 44:
                return row - first_row, begin
            i += 1
        begin, row = i, row + 1
    return row - first_row, begin


@njit(cache=True)
def _any_row(
    text: np.ndarray, begin: int, slots: np.ndarray, values: np.ndarray, row: int, may_be_empty: bool
) -> tuple[int, int]:
    """Read a row with blanks anywhere, or the end of the array, if it `may_be_empty` also without a row.

    Returns which character comes next, and the state: `MORE` if the text ends before the row.
    """
    field = value = digits = 0
    for i in range(begin, len(text) - 1):
        sign = text[i]
        if 48 <= sign <= 57:
            if digits >= MOST_DIGITS or (digits == 1 and value == 0):
                return i, DAMAGED
            value = value * 10 + (sign - 48)
            digits += 1
        elif sign == 44 or sign == 93:
            if digits:
                values[slots[field], row] = value
                field += 1
            elif sign == 44 or field or not may_be_empty:
                return i, DAMAGED
            if sign == 93:
                is_whole = field == len(slots)
                return i + 1, LAST_ROW if is_whole else CLOSED if field == 0 else CUT
            if field == len(slots):
                return i + 1, ROW
            value = digits = 0
        elif sign == 32 or sign == 10 or sign == 13 or sign == 9:
            if digits:
                digits = MOST_DIGITS
        else:
            return i, DAMAGED
    return begin, MORE


@njit(cache=True)
def _append(values: np.ndarray, column: np.ndarray, count: int) -> int:
    """Write values behind those that a column has; returns their maximum."""
    most = 0
    for k in range(len(values)):
        column[count + k] = values[k]
        most = max(most, values[k])
    return most


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
