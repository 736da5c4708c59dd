"""Plain lists of edges, one per line, such as those of SNAP."""

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import FileWeights, Section, Unit


class EdgeListParameters(Section):
    """Parameters of the format ``edge-list``.

    Parameters
    ----------
    weights : distribution
        Distribution of the weights; `values` takes them from the third column.
    directed : bool
        Each line is an arc instead of an edge.
    """

    weights: FileWeights = Unit()
    directed: bool = False


FORMATS = {
    "edge-list": Format(
        "relaxometer.datasets.readers.text_edges", needs="file", parameters=EdgeListParameters
    ),
}
