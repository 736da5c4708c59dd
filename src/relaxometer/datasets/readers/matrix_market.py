"""Reader of sparse matrices in the Matrix Market exchange format (``.mtx``) as graphs.

References
----------
National Institute of Standards and Technology, "Matrix Market: File Formats",
https://math.nist.gov/MatrixMarket/formats.html
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.edge_files import MatrixParameters
from relaxometer.datasets.parameters import Values, WeightType
from relaxometer.datasets.readers.edge_weights import check_values, make_weights, note_on_values, value_column
from relaxometer.datasets.readers.text import (
    Column,
    Header,
    LineFormat,
    fields_of,
    lines,
    refuse,
    refuse_negative_loops,
)
from relaxometer.datasets.registry import Dataset
from relaxometer.datasets.weights import typed_graph
from relaxometer.graphs.graph import Graph

_BANNER = "%%MatrixMarket"
_KINDS = "coordinate|array pattern|integer|real general|symmetric|skew-symmetric"
_SIZES = {"coordinate": "'<rows> <columns> <entries>'", "array": "'<rows> <columns>'"}
_COMMENTS = ("%",)


def build(name: str, dataset: Dataset[MatrixParameters], file: Path) -> Graph:
    """Make the graph of a matrix; see :data:`relaxometer.datasets.build.Reader`.

    An entry in row `i` and column `j` is an arc from `i` to `j`, or an edge if the matrix is symmetric. Of an
    array, zeros are not arcs. UserError if the file is damaged, not a graph, or a line is not an entry of the
    announced matrix or has a value that cannot be a weight; names the line.
    """
    parameters = dataset.parameters
    layout, field, symmetry = _read_banner(file, parameters.banner)
    header = _read_size(file, layout, symmetry)
    size = header.numbers[0]
    columns = [Column("row", 1, size), Column("column", 1, size)] if layout == "coordinate" else []
    brought: WeightType = "float32" if field == "real" else "uint32"
    if field != "pattern":
        columns.append(value_column(parameters.weights, brought, directed=symmetry != "symmetric"))
    elif isinstance(parameters.weights, Values):
        raise UserError(f"{file}: its field is 'pattern', so weights cannot be its values")
    form = LineFormat("an entry", tuple(columns), comments=_COMMENTS)
    entries = form.read(file, header.start, header.lines_before)
    header.check_count(file, len(entries[0]), "entries")
    if layout == "array":
        entries = _places(size, symmetry, entries[0])
    else:
        entries[0] -= 1
        entries[1] -= 1
    rows, cols, *loads = entries
    values = loads[0] if loads else None
    if symmetry == "skew-symmetric" and values is not None and isinstance(parameters.weights, Values):
        check_values(file, columns[-1], -values)
        rows, cols = np.concatenate([rows, cols]), np.concatenate([cols, rows])
        values, symmetry = np.concatenate([values, -values]), "general"
    weights = make_weights(parameters.weights, len(rows), values, brought, file)
    refuse_negative_loops(file, rows, cols, weights)
    facts: dict[str, Any] = {"entries_in_file": len(rows)}
    facts |= {} if values is None else note_on_values(parameters)
    undirected = symmetry != "general"
    return typed_graph(name, size, rows, cols, weights, undirected=undirected, metadata=facts)


def _places(size: int, symmetry: str, values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Return rows, columns and values of the entries of an array that are not 0; it lists columns."""
    if symmetry == "general":
        columns, rows = np.divmod(np.arange(len(values)), size)
    else:
        columns, rows = np.triu_indices(size, k=int(symmetry == "skew-symmetric"))
    entries = values != 0
    return [rows[entries].astype(np.uint32), columns[entries].astype(np.uint32), values[entries]]


def _read_banner(path: Path, given: str | None) -> tuple[str, str, str]:
    """Return layout, field and symmetry from the first line, or else from the entry."""
    first = next(lines(path, ()), None)
    text = first.text if first and first.number == 1 else ""
    words = fields_of(text.lower())
    readable = f"'{_BANNER} matrix {_KINDS}'"
    if words[0] != _BANNER.lower():
        if given is None:
            refuse(path, 1, text, f"expected {readable}, or the parameter `banner` in the entry")
        words = ["", "matrix", "coordinate", *given.split()]
    kind = " ".join(words[1:])
    form = f"matrix ({_KINDS.replace(' ', ') (')})"
    if not re.fullmatch(form, kind) or ("pattern" in kind and re.search("array|skew", kind)):
        refuse(path, 1, text, f"not readable as a graph; expected {readable}")
    if given is not None and given.split() != words[3:]:
        refuse(path, 1, text, f"the parameter `banner` of the entry is {given!r}; leave it out")
    return words[2], words[3], words[4]


def _read_size(path: Path, layout: str, symmetry: str) -> Header:
    """Read the first line that is not a comment."""
    for line in lines(path, _COMMENTS):
        if not re.fullmatch(r"[0-9]{1,18}" + r"[ \t]+[0-9]{1,18}" * _SIZES[layout].count(" "), line.text):
            refuse(path, line.number, line.text, f"expected {_SIZES[layout]}")
        n_rows, n_columns, *rest = map(int, fields_of(line.text))
        if n_rows != n_columns or n_rows >= 2**32:
            refuse(path, line.number, line.text, f"a graph is a square matrix of at most {2**32 - 1} rows")
        n_diagonals = {"general": 2 * n_rows, "symmetric": n_rows + 1, "skew-symmetric": n_rows - 1}[symmetry]
        n_entries = rest[0] if rest else n_rows * n_diagonals // 2
        return Header(line.text, line.number, (n_rows, n_entries), line.end, line.number)
    raise UserError(f"{path}: no line {_SIZES[layout]}")
