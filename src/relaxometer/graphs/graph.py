"""Graphs in compressed sparse row (CSR) form, in memory and as Parquet."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.files import write_json, write_table
from relaxometer.graphs.files import REBUILD, check_columns, parquet, read_columns, read_metadata
from relaxometer.graphs.lengths import LENGTHS, Lengths, deviation_of, lengths_for, mean_weight, of_graph

if TYPE_CHECKING:
    import scipy.sparse as sp

Ints = npt.NDArray[np.int64]
Ids = npt.NDArray[np.uint32]

UNREACHED = np.uint32(2**32 - 1)
"""Distance or level of a vertex that is not reached."""

NO_PREDECESSOR = np.uint32(2**32 - 1)
"""Predecessor of a vertex that is not reached; a source is its own predecessor."""

MAX_WEIGHT = 2**32 - 2
"""Largest weight: one less than `UNREACHED`."""

OFFSETS = {"offset": pa.int64()}
ARCS = {"target": pa.uint32()}
EXTRAS = {"lon": pa.float64(), "lat": pa.float64(), "input_degree": pa.uint32()}
"""Types of the columns in the files of a graph, but for ``weight``; those of `EXTRAS` may be left out."""

ID_TYPES = (pa.int64(), pa.uint64(), pa.large_string())
"""Types of the column ``id``, which only graphs with ids of their own have."""

OBJECTS = {
    "object": pa.uint64(),
    "type": pa.dictionary(pa.int8(), pa.string()),
    "name": pa.dictionary(pa.int32(), pa.string()),
    "size": pa.uint64(),
}
"""What is known of the objects of a heap: its id, type and name in the file, and its own size in bytes."""

HASHED_PIECE = 1 << 26
"""Bytes of a column that are hashed in one piece."""


def offsets_of(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the starts of consecutive rows of these lengths, and the end of the last."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


class Csr:
    """Sizes and tails of arcs in compressed sparse rows."""

    offsets: npt.NDArray[np.int64]
    targets: npt.NDArray[np.uint32]

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return len(self.offsets) - 1

    @property
    def n_arcs(self) -> int:
        """Number of directed arcs."""
        return len(self.targets)

    @property
    def is_sound(self) -> bool:
        """Whether offsets ascend from 0 to the number of arcs, and targets are vertices."""
        ends = int(self.offsets[0]) == 0 and int(self.offsets[-1]) == self.n_arcs
        ascending = bool(np.all(self.offsets[1:] >= self.offsets[:-1]))
        return ends and ascending and int(self.targets.max(initial=0)) < max(self.n_vertices, 1)

    @property
    def degrees(self) -> npt.NDArray[np.int64]:
        """Out-degree of every vertex, shape (n_vertices,), int64."""
        return np.diff(self.offsets)

    @property
    def tails(self) -> npt.NDArray[np.uint32]:
        """Row of the tail of every arc, shape (n_arcs,), uint32."""
        return np.repeat(np.arange(self.n_vertices, dtype=np.uint32), self.degrees)


@dataclass(frozen=True, eq=False)
class Graph(Csr):
    """A directed graph in CSR form."""

    name: str
    offsets: npt.NDArray[np.int64]  # the arcs of vertex v are offsets[v] to offsets[v + 1] - 1
    targets: npt.NDArray[np.uint32]  # heads of the arcs, ascending within a vertex
    weights: npt.NDArray[Any]  # of the arcs: uint32, float32, float64 or int32
    lon: npt.NDArray[np.float64] | None = None  # degrees east of each vertex
    lat: npt.NDArray[np.float64] | None = None  # and north
    metadata: dict[str, Any] = field(default_factory=dict)
    """What ``graph.json`` holds: origin, licence, weight unit, generator, counts."""
    input_degrees: npt.NDArray[np.uint32] | None = None
    """How often each vertex occurs in the edge list that the graph was built from: parallel edges count
    individually, self-loops twice. Graph500's rates use them."""
    distance_type: str | None = None  # "uint64" if distances have another type than the weights
    ids: pa.Array | None = None  # what the file calls its vertices; int64, uint64 or large_string
    objects: pa.Table | None = None  # the columns `OBJECTS` of a heap, a row per vertex

    @property
    def lengths(self) -> Lengths:
        """The type of its weights, and of lengths of paths."""
        return lengths_for(self.weights.dtype.name, self.distance_type)

    def find(self, ids: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the numbers of the vertices of these ids, written as texts; -1 for an id of no vertex."""
        import pyarrow.compute as pc

        known = pa.array([], pa.large_string()) if self.ids is None else self.ids.cast(pa.large_string())
        places = pc.index_in(pa.array(ids, pa.large_string()), known)
        numbers: npt.NDArray[np.int64] = places.fill_null(-1).to_numpy().astype(np.int64)
        return numbers

    def to_scipy(self) -> sp.csr_array:
        """Return the weights as a SciPy CSR array of float64; zero weights become explicit entries."""
        import scipy.sparse as sp

        return sp.csr_array(
            (self.weights.astype(np.float64), self.targets.astype(np.int64), self.offsets),
            shape=(self.n_vertices, self.n_vertices),
        )

    @classmethod
    def from_arcs(
        cls,
        name: str,
        n_vertices: int,
        tails: npt.ArrayLike,
        heads: npt.ArrayLike,
        weights: npt.ArrayLike,
        *,
        lon: npt.NDArray[np.float64] | None = None,
        lat: npt.NDArray[np.float64] | None = None,
        undirected: bool = False,
        keep_self_loops: bool = False,
        keep_parallel: bool = False,
        weight_type: str = "uint32",
        metadata: dict[str, Any] | None = None,
        ids: pa.Array | None = None,
    ) -> Graph:
        """Build a graph from a list of arcs in any order.

        Ends, integers, and weights are of shape (n_arcs,). Arcs are sorted by tail, head and weight. By
        default self-loops are dropped and parallel arcs merged to the lightest. If `undirected`, the reverse
        of every arc is added, and the metadata say that the graph is not directed. `weight_type` is a name in
        :data:`relaxometer.graphs.lengths.LENGTHS`; numbers are rounded to floats, integer types take integers
        only. The other arguments are as for the class. UserError if an end is not a vertex of the graph, or
        the type does not hold a weight.
        """
        from relaxometer.graphs.csr import csr_of_arcs  # loads Numba

        lengths = LENGTHS[weight_type]
        words, different = lengths.sorted_words(lengths.checked(weights, name), name)
        arcs = (
            _checked(tails, n_vertices - 1, "tail", name),
            _checked(heads, n_vertices - 1, "head", name),
            words,
        )
        if len({array.shape for array in arcs}) > 1 or words.ndim != 1:
            shapes = ", ".join(str(array.shape) for array in arcs)
            raise UserError(f"{of_graph(name)}tails, heads, weights: shapes {shapes}; expected equal lengths")
        offsets, targets, loads = csr_of_arcs(
            n_vertices,
            *arcs,
            undirected=undirected,
            keep_self_loops=keep_self_loops,
            keep_parallel=keep_parallel,
        )
        facts = {**(metadata or {}), **({"directed": False} if undirected else {})}
        stored = lengths.from_sorted_words(loads, different)
        wide = lengths.distances.name if lengths.has_own_distances else None
        return cls(name, offsets, targets, stored, lon, lat, facts, distance_type=wide, ids=ids)

    def induced(self, vertices: npt.NDArray[np.bool_]) -> Graph:
        """Return the subgraph on the marked vertices, renumbered in their old order.

        It has the metadata of this graph, except ``search_keys``, which are vertices of this graph.
        """
        new_id = np.cumsum(vertices, dtype=np.int64) - 1
        tails = self.tails
        stay = vertices[tails] & vertices[self.targets]
        return Graph.from_arcs(
            self.name,
            int(vertices.sum()),
            new_id[tails[stay]],
            new_id[self.targets[stay]],
            self.weights[stay],
            lon=None if self.lon is None else self.lon[vertices],
            lat=None if self.lat is None else self.lat[vertices],
            keep_self_loops=True,
            keep_parallel=True,
            weight_type=self.lengths.name,
            metadata={key: value for key, value in self.metadata.items() if key != "search_keys"},
            ids=None if self.ids is None else self.ids.filter(pa.array(vertices)),
        )

    def component_labels(self) -> tuple[int, npt.NDArray[np.int32]]:
        """Count the weakly connected components and label every vertex with its own."""
        from relaxometer.graphs.components import component_labels  # loads Numba

        return component_labels(self.offsets, self.targets)

    def largest_component(self) -> Graph:
        """Return the subgraph on the largest weakly connected component."""
        _, labels = self.component_labels()
        return self.induced(labels == np.bincount(labels).argmax())


def _checked(values: npt.ArrayLike, largest: int, what: str, name: str) -> npt.NDArray[np.uint32]:
    """Return `values` as uint32; refuse one out of range."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise UserError(
            f"{of_graph(name)}{what}s are {array.dtype}; integers from 0 to {largest} are expected"
        )
    if array.size and (int(array.min()) < 0 or int(array.max()) > largest):
        worst = int(np.flatnonzero((array < 0) | (array > largest))[0])
        raise UserError(
            f"{of_graph(name)}{what} of arc {worst} is {array[worst]}; "
            f"expected an integer from 0 to {largest}"
        )
    return np.ascontiguousarray(array, dtype=np.uint32)


def write_graph(graph: Graph, folder: Path) -> None:
    """Write ``vertices.parquet``, ``arcs.parquet`` and ``graph.json`` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    columns: dict[str, Any] = {"offset": graph.offsets[:-1]}
    if graph.lon is not None and graph.lat is not None:
        columns |= {"lon": graph.lon, "lat": graph.lat}
    if graph.input_degrees is not None:
        columns["input_degree"] = graph.input_degrees
    if graph.ids is not None:
        columns["id"] = graph.ids
    if graph.objects is not None:
        columns |= dict(zip(OBJECTS, graph.objects.columns, strict=True))
    write_table(pa.table(columns), folder / "vertices.parquet")
    arcs = {"target": graph.targets, "weight": graph.weights}
    write_table(pa.table(arcs), folder / "arcs.parquet", dictionaries=["weight"])
    write_json(describe(graph), folder / "graph.json")


def read_graph(folder: Path) -> Graph:
    """Read what :func:`write_graph` wrote.

    UserError if a file is missing or damaged, or the columns differ from those written.
    """
    description = folder / "graph.json"
    metadata = read_metadata(description, ("name", "vertices", "arcs", "content_sha256"))
    n_vertices, n_arcs = metadata["vertices"], metadata["arcs"]
    vertices = read_columns(folder / "vertices.parquet", OFFSETS, description, n_vertices, EXTRAS)
    lengths = lengths_in(metadata, description)
    of_arcs = {**ARCS, "weight": pa.from_numpy_dtype(lengths.dtype)}
    arcs = read_columns(folder / "arcs.parquet", of_arcs, description, n_arcs)
    graph = Graph(
        metadata["name"],
        np.append(vertices["offset"], np.int64(len(arcs["target"]))),
        arcs["target"],
        arcs["weight"],
        vertices.get("lon"),
        vertices.get("lat"),
        metadata,
        vertices.get("input_degree"),
        lengths.distances.name if lengths.has_own_distances else None,
        read_ids(folder),
        _read_objects(folder),
    )
    if content_hash(graph) != metadata["content_sha256"] or not graph.is_sound:
        raise UserError(
            f"{folder}: the graph is not the one that was written (content_sha256 differs); {REBUILD}"
        )
    return graph


def lengths_in(metadata: Mapping[str, Any], description: Path) -> Lengths:
    """Return the type of weights and distances that the content of a ``graph.json``, `description`, names.

    Without ``weight_type`` it is of a version that had uint32 only; without ``distance_type``, distances have
    the type of the weights.
    """
    weight_type = metadata.get("weight_type", "uint32")
    known = dict.fromkeys(kind.dtype.name for kind in LENGTHS.values())
    if not isinstance(weight_type, str) or weight_type not in known:
        raise UserError(
            f"{description}: weight_type is {quoted(weight_type)}; expected {', '.join(known)}; {REBUILD}"
        )
    distance_type = metadata.get("distance_type", weight_type)
    fitting = [kind.distances.name for kind in LENGTHS.values() if kind.dtype.name == weight_type]
    if distance_type not in fitting:
        raise UserError(
            f"{description}: distance_type is {quoted(distance_type)}; "
            f"expected {' or '.join(fitting)} for weights of type {weight_type}; {REBUILD}"
        )
    return lengths_for(weight_type, distance_type)


def weight_column(metadata: Mapping[str, Any], description: Path) -> dict[str, pa.DataType]:
    """Return name and type of the column of weights in ``arcs.parquet``; parameters as :func:`lengths_in`."""
    return {"weight": pa.from_numpy_dtype(lengths_in(metadata, description).dtype)}


def read_ids(folder: Path) -> pa.Array | None:
    """Return what the file calls the vertices of a graph that :func:`write_graph` wrote; None for numbers.

    UserError if the file is missing or damaged, or the ids have another type than those written.
    """
    path = folder / "vertices.parquet"
    with parquet(path) as file:
        if "id" not in file.schema_arrow.names:
            return None
        ids = file.read(["id"]).column("id").combine_chunks()
    if ids.type not in ID_TYPES or ids.null_count:
        raise UserError(f"{path}: column 'id' is of type {ids.type} or lacks values; {REBUILD}")
    ids.validate(full=True)
    return ids


def _read_objects(folder: Path) -> pa.Table | None:
    """Return the objects of a heap that :func:`write_graph` wrote; None for other graphs."""
    path = folder / "vertices.parquet"
    with parquet(path) as file:
        if "object" not in file.schema_arrow.names:
            return None
        table = file.read(check_columns(path, file, OBJECTS)).unify_dictionaries().combine_chunks()
    table.validate(full=True)
    return table


def read_degrees(folder: Path) -> npt.NDArray[np.int64]:
    """Read the out-degree of every vertex of a graph, without its arcs; UserError if a file is damaged."""
    description = folder / "graph.json"
    metadata = read_metadata(description, ("vertices", "arcs"))
    vertices = read_columns(folder / "vertices.parquet", OFFSETS, description, metadata["vertices"])
    degrees = np.diff(vertices["offset"], append=np.int64(metadata["arcs"]))
    if np.any(degrees < 0):
        raise UserError(f"{folder / 'vertices.parquet'}: offsets descend; {REBUILD}")
    return degrees


def content_hash(graph: Graph) -> str:
    """Return the SHA-256 of the columns as little-endian bytes.

    They are offsets, targets, weights, and the coordinates, input degrees, ids and objects if present. A
    column of more than 64 MiB is replaced by the SHA-256s of its pieces of 64 MiB, which several cores
    compute. The type of distances follows if it is not that of the weights.
    """
    digest = hashlib.sha256()
    columns = graph.offsets, graph.targets, graph.weights, graph.lon, graph.lat, graph.input_degrees
    objects = () if graph.objects is None else graph.objects.itercolumns()
    of_objects = [part for column in objects for part in _columns_of_ids(_plain(column))]
    for array in (*columns, *_columns_of_ids(graph.ids), *of_objects):
        if array is not None:
            digest.update(_pieces_hashed(np.ascontiguousarray(array).view(np.uint8)))
    if graph.distance_type is not None:
        digest.update(f"distances {graph.distance_type}".encode())
    return digest.hexdigest()


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without its dictionary."""
    is_number = column.type == pa.uint64()
    return (column if is_number else column.cast(pa.large_string())).combine_chunks()


def _columns_of_ids(ids: pa.Array | None) -> list[npt.NDArray[Any]]:
    """Return ids as columns of numbers: strings as their lengths and their bytes."""
    if ids is None:
        return []
    if ids.type != pa.large_string():
        return [ids.to_numpy()]
    _, starts, content = ids.buffers()
    ends = np.frombuffer(starts, np.int64)[ids.offset :][: len(ids) + 1]
    return [np.diff(ends), np.frombuffer(content or b"", np.uint8)[ends[0] : ends[-1]]]


def _pieces_hashed(content: npt.NDArray[np.uint8]) -> bytes | memoryview:
    """Return the hashes of the pieces of a long column; return a short column as it is."""
    if len(content) <= HASHED_PIECE:
        return content.data
    pieces = [content[start : start + HASHED_PIECE] for start in range(0, len(content), HASHED_PIECE)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return b"".join(pool.map(lambda piece: hashlib.sha256(piece).digest(), pieces))


def describe(graph: Graph) -> dict[str, Any]:
    """Return the metadata of `graph` with its counts, weights and components filled in."""
    degrees = graph.degrees
    count, labels = graph.component_labels()
    sizes = np.sort(np.bincount(labels))[::-1]
    weights = graph.weights
    return {
        **graph.metadata,
        "name": graph.name,
        "vertices": graph.n_vertices,
        "arcs": graph.n_arcs,
        "mean_degree": graph.n_arcs / max(graph.n_vertices, 1),
        "max_degree": int(degrees.max(initial=0)),
        "share_above_degree_32": float((degrees > 32).mean()) if len(degrees) else 0.0,
        "share_above_degree_512": float((degrees > 512).mean()) if len(degrees) else 0.0,
        "mean_weight": mean_weight(weights),
        "sd_weight": deviation_of(weights),
        "weight_type": graph.lengths.dtype.name,
        "distance_type": graph.lengths.distances.name,
        "min_weight": weights.min().item() if len(weights) else 0,
        "max_weight": weights.max().item() if len(weights) else 0,
        "components": count,
        "component_sizes": [int(size) for size in sizes[:10]],
        "content_sha256": content_hash(graph),
    }
