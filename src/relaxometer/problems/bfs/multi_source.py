"""Searches from up to 64 sources at once, with a bit of a word per source."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, PositiveInt

from relaxometer.device.signature import read_source
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.answers import checked_sources
from relaxometer.problems.bfs import UNREACHED, Answer
from relaxometer.problems.bfs._levels import PIECE, filling, kernels, logged_levels
from relaxometer.problems.bfs._multi_source import has_hubs, pieces_of_long_rows, renumber
from relaxometer.problems.bfs._switching import SwitchingParameters
from relaxometer.problems.phases import Phase
from relaxometer.problems.sweeps import Rows, Sweeps, by_place
from relaxometer.problems.variants import SolverBase

SOURCE = read_source(Path(__file__).with_name("multi_source.cu"))
AT_ONCE = SOURCE.constants["SOURCES"]  # sources of one launch
BLOCK = 512  # threads per block of the persistent kernels, as in their launch bounds
PLANES = {True: 8, False: 12}  # bits of a level, with and without hubs, until some search needs more
MOST_PLANES = 28
LEVELS: dict[Any, str] = {np.uint8: "u8", np.uint16: "unsigned short", np.uint32: "u32"}
"""Types of levels side by side: the narrowest that holds a search's levels is taken."""


class Parameters(SwitchingParameters):
    """When the search changes direction, and how the graph is numbered."""

    order: Literal["auto", "degree", "given"] = "auto"
    """Whether vertices are renumbered by descending degree. "auto": if there are hubs."""
    lag: PositiveInt = Field(100, lt=2**32)
    """In a bottom-up level, a source is still expanded top-down if less than 1 / lag of the arcs that enter
    open vertices leave its frontier."""
    sources: PositiveInt = Field(1024)
    """Maximum number of sources of :meth:`Solver.solve_many`; all answers are in memory at once."""


class Solver(SolverBase):
    """BFS from many sources at once, in one cooperative launch per 64 sources, `k` and `at_once`.

    References
    ----------
    Then, Kaufmann, Chirigati, Hoang-Vu, Pham, Kemper, Neumann and Vo, "The More the Merrier: Efficient
    Multi-Source Graph Traversal", PVLDB 8, 2014.
    Liu, Huang and Hu, "iBFS: Concurrent Breadth-First Search on GPUs", SIGMOD 2016.
    """

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        super().__init__(graph, parameters)
        device, xp = graph.device, graph.device.xp
        self.device, self.n_vertices = device, graph.n_vertices
        self.k = self.at_once = AT_ONCE
        self._load_kernels()
        self._order = parameters.order
        if self._order == "auto":
            self._order = "degree" if has_hubs(graph) else "given"
        renumbered = renumber(graph, by_degree=self._order == "degree")
        self._n = n = len(renumbered.original)
        pieces = n + graph.n_arcs // PIECE
        long_rows = pieces_of_long_rows(renumbered.into[0], SOURCE.constants["LONG_ROW"], xp)
        many_arcs, few_vertices = parameters.limits(graph.n_vertices, graph.n_arcs)
        self._search = self._module.struct(
            "Search",
            n=np.uint32(n),
            out=dict(zip(("offsets", "targets"), renumbered.out, strict=True)),
            into=dict(zip(("offsets", "targets"), renumbered.into, strict=True)),
            position=renumbered.position,
            original=renumbered.original,
            long_rows=long_rows,
            n_long=np.uint64(len(long_rows)),
            many_arcs=np.uint64(many_arcs),
            few_vertices=np.uint64(few_vertices),
            n_heavy=np.uint32(_prefix_with_most_arcs(renumbered.into[0], xp)),
            lag=np.uint32(parameters.lag),
            visited=xp.empty(2 * n, dtype=xp.uint64),
            frontiers=xp.empty(3 * n, dtype=xp.uint64),
            lists=xp.empty(3 * pieces, dtype=xp.uint64),
            list_capacity=np.uint64(pieces),
            counts=xp.empty(3 * SOURCE.constants["COUNTS"], dtype=xp.uint64),
        )
        self._position, self._positions = renumbered.position, np.empty(0, dtype=np.uint32)
        self._kind = next(iter(LEVELS))
        self._allocate_planes(PLANES[self._order == "degree"])
        most = max(1, min(-(-graph.n_vertices // BLOCK), 2**31 // BLOCK))
        self._blocks = [min(device.max_cooperative_blocks(one, BLOCK), most) for one in self._searches]
        self.resolved["order"] = self._order

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the levels from one source; an instrumented run first counts them by another search."""
        sources = np.array([source])
        level, predecessor, depth = self._search_part(sources, None, trees=True)
        if phases is not None:
            entry = SOURCE.layout("LevelRecord").dtype
            log = self._graph.device.xp.zeros((depth + 1) * entry.itemsize // 8, dtype=np.uint64)
            level, predecessor, depth = self._search_part(sources, log, trees=True)
            phases += logged_levels(self._graph.device.asnumpy(log).view(entry))
        xp = self._graph.device.xp
        return Answer(Rows([level], 1, xp)[0], Rows([predecessor], 1, xp)[0], depth)

    def solve_many(self, sources: npt.ArrayLike) -> tuple[Rows, Rows]:
        """Find `Rows` of levels and predecessors from sources; ValueError for none or too many."""
        array = checked_sources(sources, self._parameters.sources)
        parts = [self._search_part(part, None, trees=True) for part in _parts(array)]
        xp = self._graph.device.xp
        levels, predecessors = (Rows([part[place] for part in parts], len(array), xp) for place in (0, 1))
        return levels, predecessors

    def find_levels(self, sources: npt.ArrayLike) -> Rows:
        """Find levels only, else like :meth:`solve_many`."""
        array = checked_sources(sources, self._parameters.sources)
        levels = [self._search_part(part, None, trees=False)[0] for part in _parts(array)]
        return Rows(levels, len(array), self._graph.device.xp)

    def position_of(self, vertices: npt.NDArray[np.integer]) -> npt.NDArray[np.uint32]:
        """Return the new numbers of vertices; sources of about equal degree are best searched together."""
        if len(self._positions) == 0:
            self._positions = self.device.asnumpy(self._position)
        return self._positions[vertices]

    def sweep(
        self,
        sources: npt.NDArray[np.integer],
        *,
        labels: Any = True,
        sums: bool = False,
        inverses: bool = False,
    ) -> Sweeps:
        """Like :meth:`relaxometer.problems.sssp.phast.phast_many.Solver.sweep`, always with all sums."""
        device, xp, n = self.device, self.device.xp, self.n_vertices
        parts = _parts(np.asarray(sources))
        at = device.asarray(by_place(sources, len(parts) * AT_ONCE))
        if labels is True:
            labels = xp.empty((len(parts), n, AT_ONCE), dtype=xp.uint32)
        types = xp.uint32, xp.uint32, xp.uint64, xp.uint64
        found = [xp.zeros((len(parts), AT_ONCE), dtype=one) for one in types]
        results = xp.empty((len(parts), 2), dtype=xp.uint32)
        missing: Any = range(len(parts))
        while len(missing):
            for number in missing:  # the device need not wait for the host between them
                result, given = results[number], at[number * AT_ONCE :][: len(parts[number])]
                self._search_levels(given, None, result, None)
                of_part = result, given, np.uint32(len(given)), *(one[number] for one in found)
                self._sum(*self._grids[self._sum], (self._search, np.uint32(n), *of_part))
                if labels is not False:
                    self._write(given, result, None, labels[number])
            missing = np.flatnonzero(device.asnumpy(results)[:, 0] == UNREACHED)
            if len(missing):
                self._add_planes()
        reached, farthest, total, inverse = (one.reshape(len(at)) for one in found)
        return Sweeps(at, reached, farthest, total, inverse, None if labels is False else labels)

    def met_too_long(self, sweeps: Sweeps, n_sources: int) -> bool:
        """Return whether some path of sweeps is too long: none is."""
        return False

    def _search_part(self, sources: npt.NDArray[Any], log: Any, *, trees: bool) -> tuple[Any, Any, int]:
        """Search from at most 64 sources.

        A search that turns out too deep for the planes is repeated with more, which are kept. Returns levels,
        device array of shape (n_vertices, 64), of one of the types of `LEVELS`; predecessors of the same
        shape, uint32, or None; and the number of levels searched from, with the last, empty one.
        """
        device, n = self._graph.device, self._graph.n_vertices
        xp = device.xp
        given = device.asarray(sources.astype(np.uint32))
        predecessor = xp.empty((n, AT_ONCE), dtype=xp.uint32) if trees else None
        result = xp.empty(2, dtype=xp.uint32)

        while True:
            self._search_levels(given, predecessor, result, log)
            # The levels are written before it is known whether they fit, so that the device need not wait.
            level = xp.empty((n, AT_ONCE), dtype=self._kind)
            self._write(given, result, predecessor, level)
            depth = int(device.asnumpy(result)[0])
            if depth != UNREACHED:
                break
            self._add_planes()
        kind = next(kind for kind in LEVELS if depth <= np.iinfo(kind).max)
        if kind != self._kind:
            self._kind = kind
            level = xp.empty((n, AT_ONCE), dtype=kind)
            self._write(given, result, predecessor, level)
        return level, predecessor, depth

    def _search_levels(self, given: Any, predecessor: Any, result: Any, log: Any) -> None:
        """Launch a search for levels, and for predecessors if there is an array for them."""
        if self._search.given["planes"] is None:  # memory was short when more were wanted
            self._allocate_planes(self._planes)
        trees = predecessor is not None
        rows = (predecessor,) if trees else ()
        arguments = self._search, given, np.uint32(len(given)), *rows, result, log
        self._searches[trees](self._blocks[trees], BLOCK, arguments)

    def _write(self, given: Any, result: Any, predecessor: Any, level: Any) -> None:
        """Write the levels of a search, of any of the types; complete predecessors."""
        kind = level.dtype.type
        write = self._writers[kind, predecessor is not None]
        rows = () if predecessor is None else (predecessor,)
        n = np.uint32(self._graph.n_vertices)
        write(*self._grids[write], (self._search, n, result, level, *rows))
        sources = given, np.uint32(len(given))
        self._source_writers[kind](1, AT_ONCE, (*sources, level, predecessor))

    def _add_planes(self) -> None:
        if self._planes == MOST_PLANES:
            raise OverflowError(f"a level is greater than {2**MOST_PLANES - 1}")
        self._allocate_planes(min(self._planes + 4, MOST_PLANES))

    def _allocate_planes(self, count: int) -> None:
        self._search.set(planes=None)  # frees the old ones first
        planes = self._graph.device.xp.empty(count * self._n, dtype=np.uint64)
        self._planes = count
        self._search.set(n_planes=np.uint32(count), planes=planes)

    def _load_kernels(self) -> None:
        device = self._graph.device
        self._module = kernels(device, "multi_source.cu", cooperative=True)
        self._searches = [self._module.get_function(f"search_{what}") for what in ("levels", "trees")]
        templates = ("write_levels", "write_trees", "write_sources")
        names = [f"{template}<{kind}>" for template in templates for kind in LEVELS.values()]
        writers = device.module(SOURCE.path, name_expressions=names)
        self._writers = {
            (kind, trees): writers.get_function(f"{templates[trees]}<{name}>")
            for kind, name in LEVELS.items()
            for trees in (False, True)
        }
        self._sum = writers.get_function("sum_levels")
        self._grids = {one: filling(device, one) for one in (*self._writers.values(), self._sum)}
        self._source_writers = {
            kind: writers.get_function(f"write_sources<{name}>") for kind, name in LEVELS.items()
        }


def _prefix_with_most_arcs(offsets: Any, xp: Any) -> int:
    """Return the number of first vertices that three quarters of the arcs enter."""
    return min(int(xp.searchsorted(offsets, 3 * int(offsets[-1]) // 4)) + 1, len(offsets) - 1)


def _parts(sources: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    return [sources[first : first + AT_ONCE] for first in range(0, len(sources), AT_ONCE)]
