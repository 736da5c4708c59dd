"""Synthetic roads."""

from __future__ import annotations

from pydantic import Field, PositiveInt, model_validator

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import Section, Weights, check_vertex_ids


class RoadParameters(Section):
    """Parameters of the format ``road-like``.

    Parameters
    ----------
    rows, columns : int
        Size of the grid of junctions.
    mean_degree : float
        Arcs per junction.
    diagonals : float
        Fraction of the grid's cells with a diagonal.
    jitter : float
        Largest distance of a junction from its place in the grid, in cells.
    pieces : int
        Pieces that each road is cut into by vertices of degree 2.
    weights : Weights
        Distribution of the weights. The default has the weights of a real map in milliseconds.
    """

    rows: PositiveInt
    columns: PositiveInt
    mean_degree: float = Field(2.7, ge=0)
    diagonals: float = Field(0.06, ge=0, le=1)
    jitter: float = Field(0.35, ge=0, lt=0.5)
    pieces: PositiveInt = 1
    weights: Weights = Weights(distribution="log-uniform", range=(10, 970_000))

    @model_validator(mode="after")
    def _has_32_bit_ids(self) -> RoadParameters:
        # The grid and its diagonals have at most three edges per junction.
        check_vertex_ids(self.rows * self.columns * (1 + 3 * (self.pieces - 1)))
        return self


FORMATS = {
    "road-like": Format(
        "relaxometer.datasets.generators.roads", "road_like", needs="seed", parameters=RoadParameters
    ),
}
