"""Files of arcs or edges, with named columns or as other programs store them."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from relaxometer.core.validation import Section
from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import DrawnWeights, FileWeights, IntegerType, OwnWeights, Unit, Values


class IntegerWeights(Section):
    """The integers in the file."""

    type: IntegerType = "uint32"
    """Negative weights need int32."""


class DimacsParameters(Section):
    """Parameters of the format ``dimacs``."""

    weights: IntegerWeights = IntegerWeights()
    """Type of the weights: `{type: uint32}`, or `{type: int32}` if some are negative."""


class TopologyParameters(Section):
    """Parameters of the format ``topology``."""

    weights: DrawnWeights = Unit()
    """Distribution of the weights."""


class MatrixParameters(Section):
    """Parameters of the format ``matrix-market``."""

    weights: FileWeights = Unit()
    """Distribution of the weights; `values` takes the matrix entries."""
    banner: str | None = Field(None, pattern="^(pattern|integer|real) (general|symmetric)$")
    """Field and symmetry of a file without a banner line, such as `pattern symmetric`."""


class EdgeListParameters(Section):
    """Parameters of the format ``edge-list``."""

    weights: FileWeights = Unit()
    """Distribution of the weights; `values` takes them from the third column."""
    directed: bool | None = None
    """Each line is an arc instead of an edge. By default as the header of SNAP or KONECT says, otherwise
    false."""


class Graph500EdgesParameters(Section):
    """Parameters of the format ``graph500-edges``."""

    scale: int = Field(ge=1, le=31)
    """Binary logarithm of the number of vertices."""
    packed: bool = False
    """Edges have 12 bytes, as version 3 of Graph500 writes them by default, instead of two 64-bit
    integers."""
    weights: FileWeights = Unit()
    """Distribution of the weights; `values` takes them from the entry's file `edge_weights`."""


ColumnName = str | Annotated[int, Field(ge=1)]


class TableParameters(OwnWeights):
    """Parameters of the format ``table``."""

    source: ColumnName | None = None
    target: ColumnName | None = None
    """Name of the column, or its number from 1. By default the one with a usual name, such as `source`,
    `from` or `tail`, and `target`, `to` or `head`; without a header the first and the second."""
    weight: ColumnName | None = None
    """Column of the weights. By default the one named `weight`, `cost`, `length` or `distance`, else the only
    one of numbers besides the ends."""
    directed: bool | None = None
    """Each row is an arc instead of an edge. By default as the header of SNAP or KONECT says, otherwise
    false."""
    separator: str | None = Field(None, pattern="^[\t !#-,/:-@\\[-`{-~]$")
    """Of a text file, one character. By default a tab if the name ends in `.tsv`, otherwise a comma."""
    header: bool = True
    """The first row of a text file names the columns."""

    @model_validator(mode="after")
    def _uses_its_weights(self) -> Self:
        if self.weight is not None and self.weights and not isinstance(self.weights, Values):
            raise ValueError("`weight` names a column that `weights` does not use; leave one of them out")
        return self


class NetworkxParameters(OwnWeights):
    """Parameters of the formats ``graphml`` and ``node-link``."""

    weight: str = "weight"
    """Attribute of the edges that holds their weights."""


_DIMACS = "relaxometer.datasets.readers.dimacs"
_NETWORKX = "relaxometer.datasets.readers.networkx_files"

FORMATS = {
    "dimacs": Format(_DIMACS, needs="file", parameters=DimacsParameters, companion="coordinates", first=1),
    "topology": Format(_DIMACS, "build_topology", needs="file", parameters=TopologyParameters, first=1),
    "matrix-market": Format(
        "relaxometer.datasets.readers.matrix_market", needs="file", parameters=MatrixParameters, first=1
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
    "table": Format("relaxometer.datasets.readers.tables", needs="file", parameters=TableParameters),
    "npz": Format("relaxometer.datasets.readers.npz", needs="file", parameters=OwnWeights),
    "metis": Format("relaxometer.datasets.readers.metis", needs="file", parameters=OwnWeights, first=1),
    "gap": Format("relaxometer.datasets.readers.gap", needs="file", parameters=OwnWeights),
    "graphml": Format(_NETWORKX, "build_graphml", needs="file", parameters=NetworkxParameters),
    "node-link": Format(_NETWORKX, "build_node_link", needs="file", parameters=NetworkxParameters),
}
