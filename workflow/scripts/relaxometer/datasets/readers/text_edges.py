"""Reader of plain lists of edges, a pair of numbers a line, such as those of SNAP."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.datasets.build import identify
from relaxometer.datasets.formats.text_edges import EdgeListParameters
from relaxometer.datasets.parameters import Values
from relaxometer.datasets.readers.edge_weights import make_weights, value_bounds
from relaxometer.datasets.readers.text import Column, LineFormat, lines, opened, refuse
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph

COMMENTS = ("#", "%")
LARGEST_ID = 2**63 - 1

Ids = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int64]


def build(name: str, dataset: Dataset[EdgeListParameters], files: list[Path], base: Graph | None) -> Graph:
    """Make the graph of a list of edges; see :data:`relaxometer.datasets.build.Reader`.

    The vertices are those that occur in the list, in the order of their numbers there.
    """
    (file,) = files
    metadata: dict[str, object] = dict(identify(file, dataset))
    parameters = dataset.parameters
    sources, targets, values = read_edge_list(file, parameters)
    metadata["lines_in_file"] = len(sources)
    weights = make_weights(parameters.weights, len(sources), values)
    n_vertices, tails, heads = renumbered(sources, targets)
    return Graph.from_arcs(
        name,
        n_vertices,
        tails,
        heads,
        weights,
        undirected=not parameters.directed,
        metadata=metadata,
    )


def read_edge_list(
    path: Path, parameters: EdgeListParameters
) -> tuple[Ints, Ints, npt.NDArray[np.float64] | None]:
    """Read lines of two vertices and perhaps a value, set apart by spaces or tabs.

    Parameters
    ----------
    path : Path
        A text file, perhaps compressed; lines that begin with ``#`` or ``%`` are comments.
    parameters : EdgeListParameters

    Returns
    -------
    sources, targets : ndarray of shape (n_lines,), int64
        As numbered in the file.
    values : ndarray of shape (n_lines,), float64, optional
        The third column, if there is one.

    Raises
    ------
    UserError
        If the file is damaged or empty, or a line has another form than the first one or a value that makes
        no weight; names the line.
    """
    number, start, text = _first_edge(path)
    columns = [Column("source", 0, LARGEST_ID), Column("target", 0, LARGEST_ID)]
    if len(text.split()) > 2:
        columns.append(Column("value", *value_bounds(parameters.weights), real=True))
    elif isinstance(parameters.weights, Values):
        refuse(path, number, text, "no third field, whose values the entry wants for weights")
    form = LineFormat("an edge", tuple(columns), comments=COMMENTS)
    sources, targets, *values = form.read(path, start, number - 1)
    return sources, targets, values[0] if values else None


def _first_edge(path: Path) -> tuple[int, int, str]:
    """Return number, offset and text of the first line that is no comment."""
    start = 0
    with opened(path) as stream:
        for number, end, text in lines(stream):
            if text and not text.startswith(COMMENTS):
                return number, start, text
            start = end
    raise UserError(f"{path}: no edges; expected lines '<source> <target>'")


def renumbered(sources: Ints, targets: Ints) -> tuple[int, Ids, Ids]:
    """Count the vertices that occur and number them from 0 on, in their old order.

    Parameters
    ----------
    sources, targets : ndarray of shape (n_lines,), int64
        At least 0.

    Returns
    -------
    n_vertices : int
    sources, targets : ndarray of shape (n_lines,), uint32
    """
    largest = int(max(sources.max(), targets.max()))
    if largest > 8 * len(sources):
        ids, places = np.unique(np.concatenate([sources, targets]), return_inverse=True)
        one, other = np.split(places.astype(np.uint32), 2)
        return len(ids), one, other
    # Where few numbers are left out, a table of them all is several times faster than sorting.
    occurs = np.zeros(largest + 1, dtype=bool)
    occurs[sources] = occurs[targets] = True
    new_id = (np.cumsum(occurs) - 1).astype(np.uint32)
    return int(occurs.sum()), new_id[sources], new_id[targets]
