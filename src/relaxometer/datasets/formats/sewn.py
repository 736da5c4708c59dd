"""Copies of a map, sewn together."""

from __future__ import annotations

from pydantic import Field, PositiveInt

from relaxometer.core.validation import Section, Seed
from relaxometer.datasets.formats import Format


class SewnParameters(Section):
    """Parameters of the format ``sewn``.

    Parameters
    ----------
    rows, columns : int
        Copies from north to south and from west to east.
    roads : int
        Roads between two neighbouring copies, fewer if the map has fewer vertices.
    seed : int
        Seed of the roads' weights, which are drawn from the map's own.
    """

    rows: PositiveInt = Field(le=1024)
    columns: PositiveInt = Field(le=1024)
    roads: PositiveInt = 32
    seed: Seed = 1


FORMATS = {
    "sewn": Format(
        "relaxometer.datasets.generators.sewn",
        needs="extracted_from",
        parameters=SewnParameters,
        keeps_texts=("license", "attribution", "citation"),
    ),
}
