"""Parameters that several formats share: boxes, and the distributions of weights."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeInt,
    PositiveFloat,
    model_validator,
)

from relaxometer.core.validation import Section


class NoParameters(Section):
    """The parameters of a format that has none."""


VertexCount = Annotated[int, Field(ge=1, lt=2**32)]


def check_vertex_ids(n_vertices: int) -> None:
    """Refuse graphs with more vertices than 32-bit ids can name."""
    if n_vertices >= 2**32:
        raise ValueError(f"up to {n_vertices} vertices; vertex ids have 32 bits")


class Box(Section):
    """A box of geographic coordinates, edges included.

    Parameters
    ----------
    south, west, north, east : float
        Degrees; negative south of the equator and west of Greenwich.
    """

    south: float = Field(ge=-90, le=90)
    west: float = Field(ge=-180, le=180)
    north: float = Field(ge=-90, le=90)
    east: float = Field(ge=-180, le=180)

    @model_validator(mode="after")
    def _has_an_area(self) -> Box:
        if self.south >= self.north or self.west >= self.east:
            raise ValueError("south must be below north, and west below east")
        return self


def _ordered(values: tuple[int, int]) -> tuple[int, int]:
    if values[0] > values[1]:
        raise ValueError("the first must not be above the second")
    return values


def _log_range(values: tuple[int, int]) -> tuple[int, int]:
    if not 0 < values[0] < values[1]:
        raise ValueError("log-uniform weights need 0 < lower bound < upper bound")
    return values


_Bounds = Annotated[tuple[NonNegativeInt, Annotated[int, Field(le=2**32 - 2)]], Field(strict=False)]
WeightRange = Annotated[_Bounds, AfterValidator(_ordered)]
"""The smallest and the largest weight."""


class Weights(Section):
    """Integer weights of a generated graph.

    Parameters
    ----------
    distribution : {"unit", "uniform", "log-uniform"}
        Every weight is 1; every integer of the range is equally likely; or every order of magnitude is.
    range : tuple of two int
        Smallest and largest weight. Log-uniform weights stay below the upper bound.
    """

    distribution: Literal["unit", "uniform", "log-uniform"] = "uniform"
    range: WeightRange = (1, 255)

    @model_validator(mode="after")
    def _has_logarithms(self) -> Weights:
        if self.distribution == "log-uniform":
            _log_range(self.range)
        return self


class Unit(Section):
    """Every weight is 1."""

    distribution: Literal["unit"] = "unit"


class LogUniform(Section):
    """Integer weights, drawn with probability inversely proportional to their value.

    Parameters
    ----------
    range : tuple of two int
        Smallest weight, and the bound that all weights stay below.
    seed : int
        Seed of the draw.
    """

    distribution: Literal["log-uniform"]
    range: Annotated[_Bounds, AfterValidator(_log_range)]
    seed: NonNegativeInt = 1


class LogNormal(Section):
    """Weights whose logarithms are normally distributed, rounded and at least 1.

    Parameters
    ----------
    mu, sigma : float
        Mean and standard deviation of the natural logarithm.
    seed : int
        Seed of the draw.
    """

    distribution: Literal["lognormal"]
    mu: float = Field(allow_inf_nan=False)
    sigma: PositiveFloat = Field(allow_inf_nan=False)
    seed: NonNegativeInt = 1


class Values(Section):
    """The values in the file.

    Parameters
    ----------
    scale : float
        Values are multiplied by this factor and rounded to integers.
    """

    distribution: Literal["values"]
    scale: PositiveFloat = Field(1, allow_inf_nan=False)


DrawnWeights = Annotated[Unit | LogUniform | LogNormal, Field(discriminator="distribution")]
"""Weights of a file that has none."""

FileWeights = Annotated[Unit | LogUniform | LogNormal | Values, Field(discriminator="distribution")]
"""Weights of a file that may have values."""
