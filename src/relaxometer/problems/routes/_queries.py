"""Sets of point-to-point queries: how a configuration asks for them, how they are drawn, kept and read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field, model_validator

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.validation import EachOnce, Section
from relaxometer.datasets.readers.text import Column, Line, lines, refuse
from relaxometer.device import Device
from relaxometer.device.arguments import Struct
from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.files import check_columns, parquet, values_of
from relaxometer.graphs.graph import Graph
from relaxometer.problems.queries import QuerySets

Words = npt.NDArray[np.uint32]
MAX_QUERIES = 2**24  # limit of the queries of a set
MAX_CUTOFF = 2**32 - 2  # the largest distance that 32 bits hold, one less than `UNREACHED`
ADVICE = "delete the file, and it is drawn again"
Count = Annotated[int, Field(ge=1, le=MAX_QUERIES)]
Rank = Annotated[int, Field(ge=1, lt=2**32)]
KINDS = (("pairs",), ("origins", "targets"), ("origins", "ranks"), ("file",))
"""The keys that choose pairs; a set has those of one line."""


class Spec(Section):
    """How to choose the queries of a set: by `pairs`, `origins` with `targets` or `ranks`, or `file`."""

    pairs: Count | None = None
    """Number of random pairs, of vertices that have arcs."""
    origins: Count | None = None
    """Number of random origins."""
    targets: Count | None = None
    """Number of random targets: a table, from every origin to every target."""
    ranks: Annotated[list[Rank], Field(min_length=1, max_length=64), EachOnce] | None = None
    """From every origin to the vertices of these Dijkstra ranks: the one that Dijkstra's algorithm settles as
    the 256th after the origin has rank 256. Ranks that an origin does not have are left out."""
    file: Annotated[str, Field(min_length=1)] | None = None
    """A text file with an origin and a target per line, separated by a comma, space or tab: the ids of
    vertices if the graph keeps those of its file, else their numbers, from 0. Empty lines and those that
    begin with `#` are skipped. A file is one set."""
    cutoff: Annotated[int, Field(ge=0, le=MAX_CUTOFF)] = MAX_CUTOFF
    """Longer paths count as no path."""
    paths: bool = False
    """Whether to find paths, vertex by vertex, in addition to distances."""

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Spec:
        keys = ("pairs", "origins", "targets", "ranks", "file")
        given = tuple(name for name in keys if getattr(self, name) is not None)
        if given not in KINDS:
            kinds = ", ".join(" and ".join(kind) for kind in KINDS[:-1])
            raise ValueError(f"one of {kinds}, file is needed; given: {' and '.join(given) or 'none'}")
        size = (self.origins or 1) * (self.targets or len(self.ranks or [0]))
        if size > MAX_QUERIES:
            raise ValueError(f"{size:,} queries; a set has at most {MAX_QUERIES:,}")
        return self


@dataclass(frozen=True, eq=False)
class Queries:
    """A set of point-to-point queries, in host memory."""

    name: str  # the key of the configuration that asks for them
    origins: Words
    targets: Words
    columns: int = 0  # targets of a table: query i is from row i // columns to column i % columns; else 0
    cutoff: int = MAX_CUTOFF  # longer paths count as no path
    paths: bool = False  # whether they are asked for in addition to distances

    def __len__(self) -> int:
        return len(self.origins)

    def rows(self, n_vertices: int) -> dict[str, range]:
        """Return the numbers of rows that each column may have; no path visits a vertex twice."""
        count, listed = len(self), len(self) * self.paths
        size = range(listed, listed + 1)
        return {"distance": range(count, count + 1), "size": size, "path": range(listed * n_vertices + 1)}

    @property
    def arrays(self) -> dict[str, Words]:
        """The arrays that a rival reads."""
        return {"origins": self.origins, "targets": self.targets}

    @property
    def options(self) -> dict[str, int]:
        """Further numbers that a rival reads."""
        return {"columns": self.columns, "cutoff": self.cutoff, "paths": int(self.paths)}

    def upload(self, device: Device) -> ResidentQueries:
        """Copy the queries to a device."""
        return ResidentQueries(device, self, *device.asarrays(self.origins, self.targets))


@dataclass(frozen=True, eq=False)
class ResidentQueries:
    """A set of queries where kernels read them, and in host memory."""

    device: Device
    host: Queries
    origins: Any
    targets: DeviceArray
    packed: dict[str, Struct] = field(default_factory=dict)  # by name, the structs that kernels take

    def __len__(self) -> int:
        return len(self.host)


SETS = pa.schema(
    [
        ("source", pa.int64()),
        ("name", pa.string()),
        ("draw", pa.int32()),
        ("queries", pa.int64()),
        ("columns", pa.int64()),
        ("cutoff", pa.uint32()),
        ("paths", pa.bool_()),
        ("origins", pa.list_(pa.uint32())),
        ("targets", pa.list_(pa.uint32())),
        ("ranks", pa.list_(pa.uint32())),
    ]
)
"""One row per set: its number, its key, which draw of this key it is (-1 if it is not timed), the number of
queries, and their ends. Of a table, ``columns`` is the number of its targets, ``origins`` and ``targets`` are
its rows and columns; else ``columns`` is 0. ``ranks`` are the Dijkstra ranks of the targets, where asked for.
"""


def draw_queries(graph: Graph, specs: Mapping[str, Spec], draws: int, seed: int) -> pa.Table:
    """Draw `draws` query sets per key of `specs`, and one for untimed searches.

    Returns a table of schema `SETS`. Sets that differ in cutoff or paths only have the same pairs. A file is
    one set. UserError if weights are not of type uint32, no vertex has arcs, or a file is missing or names
    something else than pairs of vertices.
    """
    if graph.lengths.name != "uint32":
        raise UserError(
            f"graph {graph.name}: routes takes weights of type uint32, not {graph.lengths.title}; "
            "leave it out of routes.graphs"
        )
    rows: list[dict[str, Any]] = []
    candidates = np.flatnonzero(graph.degrees)
    if not len(candidates):
        raise UserError(f"graph {graph.name}: no vertex has arcs, so no queries can be drawn")
    files = {name: _read_pairs(Path(spec.file), graph) for name, spec in specs.items() if spec.file}
    for draw in (*range(draws), -1):
        for name, spec in specs.items():
            random = np.random.default_rng([seed, draw % (draws + 1)])
            if name not in files:
                found = _drawn(graph, candidates, spec, random)
            elif draw == 0:
                found = files[name]
            elif draw == -1:
                found = _random_pairs(candidates, len(files[name]["origins"]), random)
            else:
                continue
            columns = len(found["targets"]) if spec.targets else 0
            count = len(found["origins"]) * (columns or 1)
            row = {"source": len(rows), "name": name, "draw": draw, "queries": count, "columns": columns}
            rows.append({**row, "cutoff": spec.cutoff, "paths": spec.paths, **found})
    return pa.Table.from_pylist(rows, SETS)


def _drawn(
    graph: Graph, candidates: npt.NDArray[np.int64], spec: Spec, random: np.random.Generator
) -> dict[str, Words]:
    """Return the columns of the ends that a spec asks for."""
    if spec.pairs:
        return _random_pairs(candidates, spec.pairs, random)
    origins = _chosen(candidates, spec.origins or 1, random)
    if spec.targets:
        return {"origins": origins, "targets": _chosen(candidates, spec.targets, random)}
    from relaxometer.problems.routes._balls import vertices_of_ranks  # loads Numba

    ranks = np.unique(np.array(spec.ranks, dtype=np.int64))
    csr = graph.offsets, graph.targets, graph.weights
    found = vertices_of_ranks(*csr, origins, ranks)
    there = found >= 0
    if not there.any():
        raise UserError(
            f"graph {graph.name}: no vertex has rank {ranks[0]} from any of the {len(origins)} origins drawn"
            "; ask for lower ranks"
        )
    place, rank = np.nonzero(there)
    ends = {"origins": origins[place], "targets": found[there].astype(np.uint32)}
    return {**ends, "ranks": ranks[rank].astype(np.uint32)}


def _chosen(candidates: npt.NDArray[np.int64], count: int, random: np.random.Generator) -> Words:
    """Return vertices without repetition, if there are as many."""
    drawn = random.choice(candidates, count, replace=count > len(candidates))
    return drawn.astype(np.uint32)


def _random_pairs(
    candidates: npt.NDArray[np.int64], count: int, random: np.random.Generator
) -> dict[str, Words]:
    origins, targets = candidates[random.integers(len(candidates), size=(2, count))].astype(np.uint32)
    return {"origins": origins, "targets": targets}


def _read_pairs(path: Path, graph: Graph) -> dict[str, Words]:
    """Read a file of pairs; UserError naming the line at fault."""
    last = graph.n_vertices - 1
    ends = Column("origin", 0, last), Column("target", 0, last)
    pairs: list[list[Any]] = []
    found: list[Line] = []
    for line in lines(path, ("#",)):
        where = path, line.number, line.text
        fields = [field.strip() for field in re.split("[,\t]", line.text)]
        fields = line.text.split() if len(fields) == 1 else fields
        if len(fields) != len(ends):
            refuse(*where, f"{len(fields)} field{'s' * (len(fields) != 1)}; expected '<origin>,<target>'")
        if len(pairs) == MAX_QUERIES:
            refuse(*where, f"a set has at most {MAX_QUERIES:,} queries")
        if graph.ids is not None:
            found.append(line)
            pairs.append(fields)
        else:
            pairs.append([end.parse(*where, field) for end, field in zip(ends, fields, strict=True)])
    if not pairs:
        raise UserError(f"{path}: no queries; expected lines '<origin>,<target>'")
    vertices = np.array(pairs)
    if graph.ids is not None:
        vertices = graph.find([end for pair in pairs for end in pair]).reshape(-1, 2)
        if np.any(vertices < 0):
            row, end = np.argwhere(vertices < 0)[0]
            refuse(
                path, found[row].number, found[row].text, f"no vertex has the id {quoted(pairs[row][end])}"
            )
    origins, targets = vertices.astype(np.uint32).T
    return {"origins": origins, "targets": targets}


def read_queries(path: Path, graph: Graph) -> QuerySets:
    """Read the query sets of a graph; UserError if missing, damaged or of vertices that it does not have."""
    with parquet(path, ADVICE) as file:
        check_columns(path, file, {field.name: field.type for field in SETS}, ADVICE)
        table = file.read()
    sets = list(_read_sets(path, table, graph))
    numbers = values_of(path, table, "source", ADVICE).tolist()
    draws = values_of(path, table, "draw", ADVICE).tolist()
    if numbers != [*range(len(sets))]:
        raise UserError(f"{path}: sets are not numbered from 0; {ADVICE}")
    return QuerySets(dict(enumerate(sets)), {k: None if d < 0 else d for k, d in enumerate(draws)})


def _read_sets(path: Path, table: pa.Table, graph: Graph) -> Iterator[Queries]:
    for row in table.to_batches(max_chunksize=1):
        one = {name: row.column(name)[0] for name in SETS.names}
        # Copies may be written: for other arrays, Numba would compile everything once more.
        ends = [np.array(one[side].values) for side in ("origins", "targets")]
        last = max(int(side.max(initial=0)) for side in ends)
        if last >= graph.n_vertices:
            raise UserError(
                f"{path}: vertex {last} is out of range; expected 0 to {graph.n_vertices - 1}; {ADVICE}"
            )
        columns, (rows, cells) = one["columns"].as_py(), map(len, ends)
        if columns:
            ends = [np.repeat(ends[0], cells), np.tile(ends[1], rows)]
        fits = not columns or columns == cells
        if not fits or not len(ends[0]) == len(ends[1]) == one["queries"].as_py():
            raise UserError(f"{path}: a set has another number of queries than it says; {ADVICE}")
        options = {key: one[key].as_py() for key in ("columns", "cutoff", "paths")}
        yield Queries(one["name"].as_py(), ends[0], ends[1], **options)
