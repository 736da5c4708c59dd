"""Parameters that several formats share: boxes, and the distributions of weights."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeInt,
    PositiveFloat,
    ValidationInfo,
    field_validator,
    model_validator,
)

from relaxometer.core.validation import Section, shown


class NoParameters(Section):
    """The parameters of a format that has none."""


VertexCount = Annotated[int, Field(ge=1, lt=2**32, description="Number of vertices.")]


def check_vertex_ids(n_vertices: int) -> None:
    """Refuse graphs with more vertices than 32-bit ids can name."""
    if n_vertices >= 2**32:
        raise ValueError(f"up to {shown(n_vertices)} vertices; vertex ids have 32 bits")


class Box(Section):
    """A box of geographic coordinates, edges included."""

    south: float = Field(ge=-90, le=90)
    west: float = Field(ge=-180, le=180)
    north: float = Field(ge=-90, le=90)
    east: float = Field(ge=-180, le=180)
    """Degrees; negative south of the equator and west of Greenwich."""

    @model_validator(mode="after")
    def _has_an_area(self) -> Box:
        if self.south >= self.north or self.west >= self.east:
            raise ValueError("south must be below north, and west below east")
        return self


def _ordered(values: tuple[int, int]) -> tuple[int, int]:
    if values[0] > values[1]:
        raise ValueError("the first must not be above the second")
    return values


WeightType = Literal["uint32", "float32", "float64", "int32"]
IntegerType = Literal["uint32", "int32"]

FLOATS = ("float32", "float64")
"""The types of weights that take fractions."""

BOUNDS: dict[str, tuple[float, float]] = {
    "uint32": (0, 2**32 - 2),
    "float32": (0, (2 - 2**-23) * 2.0**127),
    "float64": (0, (2 - 2**-52) * 2.0**1023),
    "int32": (-(2**31 - 1), 2**31 - 1),
}
"""Smallest and largest weight of each type; those of :data:`relaxometer.graphs.lengths.LENGTHS`."""

_Bounds = Annotated[tuple[NonNegativeInt, Annotated[int, Field(le=2**32 - 2)]], Field(strict=False)]
WeightRange = Annotated[_Bounds, AfterValidator(_ordered)]
"""The smallest and the largest weight, integers from 0."""

_Number = int | Annotated[float, Field(allow_inf_nan=False)]
_Numbers = Annotated[tuple[_Number, _Number], Field(strict=False)]


class _Ranged(Section):
    """Weights of a type within a range."""

    distribution: str

    type: WeightType = "uint32"
    """See `docs/weights.md`."""
    range: _Numbers
    """Smallest weight, and the bound that all weights stay below; integers for an integer type."""

    @field_validator("range")
    @classmethod
    def _suits_the_type(cls, values: tuple[float, float], info: ValidationInfo) -> tuple[float, float]:
        if info.data.get("distribution") == "unit":
            raise ValueError("all unit weights are 1; leave it out, or give `distribution: uniform`")
        kind = info.data.get("type", "float64")
        low, high = BOUNDS[kind]
        for value in values:
            if kind not in FLOATS and not isinstance(value, int):
                raise ValueError(
                    f"weights of type {kind} are integers; fractions need `type: float32` or `float64`"
                )
            if not low <= value <= high:
                hint = "; negative weights need `type: int32`" if value < 0 else ""
                raise ValueError(f"weights of type {kind} are from {low} to {high}{hint}")
        if info.data.get("distribution") == "log-uniform" and not 0 < values[0] < values[1]:
            raise ValueError("log-uniform weights need 0 < lower bound < upper bound")
        if values[0] > values[1]:
            raise ValueError("the first must not be above the second")
        return values


class Weights(_Ranged):
    """Weights of a generated graph."""

    distribution: Literal["unit", "uniform", "log-uniform"] = "uniform"
    """Every weight is 1; every number of the range is equally likely; or every order of magnitude is."""
    range: _Numbers = (1, 255)
    """Smallest and largest weight, integers for an integer type. Log-uniform weights stay below the upper
    bound."""

    @property
    def may_be_negative(self) -> bool:
        """Whether a weight may be drawn that is below 0."""
        return self.distribution == "uniform" and self.range[0] < 0


def _without_negative(weights: Weights) -> Weights:
    """Refuse weights of undirected edges that may be negative."""
    if weights.may_be_negative:
        raise ValueError("an undirected edge of negative weight is a negative cycle; give a range from 0")
    return weights


EdgeWeights = Annotated[
    Weights, AfterValidator(_without_negative), Field(description="Distribution of the weights.")
]
"""Weights of a generated graph whose edges are undirected."""


class Unit(Section):
    """Every weight is 1."""

    distribution: Literal["unit"] = "unit"

    type: WeightType = "uint32"
    """See `docs/weights.md`."""


class LogUniform(_Ranged):
    """Weights drawn with probability inversely proportional to their value."""

    distribution: Literal["log-uniform"]

    seed: NonNegativeInt = 1
    """Seed of the draw."""


class LogNormal(Section):
    """Integer weights whose logarithms are normally distributed, rounded and at least 1."""

    distribution: Literal["lognormal"]

    mu: float = Field(allow_inf_nan=False)
    sigma: PositiveFloat = Field(allow_inf_nan=False)
    """Mean and standard deviation of the natural logarithm."""
    seed: NonNegativeInt = 1
    """Seed of the draw."""


class Values(Section):
    """The values in the file."""

    distribution: Literal["values"]

    type: WeightType | None = None
    """By default uint32 with a `scale` or if the file has only integers, otherwise float32."""
    scale: PositiveFloat | None = Field(None, allow_inf_nan=False)
    """Values are multiplied by this factor; for an integer type they are then rounded. Without it, an integer
    type refuses fractions. An error if every weight becomes 0."""

    def type_of(self, brought: WeightType) -> WeightType:
        """Return the type of the weights, for values that are of type `brought` in the file."""
        return self.type or ("uint32" if self.scale is not None else brought)


DrawnWeights = Annotated[Unit | LogUniform | LogNormal, Field(discriminator="distribution")]
"""Weights of a file that has none."""

FileWeights = Annotated[Unit | LogUniform | LogNormal | Values, Field(discriminator="distribution")]
"""Weights of a file that may have values."""


class OwnWeights(Section):
    """Parameters of a file that may bring weights."""

    weights: FileWeights | None = None
    """By default the values in the file, or 1 without any."""

    def distribution(self, *, has_values: bool) -> FileWeights:
        """Return the distribution of the weights of a file with or without values."""
        return self.weights or (Values.model_validate({"distribution": "values"}) if has_values else Unit())
