"""Graphs made from another one: with other weights, or from copies of a map."""

from __future__ import annotations

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from relaxometer.core.validation import Section, Seed
from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import WeightType

_TERMS = ("license", "attribution", "citation")


class ReweightedParameters(Section):
    """Parameters of the format ``reweighted``."""

    type: WeightType
    """Type of the new weights."""
    scale: PositiveFloat = Field(1, allow_inf_nan=False)
    """The graph's weights are multiplied by this factor; for an integer type they are then rounded. An error
    if every weight becomes 0."""
    potentials: NonNegativeInt = Field(0, le=2**31 - 1)
    """Each vertex draws a potential from 0 to this integer. An arc's weight grows by the potential of its
    tail minus that of its head: many arcs become negative, but no cycle does. For int32."""
    seed: Seed = 1
    """Seed of the potentials."""

    @model_validator(mode="after")
    def _may_be_negative(self) -> ReweightedParameters:
        if self.potentials and self.type != "int32":
            raise ValueError("potentials make negative weights, which need `type: int32`")
        return self


class SewnParameters(Section):
    """Parameters of the format ``sewn``."""

    rows: PositiveInt = Field(le=1024)
    columns: PositiveInt = Field(le=1024)
    """Copies from north to south and from west to east."""
    roads: PositiveInt = 32
    """Roads between two neighbouring copies, fewer if the map has fewer vertices."""
    seed: Seed = 1
    """Seed of the roads' weights, which are drawn from the map's own."""


FORMATS = {
    "reweighted": Format(
        "relaxometer.datasets.generators.reweighted",
        needs="extracted_from",
        parameters=ReweightedParameters,
        keeps_coordinates=True,
        keeps_texts=("description", "origin", *_TERMS),
    ),
    "sewn": Format(
        "relaxometer.datasets.generators.sewn",
        needs="extracted_from",
        parameters=SewnParameters,
        keeps_texts=_TERMS,
    ),
}
