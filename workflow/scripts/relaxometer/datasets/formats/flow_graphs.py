"""Directed graphs with a root, for dominators."""

from __future__ import annotations

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import Section, VertexCount, check_vertex_ids


class FlowRandomParameters(Section):
    """Parameters of the format ``flow-random``.

    Parameters
    ----------
    vertices : int
        Number of vertices.
    branches, loops, gotos : float
        Arcs per vertex that lead forward, back, and anywhere; gotos enter loops past their heads.
    reach : int
        Longest span of a branch or loop, in vertices.
    """

    vertices: VertexCount
    branches: float = Field(0.5, ge=0)
    loops: float = Field(0.15, ge=0)
    gotos: float = Field(0.01, ge=0)
    reach: PositiveInt = 40


class LadderParameters(Section):
    """Parameters of the format ``ladder``.

    Parameters
    ----------
    rungs : int
        Length of the two rails.
    closed : bool
        Make a ring instead: no rungs, rails that lead both ways, and arcs from the root to both far ends.
        Local fixed points then move by one vertex per round.
    """

    rungs: PositiveInt
    closed: bool = False

    @model_validator(mode="after")
    def _has_32_bit_ids(self) -> LadderParameters:
        check_vertex_ids(1 + 2 * self.rungs)
        return self


class ListedArcsParameters(Section):
    """Parameters of the format ``listed-arcs``.

    Parameters
    ----------
    vertices : int
        Number of vertices.
    arcs : list of (tail, head)
        All arcs, each of weight 1.
    """

    vertices: VertexCount
    arcs: list[tuple[NonNegativeInt, NonNegativeInt]]


_MODULE = "relaxometer.datasets.generators.flow_graphs"

FORMATS = {
    "flow-random": Format(_MODULE, "flow_random", needs="seed", parameters=FlowRandomParameters),
    "ladder": Format(_MODULE, "build_ladder", parameters=LadderParameters),
    "listed-arcs": Format(_MODULE, "build_listed", parameters=ListedArcsParameters),
}
