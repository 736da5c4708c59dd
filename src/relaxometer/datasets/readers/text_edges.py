"""Reader of plain lists of edges, one pair of numbers per line, such as those of SNAP."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.edge_files import EdgeListParameters
from relaxometer.datasets.parameters import Values
from relaxometer.datasets.readers.edge_weights import (
    make_weights,
    note_on_values,
    type_of_values,
    value_column,
)
from relaxometer.datasets.readers.text import (
    Column,
    LineFormat,
    fields_of,
    lines,
    note_on_completeness,
    refuse,
    refuse_negative_loops,
    separator_advice,
)
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph

COMMENTS = ("#", "%")
LARGEST_ID = 2**63 - 1

Ids = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int64]


def build(name: str, dataset: Dataset[EdgeListParameters], files: list[Path], base: Graph | None) -> Graph:
    """Make the graph of a list of edges; see :data:`relaxometer.datasets.build.Reader`.

    The vertices are those that occur in the list, in the order of their numbers.
    """
    (file,) = files
    parameters = dataset.parameters
    tails, heads, values = read_edge_list(file, parameters)
    brought = type_of_values(file, values, parameters.weights)
    weights = make_weights(parameters.weights, len(tails), values, brought)
    refuse_negative_loops(file, tails, heads, weights)
    return Graph.from_arcs(
        name,
        *renumbered(tails, heads),
        weights,
        undirected=not parameters.directed,
        weight_type=weights.dtype.name,
        metadata={
            "lines_in_file": len(tails),
            **note_on_completeness(file, dataset),
            **({} if values is None else note_on_values(file, parameters)),
        },
    )


def read_edge_list(
    path: Path, parameters: EdgeListParameters
) -> tuple[Ints, Ints, npt.NDArray[np.float64] | None]:
    """Read lines of two vertices and an optional value, separated by spaces or tabs.

    Parameters
    ----------
    path : Path
        A text file, possibly compressed; lines that begin with ``#`` or ``%`` are comments.
    parameters : EdgeListParameters

    Returns
    -------
    tails, heads : ndarray of shape (n_lines,), int64
        As numbered in the file.
    values : ndarray of shape (n_lines,), float64, optional
        The third column, if there is one.

    Raises
    ------
    UserError
        If the file is damaged or empty, or a line has another format than the first one or a value that
        cannot be a weight; names the line.
    """
    first = next(lines(path, COMMENTS), None)
    if first is None:
        raise UserError(f"{path}: no edges; expected lines '<tail> <head>'")
    no_edge = f"headers and comments begin with {' or '.join(COMMENTS)}"
    columns = [Column(name, 0, LARGEST_ID, word=no_edge) for name in ("tail", "head")]
    if len(fields_of(first.text)) > 2:
        columns.append(value_column(parameters.weights, "float32", directed=parameters.directed))
    elif isinstance(parameters.weights, Values):
        reason = "no third field, but the entry takes the weights from it"
        refuse(path, first.number, first.text, f"{reason}{separator_advice(first.text)}")
    form = LineFormat("an edge", tuple(columns), comments=COMMENTS)
    tails, heads, *values = form.read(path, first.start, first.number - 1)
    return tails, heads, values[0] if values else None


def renumbered(tails: Ints, heads: Ints) -> tuple[int, Ids, Ids]:
    """Renumber the vertices that occur from 0, in their old order.

    Parameters
    ----------
    tails, heads : ndarray of shape (n_lines,), int64
        At least 0.

    Returns
    -------
    n_vertices : int
    tails, heads : ndarray of shape (n_lines,), uint32
    """
    largest = int(max(tails.max(), heads.max()))
    if largest > 8 * len(tails):
        ids, places = np.unique(np.concatenate([tails, heads]), return_inverse=True)
        new_tails, new_heads = np.split(places.astype(np.uint32), 2)
        return len(ids), new_tails, new_heads
    # If few numbers are missing, a table of all numbers is several times faster than sorting.
    occurs = np.zeros(largest + 1, dtype=bool)
    occurs[tails] = occurs[heads] = True
    new_id = (np.cumsum(occurs) - 1).astype(np.uint32)
    return int(occurs.sum()), new_id[tails], new_id[heads]
