"""Graph500's Kronecker graphs."""

from typing import Annotated

from pydantic import Field, PositiveInt

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import Section, WeightRange

Seed = Annotated[int, Field(ge=0, lt=2**64)]


class Graph500Parameters(Section):
    """Parameters of the format ``graph500``.

    Parameters
    ----------
    scale : int
        Binary logarithm of the number of vertices.
    edge_factor : int
        Edges per vertex in the edge list, before self-loops are dropped and parallel edges merged.
    user_seeds : tuple of two int
        Seeds of the generator. The defaults are the benchmark's own.
    weight_range : tuple of two int
        A benchmark weight `w` from 0 to 1 becomes `low + floor(w * (high - low + 1))`, at most `high`.
    keep_parallel : bool
        Keep parallel edges instead of merging them to the lightest.
    """

    scale: int = Field(ge=1, le=31)
    edge_factor: PositiveInt = 16
    user_seeds: tuple[Seed, Seed] = (2, 3)
    weight_range: WeightRange = (1, 255)
    keep_parallel: bool = False


FORMATS = {
    "graph500": Format("relaxometer.datasets.generators.graph500_device", parameters=Graph500Parameters),
}
