"""Extracts of OpenStreetMap in PBF."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import Box, Section

Speed = Annotated[PositiveFloat, Field(allow_inf_nan=False)]


class OsmParameters(Section):
    """Parameters of the format ``osm-pbf``.

    Parameters
    ----------
    classes : {"arterial", "drive", "all"}
        Highways to take: motorways to tertiary roads; all roads open to cars; or tracks, paths and steps
        as well.
    oneway : {"ignore", "respect"}
        Take one-way roads in both directions, as pedestrians do, or in their own direction only.
    metres_per_minute : float
        Speed on roads. The default is the usual walking speed in Japan.
    railways : bool
        Add railways, and walks from their stops to the nearest junction.
    rail_km_per_hour : float
        Speed on railways.
    box : Box, optional
        Take this area only: `{south, west, north, east}` in degrees.
    polygon : list of (longitude, latitude), optional
        Take the inside of this polygon only.
    """

    classes: Literal["arterial", "drive", "all"] = "all"
    oneway: Literal["ignore", "respect"] = "ignore"
    metres_per_minute: Speed = 80
    railways: bool = False
    rail_km_per_hour: Speed = 35
    box: Box | None = None
    polygon: list[tuple[float, float]] | None = Field(None, min_length=3)


FORMATS = {
    "osm-pbf": Format("relaxometer.datasets.readers.osm_pbf", needs="file", parameters=OsmParameters),
}
