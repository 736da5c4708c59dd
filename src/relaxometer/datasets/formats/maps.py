"""Maps and railways."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PositiveFloat, model_validator

from relaxometer.core.validation import Section, suggestion
from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import Box

Speed = Annotated[PositiveFloat, Field(allow_inf_nan=False)]
Degrees = Annotated[float, Field(ge=-180, le=180)]


def _latitude_last(corner: tuple[float, float]) -> tuple[float, float]:
    """Refuse corners that can only be meant the other way round."""
    if not -90 <= corner[1] <= 90:
        raise ValueError("corners are [longitude, latitude], and latitudes are from -90 to 90")
    return corner


Corner = Annotated[tuple[Degrees, Degrees], Field(strict=False), AfterValidator(_latitude_last)]


class RoadWeights(Section):
    """Lengths or travel times."""

    type: Literal["uint32", "float32", "float64"] = "uint32"
    """Metres or milliseconds, rounded and at least 1; or metres or seconds, rounded only to the nearest
    float."""


def _is_known(profile: str) -> str:
    from relaxometer.datasets.readers.osm_tags import read_profiles

    known = list(read_profiles().profiles)
    if profile not in known:
        raise ValueError(f"should be one of {', '.join(known)}{suggestion(profile, known)}")
    return profile


class OsmParameters(Section):
    """Parameters of the formats ``osm-pbf`` and ``osm-xml``."""

    profile: Annotated[str, AfterValidator(_is_known)] | None = None
    """Vehicle whose speeds, access, one-way roads and turns count: `car`, `bike` or `foot`."""
    turns: Literal["none", "restrictions", "costs"] = "restrictions"
    """Of a profile: turns are free, some are forbidden, or all take time as well."""
    ferries: bool = False
    """Add ferries to the roads of a profile."""
    classes: Literal["arterial", "drive", "all"] = "all"
    """Highways to take: motorways to tertiary roads open to cars; all roads open to cars; or tracks, paths
    and steps as well, whoever may use them."""
    oneway: Literal["ignore", "respect"] = "ignore"
    """Take one-way roads in both directions, as pedestrians do, or in their own direction only."""
    metres_per_minute: Speed = 80
    """Speed on roads. The default is the usual walking speed in Japan."""
    railways: bool = False
    """Add railways, and walks from their stops to the nearest junction."""
    rail_km_per_hour: Speed = 35
    """Speed on railways."""
    box: Box | None = None
    """Take this area only: `{south, west, north, east}` in degrees."""
    polygon: list[Corner] | None = Field(None, min_length=3)
    """Take the inside of this polygon only: corners as `[longitude, latitude]`."""
    weights: RoadWeights = RoadWeights()
    """Travel times: `{type: uint32}` in milliseconds, a float type in seconds, unrounded."""

    @model_validator(mode="after")
    def _has_the_railways_of_the_speed(self) -> OsmParameters:
        if "rail_km_per_hour" in self.model_fields_set and not self.railways:
            raise ValueError("rail_km_per_hour is for railways; add `railways: true`, or leave it out")
        return self

    @model_validator(mode="after")
    def _has_the_keys_of_its_roads(self) -> OsmParameters:
        given = self.model_fields_set
        for key in sorted(
            given & {"classes", "oneway", "metres_per_minute", "railways"} if self.profile else ()
        ):
            raise ValueError(f"`{key}` is not for a profile, which says how its vehicle moves; leave it out")
        for key in sorted(() if self.profile else given & {"turns", "ferries"}):
            raise ValueError(f"`{key}` is for a profile; add `profile: car`, or leave it out")
        return self


class HighwayParameters(Section):
    """Parameters of the format ``highways``."""

    box: Box
    """Area to take, as `{south, west, north, east}` in degrees; its largest component is the graph."""
    km_per_hour: Speed | None = None
    """Weights are travel times at this speed instead of lengths."""
    weights: RoadWeights = RoadWeights()
    """`{type: uint32}`: metres or milliseconds; a float type: metres or seconds, unrounded."""


class RailwayParameters(Section):
    """Parameters of the format ``ksj-n02``."""

    km_per_hour: PositiveFloat = Field(35, allow_inf_nan=False)
    """Speed on all lines."""
    weights: RoadWeights = RoadWeights()
    """Travel times: `{type: uint32}` in milliseconds, a float type in seconds, unrounded."""


FORMATS = {
    "osm-pbf": Format(
        "relaxometer.datasets.readers.osm_pbf", needs="file", parameters=OsmParameters, has_coordinates=True
    ),
    "osm-xml": Format(
        "relaxometer.datasets.readers.osm_xml", needs="file", parameters=OsmParameters, has_coordinates=True
    ),
    "highways": Format(
        "relaxometer.datasets.readers.highways",
        parameters=HighwayParameters,
        has_coordinates=True,
        finds_file=True,
    ),
    "ksj-n02": Format(
        "relaxometer.datasets.readers.ksj_n02",
        needs="file",
        parameters=RailwayParameters,
        has_coordinates=True,
    ),
}
