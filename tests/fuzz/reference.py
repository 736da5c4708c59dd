"""Readers of the text formats that are slow and obviously right, and a CSR of their arcs.

They take the whole content, and return vertices, arcs and the file's number of lines, or raise ValueError.
"""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import scipy.io
import scipy.sparse

from relaxometer.datasets.readers.text import FREE_VERTICES, MAX_LINE, VERTICES_PER_ITEM
from relaxometer.graphs.graph import MAX_WEIGHT

Arcs = list[tuple[int, int, int]]

MARK = "\ufeff".encode()
"""What may stand before text in UTF-8."""


def rows(content: bytes, comments: tuple[bytes, ...]) -> Iterator[list[bytes]]:
    """Yield the fields of every line that is neither blank nor a comment."""
    for line in content.removeprefix(MARK).split(b"\n"):
        expect(len(line) <= MAX_LINE)
        text = line.strip(b" \t\r")
        if text and not text.startswith(comments):
            yield re.split(b"[ \t]+", text)


def expect(true: bool) -> None:
    if not true:
        raise ValueError


def whole(field: bytes, low: int, high: int) -> int:
    """Return an integer; ValueError unless it is one in plain digits and within bounds."""
    found = re.fullmatch(b"(-?)0*([0-9]+)", field)
    expect(found is not None and len(found[2]) <= 30)
    expect(low < 0 or not found[1])
    value = int(found[1] + found[2])
    expect(low <= value <= high)
    return value


def real(field: bytes, low: float, high: float) -> float:
    expect(re.fullmatch(rb"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", field) is not None)
    value = float(field)
    expect(low <= value <= high)
    return value


def counts(fields: list[bytes], words: list[bytes]) -> list[int]:
    """Return the numbers that follow `words` in a line."""
    expect(fields[: len(words)] == words)
    expect(all(re.fullmatch(b"[0-9]{1,18}", field) for field in fields[len(words) :]))
    return [int(field) for field in fields[len(words) :]]


def announced(n_vertices: int, n_items: int, found: int) -> None:
    expect(n_vertices < 2**32 and n_items == found)
    expect(n_vertices <= FREE_VERTICES + VERTICES_PER_ITEM * found)


def dimacs(content: bytes, problem: bytes = b"sp") -> tuple[int, Arcs]:
    """Return the arcs of a problem `sp`, or both directions of the edges of `tw`."""
    is_sp = problem == b"sp"
    table = list(rows(content, (b"c",)))
    expect(bool(table))
    n, m = counts(table[0], [b"p", problem])
    arcs = []
    for fields in table[1:]:
        expect(len(fields) == 4 and fields[0] == b"a" if is_sp else len(fields) == 2)
        tail, head, *weights = fields[is_sp:]
        ends = whole(tail, 1, n) - 1, whole(head, 1, n) - 1
        arcs.append((*ends, whole(weights[0], 0, MAX_WEIGHT) if is_sp else 1))
    announced(n, m, len(arcs))
    return n, arcs if is_sp else both_ways(arcs)


def places(content: bytes, n_vertices: int) -> list[tuple[float, float]]:
    """Return longitude and latitude of every vertex."""
    table = list(rows(content, (b"c",)))
    expect(bool(table) and counts(table[0], [b"p", b"aux", b"sp", b"co"]) == [n_vertices])
    found = {}
    for fields in table[1:]:
        expect(len(fields) == 4 and fields[0] == b"v")
        vertex = whole(fields[1], 1, n_vertices)
        expect(vertex not in found)
        lon, lat = whole(fields[2], -180_000_000, 180_000_000), whole(fields[3], -90_000_000, 90_000_000)
        found[vertex] = lon / 1_000_000, lat / 1_000_000
    expect(len(found) == n_vertices)
    return [found[vertex] for vertex in range(1, n_vertices + 1)]


def matrix_market(content: bytes, scale: float) -> tuple[int, Arcs]:
    """Return a matrix whose values, times `scale` and rounded, are the weights."""
    first = content.removeprefix(MARK).split(b"\n")[0].strip(b" \t\r")
    kind = re.split(b"[ \t]+", first.lower())
    expect(kind[:3] == [b"%%matrixmarket", b"matrix", b"coordinate"] and len(kind) == 5)
    expect(kind[3] in (b"integer", b"real") and kind[4] in (b"general", b"symmetric"))
    table = list(rows(content, (b"%",)))
    expect(bool(table) and len(table[0]) == 3)
    n, columns, m = counts(table[0], [])
    expect(n == columns)
    entries = []
    for fields in table[1:]:
        expect(len(fields) == 3)
        value = real(fields[2], 0, MAX_WEIGHT / scale)
        entries.append((whole(fields[0], 1, n) - 1, whole(fields[1], 1, n) - 1, round(value * scale)))
    announced(n, m, len(entries))
    return n, both_ways(entries) if kind[4] == b"symmetric" else entries


def matrix(content: bytes) -> tuple[int, Arcs]:
    """Return a matrix as SciPy reads it, with rounded entries as weights; zeros of an array do not count."""
    text = content.removeprefix(MARK).lstrip(b" \t\r")
    banner, _, rest = text.partition(b"\n")
    words = banner.lower().replace(b"%%matrixmarket", b"%%MatrixMarket").replace(b" integer", b" real")
    fields = (b" ".join(field.removeprefix(b"+") for field in row) for row in rows(rest, (b"%",)))
    rest = b"\n".join(fields)
    entries = scipy.io.mmread(io.BytesIO(words.strip() + b"\n" + rest + b"\n"))
    found = scipy.sparse.coo_array(entries)
    places = zip(found.row.tolist(), found.col.tolist(), np.rint(found.data).tolist(), strict=True)
    return found.shape[0], [(u, v, int(weight)) for u, v, weight in places]


def osm_elements(content: bytes) -> set[tuple[Any, ...]]:
    """Return kind, id, references and tags of the elements of OpenStreetMap's XML."""
    found: set[tuple[Any, ...]] = set()
    for one in ElementTree.fromstring(content):
        is_gone = one.get("action") == "delete" or one.get("visible") == "false"
        if one.tag not in ("node", "way", "relation") or is_gone:
            continue
        members = [m for m in one if m.tag in ("nd", "member")]
        refs = () if one.tag == "node" else tuple(int(m.get("ref", "")) for m in members)
        tags = {m.get("k"): m.get("v") for m in one if m.tag == "tag"}
        found.add((one.tag, int(one.get("id", "")), refs, (*tags.items(),)))
        if one.tag == "way":
            found |= {("node", int(m.get("ref", "")), (), ()) for m in members if "lat" in m.attrib}
    return found


def edge_list(content: bytes, scale: float, *, directed: bool) -> tuple[int, Arcs]:
    """Return the edges with the weights of the third column, times `scale` and rounded."""
    edges = []
    for fields in rows(content, (b"#", b"%")):
        expect(len(fields) == 3)
        ends = whole(fields[0], 0, 2**63 - 1), whole(fields[1], 0, 2**63 - 1)
        edges.append((*ends, round(real(fields[2], 0, MAX_WEIGHT / scale) * scale)))
    expect(bool(edges))
    number = {old: new for new, old in enumerate(sorted({end for edge in edges for end in edge[:2]}))}
    arcs = [(number[tail], number[head], weight) for tail, head, weight in edges]
    return len(number), arcs if directed else both_ways(arcs)


def both_ways(edges: Arcs) -> Arcs:
    return [*edges, *((head, tail, weight) for tail, head, weight in edges)]


def csr(n_vertices: int, arcs: Arcs) -> tuple[list[int], list[int], list[int]]:
    """Return offsets, targets and weights without self-loops; of parallel arcs, the lightest."""
    lightest: dict[tuple[int, int], int] = {}
    for tail, head, weight in arcs:
        if tail != head:
            lightest[tail, head] = min(weight, lightest.get((tail, head), weight))
    offsets = [0] * (n_vertices + 1)
    for tail, _ in lightest:
        offsets[tail + 1] += 1
    for vertex in range(n_vertices):
        offsets[vertex + 1] += offsets[vertex]
    ordered = sorted(lightest)
    return offsets, [head for _, head in ordered], [lightest[ends] for ends in ordered]


def table(content: bytes) -> tuple[list[int] | list[str], Arcs]:
    """Return the ids and the arcs of a table whose weights are `km`."""
    while content.removeprefix(MARK).lstrip(b" \t\r\n")[:1] in (b"#", b"%"):
        content = content.partition(b"\n")[2]
    text = content.removeprefix(MARK).decode(errors="replace").lstrip("\r\n")
    header, *rows = filter(None, csv.reader(io.StringIO(text, newline="")))
    places = [header.index(name) for name in ("from", "to", "km")]
    edges = [[row[place].strip() for place in places] for row in rows]
    texts = {end for edge in edges for end in edge[:2]}
    are_numbers = all(
        re.fullmatch("0|-?[1-9][0-9]{0,18}", one) and -(2**63) <= int(one) < 2**63 for one in texts
    )
    ids = sorted(map(int, texts)) if are_numbers else sorted(texts, key=str.encode)
    number = {str(one): place for place, one in enumerate(ids)}
    weights = [float(km) for *_, km in edges]
    exact = all(weight == int(weight) for weight in weights)
    loads = [int(one) if exact else float(np.float32(one)) for one in weights]
    return ids, [(number[u], number[v], w) for (u, v, _), w in zip(edges, loads, strict=True)]


def metis(content: bytes) -> tuple[int, Arcs]:
    """Return a graph of lists of neighbours."""
    lists = content.removeprefix(MARK).split(b"\n")
    lists = [line.strip(b" \t\r") for line in lists if not line.strip(b" \t\r").startswith(b"%")]
    while lists and not lists[0]:
        del lists[0]
    n, m, *layout = lists[0].split()
    sizes, of_vertices, of_edges = (digit == 49 for digit in (layout or [b"0"])[0].zfill(3))
    skipped = sizes + int(layout[1] if len(layout) > 1 else of_vertices)
    arcs = []
    for tail, line in enumerate(lists[1 : int(n) + 1]):
        expect(re.fullmatch(rb"[0-9 \t\r]*", line) is not None)
        numbers = list(map(int, line.split()))[skipped:]
        loads = numbers[1::2] if of_edges else [1] * len(numbers)
        heads = numbers[::2] if of_edges else numbers
        arcs += [(tail, head - 1, weight) for head, weight in zip(heads, loads, strict=True)]
    expect(
        len(arcs) == 2 * int(m)
        and sorted(arcs) == sorted((head, tail, weight) for tail, head, weight in arcs)
    )
    return int(n), arcs
