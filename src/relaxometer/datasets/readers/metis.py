"""Reader of graphs in the format of METIS, which the 10th DIMACS challenge uses, too.

References
----------
G. Karypis, "METIS: A Software Package for Partitioning Unstructured Graphs", version 5.1.0, section 4.1.1.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit
from relaxometer.core.errors import UserError
from relaxometer.datasets.parameters import OwnWeights
from relaxometer.datasets.readers.edge_weights import weights_of
from relaxometer.datasets.readers.mirrored import Entries, edges_listed_twice
from relaxometer.datasets.readers.text import Line, check_vertices, lines, opened, refuse, whole_lines
from relaxometer.datasets.registry import Dataset
from relaxometer.datasets.weights import typed_graph
from relaxometer.graphs.graph import Graph

Ids = npt.NDArray[np.uint32]

SHAPE = "<vertices> <edges> [<format> [<weights of a vertex>]]"
MAX_LIST = 1 << 28
"""Longest line in bytes: one that lists all neighbours of a vertex may be long."""

REASONS = (
    "",
    "expected integers, separated by blanks",
    "a number of more than 18 digits",
    "the number of fields does not fit the format in the header",
    "a neighbour that is not a vertex of the header",
    "more vertices than the header announces",
)
"""Messages by the code that :func:`_parse` returns."""


class Header(NamedTuple):
    """What the first line says: counts, numbers before the neighbours of a vertex, and edges' weights."""

    line: Line
    n_vertices: int
    n_edges: int
    before: int
    has_weights: bool


def build(name: str, dataset: Dataset[OwnWeights], file: Path) -> Graph:
    """Make the graph of a file; see :data:`relaxometer.datasets.build.Reader`.

    Sizes and weights of vertices are skipped.
    """
    header = read_header(file)
    tails, heads, weights = _edges(file, header, dataset.parameters)
    facts = {"edges_in_file": header.n_edges, "weights_of_a_vertex_skipped": header.before}
    return typed_graph(name, header.n_vertices, tails, heads, weights, undirected=True, metadata=facts)


def read_header(path: Path) -> Header:
    """Read the first line that is not a comment; UserError unless it is a header."""
    first = next(lines(path, ("%",)), None)
    if first is None:
        raise UserError(f"{path}: no header; expected {SHAPE!r}")
    found = re.fullmatch(r"(\d{1,18})\s+(\d{1,18})(?:\s+([01]{1,3})(?:\s+(\d{1,2}))?)?", first.text, re.ASCII)
    if not found:
        refuse(path, first.number, first.text, f"expected {SHAPE!r}")
    sizes, weights, of_edges = (digit == "1" for digit in (found[3] or "0").zfill(3))
    count = int(found[4] or weights)
    if count and not weights:
        refuse(path, first.number, first.text, "weights per vertex, but the format has none")
    if int(found[1]) >= 2**32:
        refuse(path, first.number, first.text, f"at most {2**32 - 1} vertices are possible")
    check_vertices(f"{path}:{first.number}", int(found[1]), int(found[2]), "edges")
    return Header(first, int(found[1]), int(found[2]), sizes + count, of_edges)


def _edges(path: Path, header: Header, parameters: OwnWeights) -> tuple[Ids, Ids, npt.NDArray[Any]]:
    """Return the ends and the weights of the edges."""
    tails, heads, values = edges_listed_twice(path, lambda: entries(path, header))
    given = values.astype(np.float64) if header.has_weights else None
    return tails, heads, weights_of(path, parameters, tails, heads, given, directed=False)


def entries(path: Path, header: Header) -> Iterator[Entries]:
    """Yield the entries of the lists in blocks; their values are 0 if the file has none."""
    vertex = total = 0
    with opened(path, header.line.end) as stream:
        for first, block in whole_lines(path, stream, header.line.number + 1, MAX_LIST):
            most = len(block) // 2 + 1
            found = np.empty(most, np.uint32), np.empty(most, np.uint32), np.empty(most, np.int64)
            layout = header.before, 1 + header.has_weights, header.n_vertices
            count, vertex, line, reason = _parse(np.frombuffer(block, np.uint8), vertex, layout, found)
            if reason:
                text = block.split(b"\n")[line].decode("utf-8", errors="replace").strip()
                refuse(path, first + line, text, REASONS[reason])
            total += count
            yield found[0][:count], found[1][:count], found[2][:count]
    where = f"{path}:{header.line.number}: the header announces"
    if vertex < header.n_vertices:
        raise UserError(f"{where} {header.n_vertices} vertices, but {vertex} lines follow; it is incomplete")
    if total != 2 * header.n_edges:
        found_edges = f"the lists have {total} neighbours, not twice as many"
        raise UserError(f"{where} {header.n_edges} edges, but {found_edges}")


@njit(cache=True)
def _parse(text: np.ndarray, vertex: int, layout: Any, found: Any) -> tuple[int, int, int, int]:
    """Read whole lines; return the numbers of entries, of vertices and of lines so far, and what is wrong."""
    (before, step, n_vertices), (tails, heads, values) = layout, found
    count = line = field = digits = 0
    value, is_comment = 0, False
    for i in range(len(text) + 1):
        sign = text[i] if i < len(text) else 10
        if i == len(text) and (i == 0 or text[i - 1] == 10):
            break
        if is_comment and sign != 10:
            continue
        if 48 <= sign <= 57:
            value, digits = value * 10 + (sign - 48), digits + 1
            if digits > 18:
                return count, vertex, line, 2
            continue
        if sign == 37 and field == 0 and digits == 0:
            is_comment = True
            continue
        if sign not in (9, 10, 13, 32):
            return count, vertex, line, 1
        if digits:
            if vertex >= n_vertices:
                return count, vertex, line, 5
            if field >= before and (field - before) % step == 0:
                if not 1 <= value <= n_vertices:
                    return count, vertex, line, 4
                tails[count], heads[count], values[count] = vertex, value - 1, 0
                count += 1
            elif field >= before:
                values[count - 1] = value
            field, digits, value = field + 1, 0, 0
        if sign == 10:
            if not is_comment and vertex < n_vertices:
                if field < before or (field - before) % step:
                    return count, vertex, line, 3
                vertex += 1
            line, field, is_comment = line + 1, 0, False
    return count, vertex, line, 0
