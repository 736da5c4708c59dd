"""Reader of plain lists of edges, one pair of numbers per line, such as those of SNAP."""

import codecs
import re
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.formats.edge_files import EdgeListParameters
from relaxometer.datasets.parameters import FileWeights, Values
from relaxometer.datasets.readers import text
from relaxometer.datasets.readers.edge_weights import (
    make_weights,
    note_on_values,
    type_of_values,
    value_column,
)
from relaxometer.datasets.readers.numbering import Ids, Numbering
from relaxometer.datasets.registry import Dataset
from relaxometer.datasets.weights import typed_graph
from relaxometer.graphs.graph import Graph

COMMENTS = ("#", "%")
LARGEST_ID = 2**63 - 1

_HEADER = re.compile(
    rb"(?:\A(?=%[ \t]*(sym|asym|bip|%MatrixMarket)\b)|^(?=[#%][ \t]*((?:un)?directed)[ \t]+graph\b))"
    rb"([^\r\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
"""The first line of a file of KONECT or of Matrix Market, or a comment of SNAP."""


def build(name: str, dataset: Dataset[EdgeListParameters], file: Path) -> Graph:
    """Make the graph of a list of edges; see :data:`relaxometer.datasets.build.Reader`.

    The vertices are those that occur in the list, in the order of their numbers, which stay with the graph
    unless they are those from 0.
    """
    parameters = dataset.parameters
    directed = is_directed(file, parameters.directed)
    ids, tails, heads, values = read_edge_list(file, parameters.weights, directed=directed)
    brought = type_of_values(file, values, parameters.weights)
    weights = make_weights(parameters.weights, len(tails), values, brought, file)
    text.refuse_negative_loops(file, tails, heads, weights)
    facts = {"lines_in_file": len(tails), **text.note_on_completeness(file, dataset)}
    facts |= {} if values is None else note_on_values(parameters)
    known = None if ids[-1].as_py() == len(ids) - 1 else ids
    options = {"undirected": not directed, "ids": known, "metadata": facts}
    return typed_graph(name, len(ids), tails, heads, weights, **options)


def is_directed(path: Path, given: bool | None) -> bool:
    """Return whether lines are arcs: as given, else as the file says of itself, else not.

    UserError if it says that it is bipartite, so that one number names two vertices, or a matrix.
    """
    with text.opened(path) as stream:
        said = _HEADER.search(stream.read(text.BEGINNING).removeprefix(codecs.BOM_UTF8))
    if said is None:
        return bool(given)
    line, kind = said[3].decode(errors="replace"), (said[1] or said[2]).lower()
    if kind == b"bip":
        reason = "bipartite, so a number of the second column is another vertex than in the first"
        text.refuse(path, 1, line, f"{reason}; renumber that column, and remove this line")
    if kind == b"%matrixmarket":
        text.refuse(path, 1, line, "a matrix, whose second line is its size; give `format: matrix-market`")
    says = kind in (b"directed", b"asym")
    if given not in (None, says):
        entry = f"its entry `directed: {given}`, which counts".lower()
        print(f"{path}: says {quoted(line)}, but {entry}; leave it out to obey the file", file=sys.stderr)
    return says if given is None else given


def read_edge_list(
    path: Path, weights: FileWeights, *, directed: bool
) -> tuple[pa.Array, Ids, Ids, npt.NDArray[np.float64] | None]:
    """Read lines of two vertices and an optional value, separated by spaces or tabs.

    Returns the numbers that occur, ascending, the places of tails and heads among these, and the values of
    the third column, if there is one. UserError if the file is damaged or empty, or a line has another format
    than the first one or a value that cannot be a weight; names the line. Or if the file is one of METIS.
    """
    first = next(text.lines(path, COMMENTS), None)
    if first is None:
        raise UserError(f"{path}: no edges; expected lines '<tail> <head>'")
    no_edge = "texts as ids need `format: table`, with its `separator` and, here, `header: false`; "
    no_edge += f"comments begin with {' or '.join(COMMENTS)}"
    columns = [text.Column(name, 0, LARGEST_ID, word=no_edge) for name in ("tail", "head")]
    n_fields = len(text.fields_of(first.text))
    if n_fields > 2:
        columns.append(value_column(weights, "float32", directed=directed))
    elif isinstance(weights, Values):
        reason = "no third field, but the entry takes the weights from it"
        text.refuse(path, first.number, first.text, f"{reason}{text.separator_advice(first.text)}")
    form = text.LineFormat("an edge", tuple(columns), comments=COMMENTS)
    numbering, values = Numbering(), text.Growing(np.float64)
    first_head = count = 0
    try:
        for tails, heads, *loads in form.blocks(path, first.start, first.number - 1):
            first_head, count = first_head if count else int(heads[0]), count + len(heads)
            numbering.add(pa.array(tails), pa.array(heads))
            values.append(loads[0] if loads else text.NO_VALUES)
    except UserError:
        _refuse_metis(path, first)
        if n_fields > 3:
            reason = f"{n_fields} fields; expected {form.shape!r}; other columns need `format: table`"
            text.refuse(path, first.number, first.text, reason)
        raise
    if first_head == count - 1:  # edges, announced in the first line
        _refuse_metis(path, first)
    return *numbering.finish(), values.values if len(columns) > 2 else None


def _refuse_metis(path: Path, first: text.Line) -> None:
    """Refuse a file that can be read as one of METIS."""
    from relaxometer.datasets.readers import metis  # loads Numba

    try:
        for _ in metis.entries(path, metis.read_header(path)):
            pass
    except UserError:
        return
    reason = "a file of METIS, whose lines list the neighbours of a vertex, not a list of edges"
    text.refuse(path, first.number, first.text, reason)
