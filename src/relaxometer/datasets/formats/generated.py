"""Generated graphs."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationInfo,
    field_validator,
    model_validator,
)

from relaxometer.core.validation import Section, Seed
from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import EdgeWeights, VertexCount, WeightRange, Weights, check_vertex_ids

Mean = Annotated[float, Field(ge=0, le=2**32)]
EdgeFactor = Annotated[int, Field(ge=1, le=2**20)]


class Graph500Parameters(Section):
    """Parameters of the format ``graph500``."""

    scale: int = Field(ge=1, le=31)
    """Binary logarithm of the number of vertices."""
    edge_factor: EdgeFactor = 16
    """Edges per vertex in the edge list, before self-loops are dropped and parallel edges merged."""
    user_seeds: Annotated[tuple[Seed, Seed], Field(strict=False)] = (2, 3)
    """Seeds of the generator. The defaults are the benchmark's own."""
    weight_range: WeightRange = (1, 255)
    """A benchmark weight `w` from 0 to 1 becomes `low + floor(w * (high - low + 1))`, at most `high`."""
    keep_parallel: bool = False
    """Keep parallel edges instead of merging them to the lightest."""


class _DirectedOrNot(Section):
    """Arcs, or undirected edges, which have no negative weights."""

    @field_validator("weights", check_fields=False)
    @classmethod
    def _has_no_negative_edge(cls, weights: Weights, info: ValidationInfo) -> Weights:
        if not (info.data.get("undirected") and weights.may_be_negative):
            return weights
        raise ValueError(
            "an undirected edge of negative weight is a negative cycle; give a range from 0, or "
            "`undirected: false`"
        )


class RmatParameters(_DirectedOrNot):
    """Parameters of the format ``rmat``."""

    scale: int = Field(ge=1, le=31)
    """Binary logarithm of the number of vertices."""
    edge_factor: EdgeFactor = 16
    """Edges per vertex before self-loops are dropped and parallel arcs merged; 16 undirected edges give a
    mean degree of 32."""
    a: float = Field(0.57, ge=0)
    b: float = Field(0.19, ge=0)
    c: float = Field(0.19, ge=0)
    d: float = Field(0.05, ge=0)
    """Probabilities of the quadrants; they add up to 1."""
    undirected: bool = True
    """Each edge gives arcs in both directions."""
    weights: Weights = Weights()
    """Distribution of the weights."""

    @model_validator(mode="after")
    def _has_four_quadrants(self) -> RmatParameters:
        total = self.a + self.b + self.c + self.d
        if abs(total - 1) > 1e-9:
            raise ValueError(f"a, b, c and d must add up to 1, not {total:g}")
        return self


class UniformRandomParameters(_DirectedOrNot):
    """Parameters of the format ``uniform-random``."""

    vertices: VertexCount
    mean_degree: Mean
    """Arcs per vertex before self-loops are dropped and parallel arcs merged."""
    undirected: bool = True
    """Each edge gives arcs in both directions."""
    weights: Weights = Weights()
    """Distribution of the weights."""


class RoadParameters(Section):
    """Parameters of the format ``road-like``."""

    rows: PositiveInt
    columns: PositiveInt
    """Size of the grid of junctions."""
    mean_degree: Mean = 2.7
    """Arcs per junction."""
    pieces: PositiveInt = 1
    """Pieces that each road is cut into by vertices of degree 2."""
    weights: EdgeWeights = Weights(distribution="log-uniform", range=(10, 970_000))
    """Distribution of the weights. The default has the weights of a real map in milliseconds."""

    @model_validator(mode="after")
    def _has_32_bit_ids(self) -> RoadParameters:
        # The grid and its diagonals have at most three edges per junction.
        check_vertex_ids(self.rows * self.columns * (1 + 3 * (self.pieces - 1)))
        return self


class GridParameters(Section):
    """Parameters of the format ``grid``."""

    rows: PositiveInt
    columns: PositiveInt
    layers: PositiveInt = 1
    """Size of the grid; without `layers`, it is flat."""
    weights: EdgeWeights = Weights()

    @model_validator(mode="after")
    def _has_32_bit_ids(self) -> GridParameters:
        check_vertex_ids(self.rows * self.columns * self.layers)
        return self


class ShapeParameters(Section):
    """Parameters of the formats ``chain``, ``star``, ``complete`` and ``binary-tree``."""

    vertices: VertexCount
    weights: EdgeWeights = Weights()


class DelaunayParameters(Section):
    """Parameters of the format ``delaunay``."""

    vertices: Annotated[VertexCount, Field(ge=3)]
    """Number of random points in a square."""
    weights: EdgeWeights = Weights()
    """Distribution of the weights, which do not depend on the points."""


def _fewer_than_vertices(neighbors: int, info: ValidationInfo) -> int:
    """Refuse as many neighbours as there are vertices."""
    if neighbors >= (vertices := info.data.get("vertices", 2**32)):
        raise ValueError(f"give fewer than the {vertices} vertices")
    return neighbors


Neighbors = Annotated[PositiveInt, AfterValidator(_fewer_than_vertices)]


class NearestNeighborsParameters(Section):
    """Parameters of the format ``nearest-neighbors``."""

    vertices: VertexCount
    """Number of random points in a square."""
    neighbors: Neighbors
    """Each point is joined to this many nearest ones, in both directions."""
    weights: EdgeWeights = Weights()
    """Distribution of the weights, which do not depend on the points."""


class BarabasiAlbertParameters(Section):
    """Parameters of the format ``barabasi-albert``."""

    vertices: VertexCount
    edges: EdgeFactor
    """Edges that each vertex brings, before parallel ones are merged."""
    weights: EdgeWeights = Weights()


class WattsStrogatzParameters(Section):
    """Parameters of the format ``watts-strogatz``."""

    vertices: VertexCount
    """Number of vertices, arranged in a ring."""
    neighbors: Annotated[Neighbors, Field(multiple_of=2)]
    """Nearest vertices that each is joined to, half of them on each side; even."""
    rewired: float = Field(ge=0, le=1)
    """Probability that one end of an edge is replaced by another vertex, before parallel edges are merged."""
    weights: EdgeWeights = Weights()


class FlowRandomParameters(Section):
    """Parameters of the format ``flow-random``."""

    vertices: VertexCount
    branches: Mean = 0.5
    loops: Mean = 0.15
    gotos: Mean = 0.01
    """Arcs per vertex that lead forward, back, and anywhere; gotos enter loops past their heads."""
    reach: VertexCount = 40
    """Longest span of a branch or loop, in vertices."""
    without_order: bool = False
    """Leave out one arc, so that one vertex has arcs only from larger vertices: then the order of the
    vertices no longer gives each a predecessor before it."""


class LadderParameters(Section):
    """Parameters of the format ``ladder``."""

    rungs: PositiveInt
    """Length of the two rails."""
    closed: bool = False
    """Make a ring instead: no rungs, rails that lead both ways, and arcs from the root to both far ends.
    Local fixed points then move by one vertex per round."""

    @model_validator(mode="after")
    def _has_32_bit_ids(self) -> LadderParameters:
        check_vertex_ids(1 + 2 * self.rungs)
        return self


class ListedArcsParameters(Section):
    """Parameters of the format ``listed-arcs``."""

    vertices: VertexCount
    arcs: list[Annotated[tuple[NonNegativeInt, NonNegativeInt], Field(strict=False)]]
    """All arcs as `[tail, head]`, each of weight 1."""


_KANTO = "relaxometer.datasets.generators.kanto"
_SHAPES = "relaxometer.datasets.generators.shapes"
_POINTS = "relaxometer.datasets.generators.points"
_NETWORKS = "relaxometer.datasets.generators.networks"
_FLOW_GRAPHS = "relaxometer.datasets.generators.flow_graphs"

_seeded = partial(Format, needs="seed")
_on_a_map = partial(_seeded, has_coordinates=True)

FORMATS = {
    "graph500": Format("relaxometer.datasets.generators.graph500_device", parameters=Graph500Parameters),
    "rmat": _seeded("relaxometer.datasets.generators.rmat", "rmat", parameters=RmatParameters),
    "uniform-random": _seeded(
        "relaxometer.datasets.generators.uniform_random", "uniform_random", parameters=UniformRandomParameters
    ),
    "road-like": _on_a_map("relaxometer.datasets.generators.roads", "road_like", parameters=RoadParameters),
    "kanto-like": _on_a_map(_KANTO, "kanto_like"),
    "kanto-like-main": Format(
        _KANTO, "build_main_roads", needs="extracted_from", has_coordinates=True, base="kanto-like"
    ),
    "grid": _seeded(_SHAPES, "grid", parameters=GridParameters),
    "chain": _seeded(_SHAPES, "chain", parameters=ShapeParameters),
    "star": _seeded(_SHAPES, "star", parameters=ShapeParameters),
    "complete": _seeded(_SHAPES, "complete", parameters=ShapeParameters),
    "binary-tree": _seeded(_SHAPES, "binary_tree", parameters=ShapeParameters),
    "nearest-neighbors": _on_a_map(_POINTS, "nearest_neighbors", parameters=NearestNeighborsParameters),
    "delaunay": _on_a_map(_POINTS, "delaunay", parameters=DelaunayParameters),
    "barabasi-albert": _seeded(_NETWORKS, "barabasi_albert", parameters=BarabasiAlbertParameters),
    "watts-strogatz": _seeded(_NETWORKS, "watts_strogatz", parameters=WattsStrogatzParameters),
    "flow-random": _seeded(_FLOW_GRAPHS, "flow_random", parameters=FlowRandomParameters),
    "ladder": Format(_FLOW_GRAPHS, "build_ladder", parameters=LadderParameters),
    "listed-arcs": Format(_FLOW_GRAPHS, "build_listed", parameters=ListedArcsParameters),
}
