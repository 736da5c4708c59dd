"""Graphs of a plain shape."""

from __future__ import annotations

from pydantic import PositiveInt, model_validator

from relaxometer.datasets.formats import Format
from relaxometer.datasets.parameters import Section, VertexCount, Weights, check_vertex_ids


class GridParameters(Section):
    """Parameters of the format ``grid``.

    Parameters
    ----------
    rows, columns : int
        Size of the grid.
    weights : Weights
        Distribution of the weights.
    """

    rows: PositiveInt
    columns: PositiveInt
    weights: Weights = Weights()

    @model_validator(mode="after")
    def _has_32_bit_ids(self) -> GridParameters:
        check_vertex_ids(self.rows * self.columns)
        return self


class ShapeParameters(Section):
    """Parameters of the formats ``chain``, ``star``, ``complete`` and ``binary-tree``.

    Parameters
    ----------
    vertices : int
        Number of vertices.
    weights : Weights
        Distribution of the weights.
    """

    vertices: VertexCount
    weights: Weights = Weights()


_MODULE = "relaxometer.datasets.generators.shapes"

FORMATS = {
    "grid": Format(_MODULE, "grid", needs="seed", parameters=GridParameters),
    "chain": Format(_MODULE, "chain", needs="seed", parameters=ShapeParameters),
    "star": Format(_MODULE, "star", needs="seed", parameters=ShapeParameters),
    "complete": Format(_MODULE, "complete", needs="seed", parameters=ShapeParameters),
    "binary-tree": Format(_MODULE, "binary_tree", needs="seed", parameters=ShapeParameters),
}
