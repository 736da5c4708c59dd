"""Graphs from what a caller has: CSR arrays, SciPy matrices, networkx graphs, files."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.validation import validated
from relaxometer.graphs import graph as graphs
from relaxometer.graphs.lengths import LENGTHS

if TYPE_CHECKING:
    from relaxometer.datasets.registry import Dataset


@dataclass(frozen=True, eq=False)
class Graph:
    """A directed graph, and how its caller names its vertices.

    Use one of the constructors ``from_csr``, ``from_arcs``, ``from_scipy``, ``from_networkx``, ``from_file``
    and ``read_parquet``.

    Parameters
    ----------
    csr : relaxometer.graphs.graph.Graph
        The graph in host memory.
    on_device : bool
        Whether the caller's arrays were on a GPU; answers then stay there.
    nodes : sequence, optional
        The caller's name of each vertex; by default, vertices are numbers from 0.
    order : ndarray of shape (n_arcs,), int64, optional
        The caller's number of each arc, where arcs had to be sorted.
    given : tuple of tails, heads, weights and whether they are edges, optional
        The caller's arcs, where some may have been left out.
    """

    csr: graphs.Graph
    on_device: bool = False
    nodes: Sequence[Hashable] | None = None
    order: npt.NDArray[np.int64] | None = None
    given: tuple[Any, Any, Any, bool] | None = None

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return self.csr.n_vertices

    @property
    def n_arcs(self) -> int:
        """Number of directed arcs."""
        return self.csr.n_arcs

    @property
    def n_given(self) -> int:
        """Number of arcs, or edges, that the caller gave."""
        return self.n_arcs if self.given is None else len(self.given[0])

    @cached_property
    def numbers(self) -> npt.NDArray[np.int64] | None:
        """The caller's number of each arc; None if they are the same.

        Of parallel arcs that are equally light, the first one counts.
        """
        if self.given is None:
            return self.order
        *arrays, is_undirected = self.given
        tails, heads, weights = map(np.asarray, arrays)
        own = np.arange(len(tails))
        if is_undirected:
            tails, heads = np.append(tails, heads), np.append(heads, tails)
            weights, own = np.append(weights, weights), np.append(own, own)
        order = np.lexsort((own, weights, heads, tails))
        tails, heads = tails[order], heads[order]
        is_first = np.append(True, (tails[1:] != tails[:-1]) | (heads[1:] != heads[:-1]))[: len(tails)]
        kept: npt.NDArray[np.int64] = own[order][is_first & (tails != heads)]
        return kept

    def __repr__(self) -> str:
        return f"Graph({self.n_vertices:,} vertices, {self.n_arcs:,} arcs, weights {self.csr.lengths.title})"

    def vertex(self, node: Hashable) -> int:
        """Return the number of a vertex that the caller names; UserError if there is none."""
        if self.nodes is None:
            if isinstance(node, int | np.integer) and 0 <= node < self.n_vertices:
                return int(node)
            raise UserError(f"vertex {quoted(node)}: expected an integer from 0 to {self.n_vertices - 1}")
        if not self.has_node(node):
            raise UserError(f"{quoted(node)} is not a node of the graph")
        return self._numbers[node]

    def has_node(self, node: object) -> bool:
        """Return whether the caller has a vertex of this name."""
        return isinstance(node, Hashable) and node in self._numbers

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return {node: number for number, node in enumerate(self.nodes or ())}

    @classmethod
    def from_csr(
        cls, offsets: Any, targets: Any, weights: Any = None, *, distances: str | None = None
    ) -> Graph:
        """Return a graph from compressed sparse rows.

        Parameters
        ----------
        offsets : array_like of shape (n_vertices + 1,), integers
            The arcs of vertex ``v`` are ``offsets[v]`` to ``offsets[v + 1] - 1``.
        targets : array_like of shape (n_arcs,), integers
            Heads of the arcs, in any order within a vertex.
        weights : array_like of shape (n_arcs,), optional
            Weights of type uint32, int32, float32 or float64 keep their type; other integers become uint32,
            or int32 if one is negative. By default, each is 1.
        distances : {"uint64"}, optional
            With weights of type uint32: the type of distances that may not fit 32 bits.

        All three may be arrays of NumPy or CuPy, or have ``__dlpack__`` or ``__cuda_array_interface__``.

        Raises
        ------
        UserError
            If an array has a wrong type or shape, offsets descend, or a target or weight is out of range.
        """
        arrays = [on_host(array) for array in (offsets, targets, weights)]
        on_device = any(hasattr(array, "__cuda_array_interface__") for array in (offsets, targets))
        starts = _integers(arrays[0], "offsets")
        heads = _integers(arrays[1], "targets")
        loads = np.ones(len(heads), np.uint32) if weights is None else arrays[2]
        if np.shape(loads) != heads.shape:
            raise UserError(f"weights: shape {np.shape(loads)}; expected {heads.shape}, one for each target")
        if not len(starts) or starts[0] != 0 or starts[-1] != len(heads):
            raise UserError(f"offsets: expected to begin with 0 and end with {len(heads)}")
        if len(descents := np.flatnonzero(starts[1:] < starts[:-1])):
            raise UserError(f"offsets: descend after element {descents[0]}")
        kind = _weight_type(loads, distances)
        own = LENGTHS[kind].checked(loads, "from_csr")
        csr = graphs.Graph("graph", starts, _vertices(heads, len(starts) - 1), own, distance_type=distances)
        if _ascends(csr):
            return cls(csr, on_device)
        order = np.lexsort((csr.weights, csr.targets, csr.tails))
        csr = replace(csr, targets=csr.targets[order], weights=csr.weights[order])
        return cls(csr, on_device, order=order)

    @classmethod
    def from_arcs(
        cls, n_vertices: int, tails: Any, heads: Any, weights: Any = None, *, undirected: bool = False
    ) -> Graph:
        """Return a graph from a list of arcs in any order, with those of parallel arcs that are lightest.

        Parameters
        ----------
        n_vertices : int
        tails, heads : array_like of shape (n_arcs,), integers
        weights : array_like of shape (n_arcs,), optional
            As in :meth:`from_csr`.
        undirected : bool, default=False
            Add the reverse of every arc.

        Raises
        ------
        UserError
            As :meth:`from_csr`.
        """
        if n_vertices < 0:
            raise UserError(f"n_vertices: {n_vertices}; expected at least 0")
        arrays = [on_host(array) for array in (tails, heads, weights)]
        if weights is None:
            arrays[2] = np.ones(len(tails), np.uint32)
        csr = graphs.Graph.from_arcs(
            "graph",
            n_vertices,
            *arrays,
            undirected=undirected,
            weight_type=_weight_type(arrays[2], None),
        )
        given = (*arrays, undirected)
        return cls(csr, hasattr(tails, "__cuda_array_interface__"), given=given)

    @classmethod
    def from_scipy(cls, matrix: Any) -> Graph:
        """Return a graph from a SciPy sparse matrix: entry (u, v) is the weight of the arc from u to v.

        Explicit zeros are arcs of weight 0, as for ``scipy.sparse.csgraph``.

        Raises
        ------
        UserError
            If the matrix is not square, or as :meth:`from_csr`.
        """
        if not hasattr(matrix, "tocsr"):
            raise UserError(f"{type(matrix).__name__} is not a sparse matrix of SciPy")
        if matrix.shape[0] != matrix.shape[1]:
            raise UserError(f"the matrix has shape {matrix.shape}; expected as many rows as columns")
        rows = matrix.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy()  # the caller's matrix stays as it is
            rows.sum_duplicates()
        return cls.from_csr(rows.indptr, rows.indices, rows.data)

    @classmethod
    def from_networkx(cls, graph: Any, weight: str | None = "weight", default: float = 1) -> Graph:
        """Return a graph from a networkx graph; answers are by its nodes.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            Edges of an undirected graph become two arcs; of parallel edges the lightest counts.
        weight : str or None
            The attribute that holds the weight; None for weights of 1.
        default : number, default=1
            The weight of edges without the attribute.
        """
        nodes = list(graph)
        numbers = {node: number for number, node in enumerate(nodes)}
        edges = list(graph.edges(data=weight or True, default=default))
        tails, heads = (np.array([numbers[edge[end]] for edge in edges], np.int64) for end in (0, 1))
        loads = np.array([edge[2] for edge in edges]) if weight and edges else None
        made = cls.from_arcs(len(nodes), tails, heads, loads, undirected=not graph.is_directed())
        return cls(made.csr, nodes=nodes, given=made.given)

    @classmethod
    def from_file(cls, path: str | Path, *, format: str | None = None, **parameters: Any) -> Graph:
        """Read a graph from a file of one of the workflow's formats, such as DIMACS or OpenStreetMap.

        Parameters
        ----------
        path : str or Path
            May be compressed, as docs/datasets.md says.
        format : str, optional
            By default the name tells it: ``.gr``, ``.mtx``, ``.pbf``.
        **parameters
            Keys of the format; see config/README.md.
        """
        from relaxometer.datasets.build import build_graph
        from relaxometer.datasets.registry import Dataset

        file = Path(path)
        kind = format or next((known for end, known in ENDINGS.items() if end in file.suffixes), None)
        if kind is None:
            raise UserError(f"{file}: name the format, as in from_file(path, format='edge-list')")
        entry = {"format": kind, "path": str(file), "license": "unknown", "parameters": parameters}
        dataset: Dataset[Any] = validated(Dataset, entry, str(file))
        return cls(build_graph(file.name.split(".")[0], dataset, files=[file]))

    @classmethod
    def read_parquet(cls, folder: str | Path) -> Graph:
        """Read a graph that the workflow has built, such as ``results/graphs/usa-ny``."""
        return cls(graphs.read_graph(Path(folder)))


ENDINGS = {".gr": "dimacs", ".mtx": "matrix-market", ".pbf": "osm-pbf"}
"""Formats by the suffix of a file."""


def on_host(array: Any) -> Any:
    """Return an array in host memory as NumPy's."""
    if array is None or isinstance(array, np.ndarray):
        return array
    if hasattr(array, "__cuda_array_interface__"):
        import cupy

        return cupy.asnumpy(cupy.asarray(array))
    if hasattr(array, "__dlpack__"):
        return np.from_dlpack(array)
    return np.asarray(array)


def _integers(array: npt.NDArray[Any], what: str) -> npt.NDArray[np.int64]:
    if array.ndim != 1:
        raise UserError(f"{what}: shape {array.shape}; expected one dimension")
    if array.size and array.dtype.kind not in "iu":
        raise UserError(f"{what}: type {array.dtype}; expected integers")
    return np.ascontiguousarray(array, dtype=np.int64)


def _vertices(heads: npt.NDArray[np.int64], n_vertices: int) -> npt.NDArray[np.uint32]:
    if heads.size and not (heads.min() >= 0 and heads.max() < n_vertices):
        worst = int(np.argmax((heads < 0) | (heads >= n_vertices)))
        raise UserError(f"targets: element {worst} is {heads[worst]}; expected 0 to {n_vertices - 1}")
    return heads.astype(np.uint32)


def _weight_type(weights: npt.NDArray[Any], distances: str | None) -> str:
    """Return the name of the type that holds some weights."""
    array = np.asarray(weights)
    name = array.dtype.name
    if name not in LENGTHS:
        is_negative = array.dtype.kind == "i" and bool((array < 0).any())
        name = "int32" if is_negative else {"f": "float64"}.get(array.dtype.kind, "uint32")
    if distances is None:
        return name
    if f"{name}/{distances}" not in LENGTHS:
        raise UserError(
            f"distances: {quoted(distances)} for weights of type {name}; expected uint64 for uint32"
        )
    return f"{name}/{distances}"


def _ascends(csr: graphs.Graph) -> bool:
    """Return whether heads ascend within each vertex."""
    if csr.n_arcs < 2:
        return True
    is_descent = csr.targets[1:] < csr.targets[:-1]
    starts = csr.offsets[1:-1]
    is_descent[starts[(starts > 0) & (starts < csr.n_arcs)] - 1] = False
    return not is_descent.any()
