"""Edge lists written by Graph500's reference implementation."""

from pydantic import Field

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import FileWeights, Section, Unit


class Graph500EdgesParameters(Section):
    """Parameters of the format ``graph500-edges``.

    Parameters
    ----------
    scale : int
        Binary logarithm of the number of vertices.
    weights : distribution
        Distribution of the weights; `values` takes them from the entry's file `edge_weights`.
    """

    scale: int = Field(ge=1, le=31)
    weights: FileWeights = Unit()


FORMATS = {
    "graph500-edges": Format(
        "relaxometer.datasets.readers.graph500_edges",
        needs="file",
        parameters=Graph500EdgesParameters,
        companion="edge_weights",
    ),
}
