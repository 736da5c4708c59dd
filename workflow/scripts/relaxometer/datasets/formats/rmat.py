"""R-MAT graphs."""

from __future__ import annotations

from pydantic import Field, PositiveInt, model_validator

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import Section, Weights


class RmatParameters(Section):
    """Parameters of the format ``rmat``.

    Parameters
    ----------
    scale : int
        Binary logarithm of the number of vertices.
    edge_factor : int
        Edges per vertex before self-loops are dropped and parallel arcs merged; 16 undirected edges give a
        mean degree of 32.
    a, b, c, d : float
        Probabilities of the quadrants; they add up to 1.
    undirected : bool
        Each edge gives arcs in both directions.
    weights : Weights
        Distribution of the weights.
    """

    scale: int = Field(ge=1, le=31)
    edge_factor: PositiveInt = 16
    a: float = Field(0.57, ge=0)
    b: float = Field(0.19, ge=0)
    c: float = Field(0.19, ge=0)
    d: float = Field(0.05, ge=0)
    undirected: bool = True
    weights: Weights = Weights()

    @model_validator(mode="after")
    def _has_four_quadrants(self) -> RmatParameters:
        total = self.a + self.b + self.c + self.d
        if abs(total - 1) > 1e-9:
            raise ValueError(f"a, b, c and d must add up to 1, not {total:g}")
        return self


FORMATS = {
    "rmat": Format("relaxometer.datasets.generators.rmat", "rmat", needs="seed", parameters=RmatParameters),
}
