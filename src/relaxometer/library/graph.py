"""Graphs from CSR arrays, SciPy matrices, networkx graphs and files."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import LOGGER
from relaxometer.core.errors import UserError, quoted
from relaxometer.core.validation import suggestion, validated
from relaxometer.datasets.formats import all_formats
from relaxometer.device import Device
from relaxometer.graphs import graph as graphs
from relaxometer.graphs import soundness
from relaxometer.graphs.lengths import LENGTHS, Lengths
from relaxometer.graphs.resident import ResidentArrays, ResidentGraph
from relaxometer.library._ids import Ids
from relaxometer.problems.problem import load_problem

if TYPE_CHECKING:
    from relaxometer.datasets.registry import Dataset


SMALL = 1 << 16
"""Largest number of arcs for which the host checks all arrays in less time than a launch takes."""

DLPACK_CUDA = 2

MOST_OF_INT32 = 1 << 31
"""Largest number of vertices for which a negative target of type int32 is also out of range as uint32."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A directed graph, and how its caller names its vertices.

    Use one of the constructors ``from_csr``, ``from_arcs``, ``from_scipy``, ``from_networkx``, ``from_file``
    and ``read_parquet``.
    """

    csr: graphs.Graph  # in host memory
    on_device: bool = False  # whether the caller's arrays were on a GPU; answers then stay there
    nodes: Sequence[Hashable] | None = None
    """The caller's name of each vertex; by default, vertices are numbers from 0."""
    order: npt.NDArray[np.int64] | None = None
    """The caller's number of each arc, where arcs had to be sorted; shape (n_arcs,)."""
    given: tuple[Any, Any, Any, bool] | None = None
    """Tails, heads and weights of the caller's arcs, where some may have been left out, and whether they are
    edges."""

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return self.csr.n_vertices

    @property
    def n_arcs(self) -> int:
        """Number of directed arcs."""
        return self.csr.n_arcs

    @property
    def first_in_file(self) -> int:
        """The number of vertex 0 in the graph's file, if it is numbered from 0 here: 0 or 1."""
        form = all_formats().get(self.csr.metadata.get("format", ""))
        return form.first if form and self.nodes is None else 0

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

    @property
    def lengths(self) -> Lengths:
        """The type of the weights, and of lengths of paths."""
        return self.csr.lengths

    def __repr__(self) -> str:
        return f"Graph({self.n_vertices:,} vertices, {self.n_arcs:,} arcs, weights {self.lengths.title})"

    def resident(
        self, device: Device, *, arcs: bool = True, weights: bool = True, wait: bool = True
    ) -> ResidentGraph:
        """Return the graph in a device's memory, with or without its arcs or their weights.

        If it need not `wait` for the check of arrays, the caller asks the graph later whether it `is_sound`,
        and if not, discards it and all that was made of it, and waits.
        """
        return ResidentGraph.upload(device, self.csr, arcs=arcs, weights=weights)

    def kept_on_device(self) -> Graph:
        """Return the same graph whose answers stay on the device that found them."""
        made = copy(self)
        vars(made)["on_device"] = True
        return made

    def with_weights(self, weights: npt.NDArray[Any]) -> Graph:
        """Return the same graph with other weights of its type, in the caller's order."""
        if self.given is None:
            loads = weights if self.order is None else weights[self.order]
            return Graph(replace(self.csr, weights=loads), self.on_device, self.nodes, self.order)
        tails, heads, _, is_undirected = self.given
        made = Graph.from_arcs(self.n_vertices, tails, heads, weights, undirected=is_undirected)
        return replace(made, on_device=self.on_device, nodes=self.nodes)

    def bytes_on_device(self, problem: str = "sssp") -> int:
        """Return the bytes that the arrays of this graph and of one answer take in a device's memory.

        Variants need more for their own arrays.
        """
        kind, lengths = load_problem(problem), self.lengths
        of_weight = lengths.dtype.itemsize if kind.lengths else 0
        columns = kind.columns if kind.queries is None else ()
        of_answer = sum(
            lengths.distances.itemsize if name in kind.lengths else np.dtype(kind.columns[name]).itemsize
            for name in columns
        )
        return 8 * (self.n_vertices + 1) + (4 + of_weight) * self.n_arcs + of_answer * self.n_vertices

    def vertex(self, node: Hashable) -> int:
        """Return the number of a vertex that the caller names; GraphError if there is none."""
        if self.nodes is None:
            if isinstance(node, int | np.integer) and 0 <= node < self.n_vertices:
                return int(node)
            last, hint = self.n_vertices - 1, ""
            if self.first_in_file:
                hint = f" (numbered from 0: vertex {last + self.first_in_file} of the file is {last})"
            raise UserError(f"vertex {quoted(node)}: expected an integer from 0 to {last}{hint}")
        if (number := self._number(node)) < 0:
            raise UserError(f"{quoted(node)} is not a node of the graph")
        return number

    def vertices(self, nodes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the numbers of vertices that the caller names by integers; GraphError if one is missing.

        Parameters
        ----------
        nodes : ndarray of shape (n,), integers
            Numbers, or ids if ``self.nodes`` are integers.
        """
        numbers = nodes
        if isinstance(self.nodes, Ids):
            numbers = self.nodes.numbers(nodes)
        # As unsigned, negative numbers are large.
        unsigned = numbers.view(numbers.dtype.str.replace("i", "u"))
        if numbers.size and unsigned.max() >= self.n_vertices:
            self.vertex(nodes[int(np.argmax(unsigned >= self.n_vertices))])
        return numbers

    def has_node(self, node: object) -> bool:
        """Return whether the caller has a vertex of this name."""
        return self._number(node) >= 0

    def _number(self, node: object) -> int:
        if isinstance(self.nodes, Ids):
            is_integer = isinstance(node, int | np.integer) and -(2**63) <= node < 2**64
            return int(self.nodes.numbers(np.array([node]))[0]) if is_integer else -1
        return self._numbers.get(node, -1) if isinstance(node, Hashable) else -1

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        # Of vertices of one name, the first counts.
        nodes = self.nodes or ()
        return {nodes[number]: number for number in reversed(range(len(nodes)))}

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

        They are not copied, so do not change them while the graph is in use. The elements of more than 65,536
        arcs are checked by :func:`prepare`, on the device if it has one, and those of fewer here.

        Raises
        ------
        GraphError
            If an array has a wrong type or shape, offsets descend, or a target or weight is out of range.
        """
        starts, heads, loads = (_adopted(array) for array in (offsets, targets, weights))
        for array, what in ((starts, "offsets"), (heads, "targets")):
            if array.ndim != 1:
                raise UserError(f"{what}: shape {array.shape}; expected one dimension")
            if array.size and array.dtype.kind not in "iu":
                raise UserError(f"{what}: type {array.dtype}; expected integers")
        if loads is not None and loads.shape != heads.shape:
            raise UserError(f"weights: shape {loads.shape}; expected {heads.shape}, one for each target")
        if not len(starts):
            raise UserError(f"offsets: expected to begin with 0 and end with {len(heads)}")
        made = _GraphOfArrays(starts, heads, loads, distances)
        if made.n_arcs <= SMALL:
            _ = made.csr
        return made

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
        GraphError
            As :meth:`from_csr`.
        """
        if not isinstance(n_vertices, int | np.integer):
            given = f"n_vertices: {type(n_vertices).__name__}; expected an integer"
            raise UserError(f"{given}, as in from_arcs(n_vertices, tails, heads, weights)")
        if n_vertices < 0:
            raise UserError(f"n_vertices: {n_vertices}; expected at least 0")
        loads = np.ones(len(tails), np.uint32) if weights is None else np.asarray(on_host(weights))
        arrays = [on_host(tails), on_host(heads), loads]
        csr = graphs.Graph.from_arcs(
            "", n_vertices, *arrays, undirected=undirected, weight_type=_weight_type(loads)
        )
        given = (*arrays, undirected)
        return cls(csr, hasattr(tails, "__cuda_array_interface__"), given=given)

    @classmethod
    def from_scipy(cls, matrix: Any) -> Graph:
        """Return a graph from a SciPy sparse matrix: entry (u, v) is the weight of the arc from u to v.

        Explicit zeros are arcs of weight 0, as for ``scipy.sparse.csgraph``.

        Raises
        ------
        GraphError
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
            The weight of edges without the attribute, as in networkx.

        Raises
        ------
        GraphError
            If no edge has the attribute, unless it is ``weight``, or as :meth:`from_csr`.
        """
        nodes = list(graph)
        numbers = {node: number for number, node in enumerate(nodes)}
        is_unknown = weight is not None and not any(weight in edge for *_, edge in graph.edges(data=True))
        if is_unknown and graph.size():
            from relaxometer.datasets.readers.networkx_files import no_edge_has, usable_weights

            if weight != "weight":
                raise UserError(no_edge_has(str(weight), graph))
            if names := usable_weights(graph):  # else the graph is one without weights
                told = f"no edge has 'weight', so each weighs {default}; edges have {', '.join(names)}"
                LOGGER.warning("%s: from_networkx(graph, %s)", told, names[0])
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
            By default it follows from the name, as docs/datasets.md says.
        **parameters
            Keys of the format; see config/datasets.md. Answers are by the ids of a table.
        """
        graph = read_file(Path(path), format, parameters)
        if said := unused_values(path, graph):
            LOGGER.warning('%s; from_file(path, weights={"distribution": "values"}) uses it', said)
        return graph

    @classmethod
    def read_parquet(cls, folder: str | Path) -> Graph:
        """Read a graph that the workflow has built, such as ``results/graphs/usa-ny``."""
        return cls._with_ids(graphs.read_graph(Path(folder)))

    @classmethod
    def _with_ids(cls, csr: graphs.Graph) -> Graph:
        if csr.ids is None:
            return cls(csr)
        is_text = csr.ids.type not in ("int64", "uint64")
        return cls(csr, nodes=csr.ids.to_pylist() if is_text else Ids(csr.ids.to_numpy()))


class _GraphOfArrays(Graph):
    """A graph of the caller's arrays, which are checked where they are first read.

    On a device, that is one pass of a kernel. If it finds something, the host looks again: it says what is
    wrong, or sorts the arcs.
    """

    _given: tuple[Any, Any, Any]
    _lengths: Lengths
    _arcs_are_sound: bool
    _weights_are_sound: bool

    def __init__(self, offsets: Any, targets: Any, weights: Any, distances: str | None) -> None:
        kind = "uint32" if weights is None else _weight_type(weights)
        if weights is not None and weights.dtype.name != kind:
            weights = LENGTHS[kind].checked(on_host(weights))
        on_device = not all(isinstance(array, np.ndarray) for array in (offsets, targets))
        vars(self).update(nodes=None, given=None, on_device=on_device, _lengths=_lengths_of(kind, distances))
        vars(self).update(_given=(offsets, targets, weights), _arcs_are_sound=False, _weights_are_sound=False)

    @property
    def lengths(self) -> Lengths:
        return self._lengths

    @property
    def n_vertices(self) -> int:
        return len(self._given[0]) - 1

    @property
    def n_arcs(self) -> int:
        return len(self._given[1])

    @property
    def first_in_file(self) -> int:
        return 0

    @property
    def csr(self) -> graphs.Graph:
        return self._read[0]

    @property
    def order(self) -> npt.NDArray[np.int64] | None:
        return None if self._arcs_are_sound else self._read[1]

    @cached_property
    def _read(self) -> tuple[graphs.Graph, npt.NDArray[np.int64] | None]:
        """The graph in host memory, checked and its arcs sorted, and the caller's number of each arc."""
        starts, heads, loads = map(on_host, self._given)
        starts = np.ascontiguousarray(starts, dtype=np.int64)
        loads = np.ones(len(heads), np.uint32) if loads is None else loads
        if not self._arcs_are_sound:
            _check_offsets(starts, len(heads))
            _check_targets(heads, self.n_vertices)
        if not self._weights_are_sound:
            loads = self.lengths.checked(loads)
        heads = np.ascontiguousarray(heads, dtype=np.uint32)
        wide = self.lengths.distances.name if self.lengths.has_own_distances else None
        csr = graphs.Graph("graph", starts, heads, np.ascontiguousarray(loads), distance_type=wide)
        if self._arcs_are_sound or _ascends(csr):
            return csr, None
        order = np.lexsort((csr.weights, csr.targets, csr.tails))
        return replace(csr, targets=csr.targets[order], weights=csr.weights[order]), order

    def resident(
        self, device: Device, *, arcs: bool = True, weights: bool = True, wait: bool = True
    ) -> ResidentGraph:
        if not arcs or "_read" in vars(self) or not getattr(device, "emulates", True):
            return super().resident(device, arcs=arcs, weights=weights)
        offsets, targets, loads = self._given if device.kind == "cuda" else map(on_host, self._given)
        wanted = [offsets, targets] if loads is None or not weights else [offsets, targets, loads]
        starts, heads, *words = device.asarrays(*wanted)
        starts, (heads, in_range) = starts.astype(np.int64, copy=False), _narrowed(heads, self.n_vertices)
        if weights and not words:
            words = [device.xp.ones(self.n_arcs, dtype=np.uint32)]
        word = words[0].view(self.lengths.weight_word) if words else None
        if not in_range:
            return super().resident(device, arcs=arcs, weights=weights)
        # Arrays of the caller's on the device stay as they are.
        are_copies = all(isinstance(array, np.ndarray) for array in wanted)
        verdict = soundness.check(device, starts, heads, word, self.lengths, mend=are_copies)

        def settle() -> bool:
            is_sound = verdict()
            weights_are = is_sound and (self._weights_are_sound or weights)
            vars(self).update(_arcs_are_sound=is_sound, _weights_are_sound=weights_are)
            return is_sound

        made = ResidentArrays(device, lambda: self.csr, starts, heads, word, self.lengths, settle)
        if (wait or not are_copies) and not made.is_sound:
            return super().resident(device, arcs=arcs, weights=weights)
        return made


ENDINGS = {
    **{".gr": "dimacs", ".mtx": "matrix-market", ".tar": "matrix-market"},
    **{".pbf": "osm-pbf", ".osm": "osm-xml"},
    **dict.fromkeys((".csv", ".tsv", ".parquet", ".arrow", ".feather"), "table"),
    **{".npz": "npz", ".metis": "metis", ".sg": "gap", ".wsg": "gap", ".graphml": "graphml"},
    **{".heapsnapshot": "heapsnapshot", ".hprof": "hprof"},
}

VALUES_OF = {"edge-list": "its third column", "matrix-market": "the value of each entry"}
"""What becomes weights only if it is asked for, by format."""


def format_of(file: Path) -> str | None:
    """Return the format that the name of a file tells, if it does."""
    return next((known for end, known in ENDINGS.items() if end in file.suffixes), None)


def file_formats() -> list[str]:
    """Return the formats of files that hold a graph."""
    return [name for name, form in all_formats().items() if form.needs == "file" and not form.batch]


def read_file(file: Path, format: str | None, parameters: Mapping[str, Any]) -> Graph:
    """Read a graph as :meth:`Graph.from_file`, which also says what the caller may have meant."""
    from relaxometer.datasets.build import made_graph
    from relaxometer.datasets.registry import Dataset

    if file.is_dir():
        raise UserError(f"{file}: is a folder; expected a file")
    kind, known = format or format_of(file), file_formats()
    if kind not in known:
        names = f"known: {', '.join(known)}"
        if kind:
            raise UserError(f"{file}: unknown format {quoted(kind)}{suggestion(kind, known, names)}")
        raise UserError(f"{file}: name the format, as in from_file(path, format='edge-list'); {names}")
    try:
        file.open("rb").close()
    except OSError as error:
        raise UserError(f"{file}: not readable ({error.strerror})") from None
    entry = {"format": kind, "path": str(file), "license": "unknown", "parameters": parameters}
    try:
        dataset: Dataset[Any] = validated(Dataset, entry, str(file))
        return Graph._with_ids(made_graph(file.name.split(".")[0], dataset, [file]))
    except ModuleNotFoundError as error:
        lack = f"the format {kind} needs the package {error.name}"
        raise UserError(f"{file}: {lack}; pip install '.[data]' brings all") from None


def unused_values(file: str | Path, graph: Graph) -> str | None:
    """Say which values of a graph's file are not used, if there are any."""
    if "values_in_file" not in graph.csr.metadata:
        return None
    return f"{file}: {VALUES_OF[graph.csr.metadata['format']]} is not used, and every weight is 1"


def _adopted(array: Any) -> Any:
    """Return an array as NumPy's, or as CuPy's if it is on a GPU, without a copy."""
    if array is None or isinstance(array, np.ndarray):
        return array
    is_cuda = hasattr(array, "__cuda_array_interface__")
    if is_cuda or (hasattr(array, "__dlpack__") and array.__dlpack_device__()[0] == DLPACK_CUDA):
        import cupy

        return cupy.asarray(array) if is_cuda else cupy.from_dlpack(array)
    return np.from_dlpack(array) if hasattr(array, "__dlpack__") else np.asarray(array)


def on_host(array: Any) -> Any:
    """Return an array in host memory as NumPy's."""
    array = _adopted(array)
    return array if array is None or isinstance(array, np.ndarray) else array.get()


def _check_offsets(offsets: npt.NDArray[np.int64], n_arcs: int) -> None:
    if offsets[0] != 0 or offsets[-1] != n_arcs:
        raise UserError(f"offsets: expected to begin with 0 and end with {n_arcs}")
    if len(descents := np.flatnonzero(offsets[1:] < offsets[:-1])):
        raise UserError(f"offsets: descend after element {descents[0]}")


def _check_targets(heads: npt.NDArray[Any], n_vertices: int) -> None:
    if heads.size and not (heads.min() >= 0 and heads.max() < n_vertices):
        worst = int(np.argmax((heads < 0) | (heads >= n_vertices)))
        raise UserError(f"targets: element {worst} is {heads[worst]}; expected 0 to {n_vertices - 1}")


def _narrowed(heads: Any, n_vertices: int) -> tuple[Any, bool]:
    """Return targets as uint32, device array, and False if one was cut and is out of range."""
    if heads.dtype.itemsize == 4 and n_vertices <= MOST_OF_INT32:
        return heads.view(np.uint32), True
    wide = heads.astype(np.int64, copy=False)
    in_range = wide.size == 0 or (bool(wide.min() >= 0) and bool(wide.max() < n_vertices))
    return wide.astype(np.uint32), in_range


def _weight_type(weights: Any) -> str:
    name: str = weights.dtype.name
    if name in LENGTHS:
        return name
    if weights.size and weights.dtype.kind not in "iuf":
        raise UserError(f"weights: type {weights.dtype}; expected integers or floats")
    is_negative = weights.dtype.kind == "i" and bool((weights < 0).any())
    return "int32" if is_negative else {"f": "float64"}.get(weights.dtype.kind, "uint32")


def _lengths_of(kind: str, distances: str | None) -> Lengths:
    if distances is None:
        return LENGTHS[kind]
    if f"{kind}/{distances}" not in LENGTHS:
        raise UserError(
            f"distances: {quoted(distances)} for weights of type {kind}; expected uint64 for uint32"
        )
    return LENGTHS[f"{kind}/{distances}"]


def _ascends(csr: graphs.Graph) -> bool:
    if csr.n_arcs < 2:
        return True
    is_descent = csr.targets[1:] < csr.targets[:-1]
    starts = csr.offsets[1:-1]
    is_descent[starts[(starts > 0) & (starts < csr.n_arcs)] - 1] = False
    return not is_descent.any()
