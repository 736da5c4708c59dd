"""Reader of graphs without weights in the PACE challenge's format (``.gr``, ``p tw``)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from relaxometer.datasets.formats.edge_files import TopologyParameters
from relaxometer.datasets.readers.edge_weights import graph_of_edges, make_weights
from relaxometer.datasets.readers.text import Column, LineFormat, read_problem_line
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.graph import Graph


def build(name: str, dataset: Dataset[TopologyParameters], files: list[Path], base: Graph | None) -> Graph:
    """Make the graph of a file of undirected edges; see :data:`relaxometer.datasets.build.Reader`."""
    (file,) = files
    n_vertices, one, other = read_edges(file)
    weights = make_weights(dataset.parameters.weights, len(one))
    metadata = {"edges_in_file": len(one)}
    return graph_of_edges(name, n_vertices, (one, other), weights, metadata)


def read_edges(path: Path) -> tuple[int, npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Read the undirected edges of a ``.gr``, ``.gr.gz`` or ``.gr.xz`` file.

    Returns
    -------
    n_vertices : int
    one, other : ndarray of shape (n_edges,), uint32
        The ends, counted from 0, in the file's order.

    Raises
    ------
    UserError
        If the file is damaged, or a line is not an edge of the announced graph; names the line.

    References
    ----------
    PACE 2016, Track A, "Input format", https://pacechallenge.org/2016/treewidth/
    """
    header = read_problem_line(path, "p tw <vertices> <edges>", "edge")
    n_vertices, _ = header.numbers
    ends = (Column("vertex", 1, n_vertices), Column("neighbour", 1, n_vertices))
    form = LineFormat("an edge", ends, comments=("c",))
    one, other = form.read(path, header.start, header.lines_before)
    header.check_count(path, len(one), "edges")
    one -= 1
    other -= 1
    return n_vertices, one, other
