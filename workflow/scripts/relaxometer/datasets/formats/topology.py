"""Unweighted graphs in the PACE challenge's format."""

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import DrawnWeights, Section, Unit


class TopologyParameters(Section):
    """Parameters of the format ``topology``.

    Parameters
    ----------
    weights : distribution
        Distribution of the weights.
    """

    weights: DrawnWeights = Unit()


FORMATS = {
    "topology": Format("relaxometer.datasets.readers.topology", needs="file", parameters=TopologyParameters),
}
