"""The world's highways from the Python package scgraph-data."""

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import Box, Section


class HighwayParameters(Section):
    """Parameters of the format ``highways``.

    Parameters
    ----------
    box : Box
        Area to take, as `{south, west, north, east}` in degrees; its largest component is the graph.
    """

    box: Box


FORMATS = {"highways": Format("relaxometer.datasets.readers.highways", parameters=HighwayParameters)}
