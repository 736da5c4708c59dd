"""The same graph with weights of another type, another unit, or negative ones without negative cycles.

References
----------
Cherkassky, Goldberg and Radzik, "Shortest Paths Algorithms: Theory and Experimental Evaluation", Mathematical
Programming 73, 1996, make arcs negative by potentials, too.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.datasets.formats.derived import ReweightedParameters
from relaxometer.datasets.parameters import FLOATS
from relaxometer.datasets.random_bits import Purpose, below, bits, stream
from relaxometer.datasets.registry import Dataset
from relaxometer.datasets.weights import check_scale
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import LENGTHS

_OF_THE_OLD_WEIGHTS = ("seed", "generator", "parameters", "values_in_file")
"""Metadata of a graph that say how it was made, and so do not hold for the new one."""

_FAR = 2.0**40
"""Beyond all integer types, and exact in an int64."""


def build(name: str, dataset: Dataset[ReweightedParameters], base: Graph) -> Graph:
    """Put other weights on `base`; see :data:`relaxometer.datasets.build.Reader`."""
    return reweighted(name, base, dataset.parameters)


def reweighted(name: str, base: Graph, parameters: ReweightedParameters) -> Graph:
    """Return a graph with the arcs of another.

    UserError if a weight is out of the range of the new type, or all are 0 because of the scale.
    """
    p = parameters
    with np.errstate(over="ignore"):  # infinity is refused below
        weights: npt.NDArray[Any] = base.weights * np.float64(p.scale)
    if p.type not in FLOATS:
        weights = np.clip(np.rint(weights), -_FAR, _FAR).astype(np.int64)
    if p.potentials:
        potential = below(
            bits(stream(p.seed, Purpose.POTENTIALS), 0, base.n_vertices), np.uint64(p.potentials + 1)
        ).astype(np.int64)
        weights += potential[base.tails] - potential[base.targets]
    dropped = {"directed", *_OF_THE_OLD_WEIGHTS} | ({"weight_unit"} if p.scale != 1 else set())
    facts = {key: value for key, value in base.metadata.items() if key not in dropped}
    checked = LENGTHS[p.type].checked(weights, name)
    check_scale(base.weights, checked, p.scale)
    return replace(base, name=name, weights=checked, metadata=facts, distance_type=None)
