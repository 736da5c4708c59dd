"""Files of arcs or edges."""

from __future__ import annotations

from pydantic import Field

from relaxometer.core.validation import Section
from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import DrawnWeights, FileWeights, IntegerType, Unit


class IntegerWeights(Section):
    """The integers in the file.

    Parameters
    ----------
    type : {"uint32", "int32"}
        Negative weights need int32.
    """

    type: IntegerType = "uint32"


class DimacsParameters(Section):
    """Parameters of the format ``dimacs``.

    Parameters
    ----------
    weights : IntegerWeights
        Type of the weights: `{type: uint32}`, or `{type: int32}` if some are negative.
    """

    weights: IntegerWeights = IntegerWeights()


class TopologyParameters(Section):
    """Parameters of the format ``topology``.

    Parameters
    ----------
    weights : distribution
        Distribution of the weights.
    """

    weights: DrawnWeights = Unit()


class MatrixParameters(Section):
    """Parameters of the format ``matrix-market``.

    Parameters
    ----------
    weights : distribution
        Distribution of the weights; `values` takes the matrix entries.
    banner : str, optional
        Field and symmetry of a file without a banner line, such as `pattern symmetric`.
    """

    weights: FileWeights = Unit()
    banner: str | None = Field(None, pattern="^(pattern|integer|real) (general|symmetric)$")


class EdgeListParameters(Section):
    """Parameters of the format ``edge-list``.

    Parameters
    ----------
    weights : distribution
        Distribution of the weights; `values` takes them from the third column.
    directed : bool, optional
        Each line is an arc instead of an edge. By default as the header of SNAP or KONECT says, otherwise
        false.
    """

    weights: FileWeights = Unit()
    directed: bool | None = None


class Graph500EdgesParameters(Section):
    """Parameters of the format ``graph500-edges``.

    Parameters
    ----------
    scale : int
        Binary logarithm of the number of vertices.
    packed : bool
        Edges have 12 bytes, as version 3 of Graph500 writes them by default, instead of two 64-bit integers.
    weights : distribution
        Distribution of the weights; `values` takes them from the entry's file `edge_weights`.
    """

    scale: int = Field(ge=1, le=31)
    packed: bool = False
    weights: FileWeights = Unit()


_DIMACS = "relaxometer.datasets.readers.dimacs"

FORMATS = {
    "dimacs": Format(
        _DIMACS,
        needs="file",
        parameters=DimacsParameters,
        companion="coordinates",
    ),
    "topology": Format(_DIMACS, "build_topology", needs="file", parameters=TopologyParameters),
    "matrix-market": Format(
        "relaxometer.datasets.readers.matrix_market", needs="file", parameters=MatrixParameters
    ),
    "edge-list": Format(
        "relaxometer.datasets.readers.text_edges", needs="file", parameters=EdgeListParameters
    ),
    "graph500-edges": Format(
        "relaxometer.datasets.readers.graph500_edges",
        needs="file",
        parameters=Graph500EdgesParameters,
        companion="edge_weights",
    ),
}
