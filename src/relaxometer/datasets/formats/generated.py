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


class _Generated(Section):
    """Descriptions of what several models have.

    Parameters
    ----------
    vertices : int
        Number of vertices.
    weights : Weights
        Distribution of the weights.
    """


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
    edge_factor: EdgeFactor = 16
    user_seeds: Annotated[tuple[Seed, Seed], Field(strict=False)] = (2, 3)
    weight_range: WeightRange = (1, 255)
    keep_parallel: bool = False


class _DirectedOrNot(_Generated):
    """Arcs, or undirected edges, which have no negative weights.

    Parameters
    ----------
    undirected : bool
        Each edge gives arcs in both directions.
    """

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
    """

    scale: int = Field(ge=1, le=31)
    edge_factor: EdgeFactor = 16
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


class UniformRandomParameters(_DirectedOrNot):
    """Parameters of the format ``uniform-random``.

    Parameters
    ----------
    mean_degree : float
        Arcs per vertex before self-loops are dropped and parallel arcs merged.
    """

    vertices: VertexCount
    mean_degree: Mean
    undirected: bool = True
    weights: Weights = Weights()


class RoadParameters(Section):
    """Parameters of the format ``road-like``.

    Parameters
    ----------
    rows, columns : int
        Size of the grid of junctions.
    mean_degree : float
        Arcs per junction.
    pieces : int
        Pieces that each road is cut into by vertices of degree 2.
    weights : Weights
        Distribution of the weights. The default has the weights of a real map in milliseconds.
    """

    rows: PositiveInt
    columns: PositiveInt
    mean_degree: Mean = 2.7
    pieces: PositiveInt = 1
    weights: EdgeWeights = Weights(distribution="log-uniform", range=(10, 970_000))

    @model_validator(mode="after")
    def _has_32_bit_ids(self) -> RoadParameters:
        # The grid and its diagonals have at most three edges per junction.
        check_vertex_ids(self.rows * self.columns * (1 + 3 * (self.pieces - 1)))
        return self


class GridParameters(_Generated):
    """Parameters of the format ``grid``.

    Parameters
    ----------
    rows, columns, layers : int
        Size of the grid; without `layers`, it is flat.
    """

    rows: PositiveInt
    columns: PositiveInt
    layers: PositiveInt = 1
    weights: EdgeWeights = Weights()

    @model_validator(mode="after")
    def _has_32_bit_ids(self) -> GridParameters:
        check_vertex_ids(self.rows * self.columns * self.layers)
        return self


class ShapeParameters(_Generated):
    """Parameters of the formats ``chain``, ``star``, ``complete`` and ``binary-tree``."""

    vertices: VertexCount
    weights: EdgeWeights = Weights()


class DelaunayParameters(Section):
    """Parameters of the format ``delaunay``.

    Parameters
    ----------
    vertices : int
        Number of random points in a square.
    weights : Weights
        Distribution of the weights, which do not depend on the points.
    """

    vertices: Annotated[VertexCount, Field(ge=3)]
    weights: EdgeWeights = Weights()


def _fewer_than_vertices(neighbors: int, info: ValidationInfo) -> int:
    """Refuse as many neighbours as there are vertices."""
    if neighbors >= (vertices := info.data.get("vertices", 2**32)):
        raise ValueError(f"give fewer than the {vertices} vertices")
    return neighbors


Neighbors = Annotated[PositiveInt, AfterValidator(_fewer_than_vertices)]


class NearestNeighborsParameters(Section):
    """Parameters of the format ``nearest-neighbors``.

    Parameters
    ----------
    vertices : int
        Number of random points in a square.
    neighbors : int
        Each point is joined to this many nearest ones, in both directions.
    weights : Weights
        Distribution of the weights, which do not depend on the points.
    """

    vertices: VertexCount
    neighbors: Neighbors
    weights: EdgeWeights = Weights()


class BarabasiAlbertParameters(_Generated):
    """Parameters of the format ``barabasi-albert``.

    Parameters
    ----------
    edges : int
        Edges that each vertex brings, before parallel ones are merged.
    """

    vertices: VertexCount
    edges: EdgeFactor
    weights: EdgeWeights = Weights()


class WattsStrogatzParameters(_Generated):
    """Parameters of the format ``watts-strogatz``.

    Parameters
    ----------
    vertices : int
        Number of vertices, arranged in a ring.
    neighbors : int
        Nearest vertices that each is joined to, half of them on each side; even.
    rewired : float
        Probability that one end of an edge is replaced by another vertex, before parallel edges are merged.
    """

    vertices: VertexCount
    neighbors: Annotated[Neighbors, Field(multiple_of=2)]
    rewired: float = Field(ge=0, le=1)
    weights: EdgeWeights = Weights()


class FlowRandomParameters(_Generated):
    """Parameters of the format ``flow-random``.

    Parameters
    ----------
    branches, loops, gotos : float
        Arcs per vertex that lead forward, back, and anywhere; gotos enter loops past their heads.
    reach : int
        Longest span of a branch or loop, in vertices.
    without_order : bool
        Leave out one arc, so that one vertex has arcs only from larger vertices: then the order of the
        vertices no longer gives each a predecessor before it.
    """

    vertices: VertexCount
    branches: Mean = 0.5
    loops: Mean = 0.15
    gotos: Mean = 0.01
    reach: VertexCount = 40
    without_order: bool = False


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


class ListedArcsParameters(_Generated):
    """Parameters of the format ``listed-arcs``.

    Parameters
    ----------
    arcs : list of (tail, head)
        All arcs, each of weight 1.
    """

    vertices: VertexCount
    arcs: list[Annotated[tuple[NonNegativeInt, NonNegativeInt], Field(strict=False)]]


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
