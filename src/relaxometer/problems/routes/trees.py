"""Queries by whole shortest-path trees, one per distinct origin."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, PositiveInt

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.routes import UNREACHED, Answer, ResidentQueries
from relaxometer.problems.sssp.near_far import many_sources
from relaxometer.problems.sssp.phast import phast_many

BLOCK = 128
WARP = 32
SOLVERS = {"many-sources": many_sources, "phast-many": phast_many}


class Parameters(variants.Parameters):
    """Which solver of `sssp` grows the trees, and how many at once."""

    grown_by: Literal["many-sources", "phast-many"] = Field("many-sources")
    """A solver of `sssp`; `phast-many` takes maps only."""
    sources: PositiveInt = 128
    """Trees per call, all of which are in memory at once."""


class Solver:
    """Shortest-path trees from all distinct origins, from which answers are read.

    Raises as the solver of `sssp` does.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._device, self._n, self._parameters = graph.device, graph.n_vertices, parameters
        solver = SOLVERS[parameters.grown_by]
        given = solver.Parameters.model_validate({"sources": parameters.sources})
        self._trees: Any = solver.Solver(graph, given)
        self._module = self._device.module(Path(__file__).with_suffix(".cu"))
        names = ("count_vertices", "write_paths", "sort_paths")
        self._count, self._write, self._sort = map(self._module.get_function, names)
        self.resolved = {**self._trees.resolved, **self._parameters.model_dump()}

    def solve(self, queries: ResidentQueries, phases: list[Phase] | None = None) -> Answer:
        """Answer a set of queries; see :class:`relaxometer.problems.routes.Solver`. It has no phases."""
        xp, host = self._device.xp, queries.host
        origins, row = np.unique(host.origins, return_inverse=True)
        order = np.argsort(row, kind="stable")
        rows, targets = (self._device.asarray(ends[order].astype(np.uint32)) for ends in (row, host.targets))
        firsts = range(0, len(origins), self._parameters.sources)
        bounds = np.searchsorted(row[order], [*firsts, len(origins)]).tolist()
        parts = [
            self._answer(
                origins[first : first + self._parameters.sources],
                rows[begin:end] - xp.uint32(first),
                targets[begin:end],
                queries,
            )
            for first, begin, end in zip(firsts, bounds, bounds[1:], strict=False)
        ]
        columns = zip(*(part.columns.values() for part in parts), strict=True)
        return self._sorted(
            Answer(*map(xp.concatenate, columns)), self._device.asarray(order.astype(np.uint32)), host.paths
        )

    def _answer(self, origins: Any, rows: Any, targets: DeviceArray, queries: ResidentQueries) -> Answer:
        """Grow the trees of some origins, and read the answers to queries, given by tree and target."""
        xp, paths = self._device.xp, queries.host.paths
        # A path too long is longer than any cutoff.
        distances, predecessors, _ = self._trees.solve_many(origins)
        if self._parameters.grown_by == "phast-many":
            k = np.uint32(self._trees.k)
            distance = distances.labels[rows // k, targets, rows % k]
            trees = {"predecessors": predecessors.labels, "plane": np.uint64(self._n * int(k)), "k": k}
        else:
            distance = distances[rows, targets]
            predecessors = xp.ascontiguousarray(predecessors) if paths else None
            trees = {"predecessors": predecessors, "plane": np.uint64(self._n), "k": np.uint32(1)}
        distance = xp.where(distance > xp.uint32(queries.host.cutoff), UNREACHED, distance)
        nothing = xp.empty(0, dtype=xp.uint32)
        if not paths:
            return Answer(distance, nothing, nothing)
        found = {"count": np.uint32(len(rows)), "rows": rows, "targets": targets, "distance": distance}
        size, launch = xp.empty(len(rows), dtype=xp.uint32), (-(-len(rows) // BLOCK), BLOCK)
        self._count(*launch, (trees, found, size))
        ends = xp.cumsum(size, dtype=xp.int64)
        path = xp.empty(int(self._device.item(ends, len(rows) - 1)), dtype=xp.uint32)
        self._write(*launch, (trees, found, size, ends, path))
        return Answer(distance, size, path)

    def _sorted(self, found: Answer, places: Any, paths: bool) -> Answer:
        """Return answers in the order of the queries; `places` has the query of each."""
        xp, count = self._device.xp, len(places)
        distance, size = xp.empty_like(found.distance), xp.empty_like(found.size)
        distance[places] = found.distance
        if not paths:
            return Answer(distance, size, found.path)
        size[places] = found.size
        ends = [xp.cumsum(one, dtype=xp.int64) for one in (found.size, size)]
        path = xp.empty_like(found.path)
        arguments = np.uint32(count), places, found.size, ends[0], found.path, ends[1], path
        self._sort(-(-count // (BLOCK // WARP)), BLOCK, arguments)
        return Answer(distance, size, path)
