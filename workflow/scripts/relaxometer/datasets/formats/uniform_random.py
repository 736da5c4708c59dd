"""Uniform random graphs."""

from pydantic import Field

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import Section, VertexCount, Weights


class UniformRandomParameters(Section):
    """Parameters of the format ``uniform-random``.

    Parameters
    ----------
    vertices : int
        Number of vertices.
    mean_degree : float
        Arcs per vertex before self-loops are dropped and parallel arcs merged.
    undirected : bool
        Each edge gives arcs in both directions.
    weights : Weights
        Distribution of the weights.
    """

    vertices: VertexCount
    mean_degree: float = Field(ge=0)
    undirected: bool = True
    weights: Weights = Weights()


FORMATS = {
    "uniform-random": Format(
        "relaxometer.datasets.generators.uniform_random",
        "uniform_random",
        needs="seed",
        parameters=UniformRandomParameters,
    ),
}
