"""Batches of small flow graphs, each with an entry vertex, in flat arrays and as Parquet."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.errors import UserError
from relaxometer.core.files import write_json, write_table
from relaxometer.graphs.files import REBUILD, read_columns, read_metadata
from relaxometer.graphs.graph import OFFSETS, Csr, Ids, Ints, offsets_of

Arcs = tuple[str, int, npt.ArrayLike, npt.ArrayLike, int]
"""A graph as it comes from a reader: name, number of vertices, tails, heads, entry."""

QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.99)

SIZE_LIMITS = (32, 64, 1024)
"""Sizes of graphs that fit a warp, a 64-bit word and a block of threads."""


GRAPHS = {
    "name": pa.string(),
    **dict.fromkeys(("first_vertex", "vertices", "first_arc", "arcs"), pa.int64()),
    "entry": pa.uint32(),
}
"""Types of the columns of ``graphs.parquet``."""


@dataclass(frozen=True, eq=False)
class FlowGraph(Csr):
    """One directed graph with an entry vertex; as in :class:`Csr`, with heads ascending within a vertex."""

    name: str
    entry: int
    offsets: Ints
    targets: Ids


@dataclass(frozen=True, eq=False)
class Batch(Csr):
    """Many small directed graphs, each with an entry that reaches all of its vertices.

    Vertices have ids within their graph, in reverse post-order of a depth-first search from the entry. The
    entry is 0, and every other vertex has a predecessor with a smaller id.
    """

    name: str
    names: npt.NDArray[np.object_]  # of the graphs, as str
    first_vertex: Ints  # graph g has the rows first_vertex[g] to first_vertex[g + 1] - 1 of `offsets`
    entries: Ids  # id of each graph's entry within the graph
    offsets: Ints  # where the arcs of a vertex begin in `targets`, and their number
    targets: Ids  # heads by their id within the graph, ascending within a vertex
    metadata: dict[str, Any] = field(default_factory=dict)
    """Content of ``batch.json`` other than counts: origin, licence, generator."""

    def __len__(self) -> int:
        """Return the number of graphs."""
        return len(self.names)

    def __getitem__(self, index: int) -> FlowGraph:
        """Return one graph; its targets are a view."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"graph {index} of a batch of {len(self)}")
        index %= len(self)
        first, last = self.first_vertex[index], self.first_vertex[index + 1]
        offsets = self.offsets[first : last + 1]
        targets = self.targets[offsets[0] : offsets[-1]]
        return FlowGraph(self.names[index], int(self.entries[index]), offsets - offsets[0], targets)

    def __iter__(self) -> Iterator[FlowGraph]:
        """Yield the graphs in order."""
        return (self[index] for index in range(len(self)))

    @property
    def sizes(self) -> Ints:
        """Number of vertices of every graph, shape (n_graphs,), int64."""
        return np.diff(self.first_vertex)

    @property
    def first_arc(self) -> Ints:
        """First arc of every graph, and the end, shape (n_graphs + 1,), int64."""
        return self.offsets[self.first_vertex]

    @classmethod
    def from_graphs(
        cls, name: str, graphs: Sequence[Arcs], *, metadata: dict[str, Any] | None = None
    ) -> Batch:
        """Build a batch from lists of arcs in any order; vertices of a graph are counted from 0.

        Vertices that the entry does not reach are dropped; the others are numbered in reverse post-order.
        Parallel arcs are merged; self-loops stay. UserError if an entry or an end of an arc is not a vertex
        of its graph.
        """
        names = np.array([graph[0] for graph in graphs], dtype=object)
        from relaxometer.graphs.post_order import reverse_post_order  # loads Numba

        sizes = np.array([graph[1] for graph in graphs], dtype=np.int64)
        tails, graph_of_arc = _joined([graph[2] for graph in graphs])
        heads, _ = _joined([graph[3] for graph in graphs])
        entries = np.array([graph[4] for graph in graphs], dtype=np.int64)
        _check_ids(names, sizes, np.arange(len(graphs)), entries, "entry")
        _check_ids(names, sizes, graph_of_arc, tails, "tail of an arc")
        _check_ids(names, sizes, graph_of_arc, heads, "head of an arc")
        first = offsets_of(sizes)
        offsets, targets = _csr(int(first[-1]), first[graph_of_arc] + tails, heads)
        rank = reverse_post_order(first, entries, offsets, targets)
        first, offsets, targets = _renumbered(first, offsets, targets, rank)
        new_entries = np.zeros(len(graphs), dtype=np.uint32)
        return cls(name, names, first, new_entries, offsets, targets, dict(metadata or {}))

    def select(self, graphs: npt.NDArray[np.bool_]) -> Batch:
        """Return the batch of the graphs that are marked in a mask of shape (n_graphs,), in their order."""
        vertices = np.repeat(graphs, self.sizes)
        arcs = np.repeat(graphs, np.diff(self.first_arc))
        return Batch(
            self.name,
            self.names[graphs],
            offsets_of(self.sizes[graphs]),
            self.entries[graphs],
            offsets_of(self.degrees[vertices]),
            self.targets[arcs],
            self.metadata,
        )


def _renumbered(first: Ints, offsets: Ints, targets: Ids, rank: Ints) -> tuple[Ints, Ints, Ids]:
    """Return first vertices, offsets and targets with each vertex at its rank; -1 drops a vertex."""
    n_graphs = len(first) - 1
    graph_of_vertex = np.repeat(np.arange(n_graphs), np.diff(first))
    new_first = offsets_of(np.bincount(graph_of_vertex[rank >= 0], minlength=n_graphs))
    tail_of_arc = np.repeat(np.arange(len(rank)), np.diff(offsets))
    # The head of an arc from a reached vertex is reached, so an arc stays if its tail does.
    stay = rank[tail_of_arc] >= 0
    tails = tail_of_arc[stay]
    graph_of_arc = graph_of_vertex[tails]
    heads = rank[first[graph_of_arc] + targets[stay]]
    return new_first, *_csr(int(new_first[-1]), new_first[graph_of_arc] + rank[tails], heads)


def _joined(lists: Sequence[npt.ArrayLike]) -> tuple[Ints, Ints]:
    """Concatenate the lists; return the result and, for each element, the number of its list."""
    arrays = [np.asarray(values, dtype=np.int64) for values in lists]
    lengths = [len(array) for array in arrays]
    joined = np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64)
    return joined, np.repeat(np.arange(len(lists)), lengths)


def _check_ids(names: npt.NDArray[np.object_], sizes: Ints, graphs: Ints, ids: Ints, what: str) -> None:
    """Refuse an id that is not a vertex of its graph."""
    wrong = np.flatnonzero((ids < 0) | (ids >= sizes[graphs]))
    if len(wrong):
        graph, vertex = graphs[wrong[0]], ids[wrong[0]]
        raise UserError(f"graph {names[graph]}: {what} is {vertex}, not one of its {sizes[graph]} vertices")


def _csr(n_vertices: int, tails: Ints, heads: Ints) -> tuple[Ints, Ids]:
    """Return offsets and targets without parallel arcs; tails count in the batch, heads within a graph."""
    ends = tails.astype(np.uint32), heads.astype(np.uint32)
    from relaxometer.graphs.csr import csr_of_arcs  # loads Numba

    offsets, targets, _ = csr_of_arcs(n_vertices, *ends, np.zeros_like(ends[0]), keep_self_loops=True)
    return offsets, targets


def write_batch(batch: Batch, folder: Path) -> None:
    """Write ``graphs.parquet``, ``vertices.parquet``, ``arcs.parquet`` and ``batch.json`` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    graphs = {"name": pa.array(batch.names, pa.string()), **_graph_columns(batch)}
    write_table(pa.table(graphs), folder / "graphs.parquet")
    write_table(pa.table({"offset": batch.offsets[:-1]}), folder / "vertices.parquet")
    write_table(pa.table({"target": batch.targets}), folder / "arcs.parquet")
    write_json(describe(batch), folder / "batch.json")


def _graph_columns(batch: Batch) -> dict[str, np.ndarray]:
    """Return the columns of ``graphs.parquet``; with counts, one row describes a graph completely."""
    return {
        "first_vertex": batch.first_vertex[:-1],
        "vertices": batch.sizes,
        "first_arc": batch.first_arc[:-1],
        "arcs": np.diff(batch.first_arc),
        "entry": batch.entries,
    }


def read_batch(folder: Path) -> Batch:
    """Read what :func:`write_batch` wrote.

    UserError if a file is missing or damaged, or the columns differ from those written.
    """
    description = folder / "batch.json"
    metadata = read_metadata(description, ("name", "graphs", "vertices", "arcs", "content_sha256"))
    graphs = read_columns(folder / "graphs.parquet", GRAPHS, description, metadata["graphs"])
    vertices = read_columns(folder / "vertices.parquet", OFFSETS, description, metadata["vertices"])
    arcs = read_columns(folder / "arcs.parquet", {"target": pa.uint32()}, description, metadata["arcs"])
    batch = Batch(
        metadata["name"],
        graphs["name"],
        np.append(graphs["first_vertex"], np.int64(len(vertices["offset"]))),
        graphs["entry"],
        np.append(vertices["offset"], np.int64(len(arcs["target"]))),
        arcs["target"],
        metadata,
    )
    # Derived columns are compared last: they need an intact batch.
    if content_hash(batch) != metadata["content_sha256"] or not all(
        np.array_equal(column, graphs[name]) for name, column in _graph_columns(batch).items()
    ):
        raise UserError(
            f"{folder}: the batch is not the one that was written (not what batch.json says); {REBUILD}"
        )
    return batch


def content_hash(batch: Batch) -> str:
    """Return the SHA-256 of names and columns: graphs, entries, offsets, targets as little-endian bytes."""
    digest = hashlib.sha256("\0".join(map(str, batch.names)).encode())
    for array in (batch.first_vertex, batch.entries, batch.offsets, batch.targets):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def describe(batch: Batch) -> dict[str, Any]:
    """Return the metadata of `batch` with its counts, sizes and degrees filled in."""
    sizes = batch.sizes
    shares = {str(limit): float(np.mean(sizes <= limit)) if len(sizes) else 0.0 for limit in SIZE_LIMITS}
    return {
        **batch.metadata,
        "name": batch.name,
        "graphs": len(batch),
        "vertices": batch.n_vertices,
        "arcs": batch.n_arcs,
        "sizes": {**_distribution(sizes), "share_at_most": shares},
        "degrees": _distribution(batch.degrees),
        "content_sha256": content_hash(batch),
    }


def _distribution(values: Ints) -> dict[str, Any]:
    """Return minimum, mean, quantiles and maximum."""
    if not len(values):
        return {"min": 0, "mean": 0.0, "quantiles": {}, "max": 0}
    # With "lower", every quantile is a value that occurs.
    found = np.quantile(values, QUANTILES, method="lower")
    return {
        "min": int(values.min()),
        "mean": float(values.mean()),
        "quantiles": {str(q): int(value) for q, value in zip(QUANTILES, found, strict=True)},
        "max": int(values.max()),
    }
