"""Readers of the formats of the 9th DIMACS Implementation Challenge, and of the PACE challenge's format.

The former are arcs (``.gr``) and coordinates (``.co``), the latter edges without weights (``.gr``, ``p tw``).

References
----------
9th DIMACS Implementation Challenge, "File formats", https://www.diag.uniroma1.it/challenge9/format.shtml

PACE 2016, Track A, "Input format", https://pacechallenge.org/2016/treewidth/
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.formats.edge_files import DimacsParameters, TopologyParameters
from relaxometer.datasets.parameters import BOUNDS, IntegerType
from relaxometer.datasets.readers.edge_weights import make_weights
from relaxometer.datasets.readers.text import Column, LineFormat, read_problem_line, refuse_negative_loops
from relaxometer.datasets.registry import Dataset
from relaxometer.datasets.weights import typed_graph
from relaxometer.graphs.graph import Graph

Ids = npt.NDArray[np.uint32]

UNITS_PER_DEGREE = 1_000_000
"""Units per degree in coordinate files."""


def build(name: str, dataset: Dataset[DimacsParameters], file: Path, places: Path | None = None) -> Graph:
    """Make the graph of a ``.gr`` file and, if the entry has one, of a ``.co`` file.

    See :data:`relaxometer.datasets.build.Reader`.
    """
    weight_type = dataset.parameters.weights.type
    n_vertices, tails, heads, weights = read_gr(file, weight_type)
    refuse_negative_loops(file, tails, heads, weights)
    lon, lat = read_co(places, n_vertices) if places else (None, None)
    arcs, facts = (tails, heads, weights), {"arcs_in_file": len(tails)}
    return Graph.from_arcs(name, n_vertices, *arcs, lon=lon, lat=lat, weight_type=weight_type, metadata=facts)


def build_topology(name: str, dataset: Dataset[TopologyParameters], file: Path) -> Graph:
    """Make the graph of a file of undirected edges; see :data:`relaxometer.datasets.build.Reader`."""
    header = read_problem_line(file, "p tw <vertices> <edges>", "edge")
    n_vertices, _ = header.numbers
    ends = (Column("vertex", 1, n_vertices), Column("neighbour", 1, n_vertices))
    one, other = LineFormat("an edge", ends, comments=("c",)).read(file, header.start, header.lines_before)
    header.check_count(file, len(one), "edges")
    weights = make_weights(dataset.parameters.weights, len(one))
    arcs, facts = (one - 1, other - 1, weights), {"edges_in_file": len(one)}
    return typed_graph(name, n_vertices, *arcs, undirected=True, metadata=facts)


def arc_lines(n_vertices: int, weight_type: IntegerType = "uint32") -> LineFormat:
    """Return the format of the arc lines in a ``.gr`` file of `n_vertices` vertices."""
    needed = "negative weights need `parameters: { weights: { type: int32 } }`"
    columns = (
        Column("tail", 1, n_vertices),
        Column("head", 1, n_vertices),
        Column("weight", *BOUNDS[weight_type], below=needed if weight_type == "uint32" else ""),
    )
    return LineFormat("an arc", columns, keyword="a", comments=("c",))


def read_gr(
    path: Path, weight_type: IntegerType = "uint32"
) -> tuple[int, Ids, Ids, npt.NDArray[np.integer[Any]]]:
    """Return the number of vertices, and tails, heads (from 0) and weights in the order of a ``.gr`` file.

    UserError if the file is damaged, or a line is not an arc of the announced graph; names the line.
    """
    header = read_problem_line(path, "p sp <vertices> <arcs>", "arc")
    n_vertices, _ = header.numbers
    tails, heads, weights = arc_lines(n_vertices, weight_type).read(path, header.start, header.lines_before)
    header.check_count(path, len(tails), "arcs")
    tails -= 1
    heads -= 1
    return n_vertices, tails, heads, weights


def read_co(path: Path, n_vertices: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return degrees east and north of every vertex from a ``.co`` file.

    UserError if it is damaged, belongs to a graph of another size, or does not place every vertex once.
    """
    header = read_problem_line(path, "p aux sp co <vertices>", "vertex")
    if header.numbers != (n_vertices,):
        raise UserError(
            f"{path}:{header.line}: {quoted(header.text)} announces {header.numbers[0]} vertices, but the "
            f"graph has {n_vertices}; the files belong to different graphs"
        )
    columns = (
        Column("vertex", 1, n_vertices),
        Column("longitude", -180_000_000, 180_000_000),
        Column("latitude", -90_000_000, 90_000_000),
    )
    form = LineFormat("a vertex", columns, keyword="v", comments=("c",))
    vertices, x, y = form.read(path, header.start, header.lines_before)
    header.check_count(path, len(vertices), "vertices")
    vertices -= 1
    times = np.bincount(vertices, minlength=n_vertices)
    if np.any(times != 1):
        wrong = int(np.flatnonzero(times != 1)[0])
        raise UserError(f"{path}: vertex {wrong + 1} is placed {times[wrong]} times; expected once")
    lon, lat = np.empty(n_vertices), np.empty(n_vertices)
    lon[vertices], lat[vertices] = x / UNITS_PER_DEGREE, y / UNITS_PER_DEGREE
    return lon, lat
