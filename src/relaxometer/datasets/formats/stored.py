"""Graphs as other programs store them."""

from __future__ import annotations

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import OwnWeights


class NetworkxParameters(OwnWeights):
    """Parameters of the formats ``graphml`` and ``node-link``.

    Parameters
    ----------
    weight : str
        Attribute of the edges that holds their weights.
    weights : distribution, optional
        By default the values of that attribute, or 1 if no edge has it.
    """

    weight: str = "weight"


_NETWORKX = "relaxometer.datasets.readers.networkx_files"

FORMATS = {
    "npz": Format("relaxometer.datasets.readers.npz", needs="file", parameters=OwnWeights),
    "metis": Format("relaxometer.datasets.readers.metis", needs="file", parameters=OwnWeights),
    "gap": Format("relaxometer.datasets.readers.gap", needs="file", parameters=OwnWeights),
    "graphml": Format(_NETWORKX, "build_graphml", needs="file", parameters=NetworkxParameters),
    "node-link": Format(_NETWORKX, "build_node_link", needs="file", parameters=NetworkxParameters),
}
