"""Maps by a contraction hierarchy: a climb from the source, then one sweep down over all vertices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import UNREACHED, Answer
from relaxometer.problems.variants import Skipped

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph
    from relaxometer.problems.sssp.phast._hierarchy import Hierarchy, Slices

BLOCK = 1024
HOST_BLOCK = 128
"""Threads of a block; on the emulated device fewer, since each one needs a stack of its own."""

SHARED_BYTES = 226 * 1024
"""Shared memory of a block: a task's distances, slices and steps; before, the ancestors of the source."""

TRIANGLE_BYTES = 4 * 32 * 32
"""Of that, what the arcs between the ancestors of a round take."""

LEAST_TASK = 64
"""Vertices below which cutting on is no use."""

MOST_ARCS, MOST_MEAN = 1024, 8.0
"""Arcs of a vertex, and of all in the mean, above which no order is looked for: that would take long."""

PARTS = ("climb", "top", "parts", "predecessors")
"""Of a search, as the kernel notes their ends."""

BOARD_WORDS = 5
OVERFLOW_WORD = 1
"""What the blocks share: `Board` in ``phast.cu``."""


class Parameters(variants.Parameters):
    """How the hierarchy is cut, and when a graph is not like a map.

    Parameters
    ----------
    tasks : int or "auto"
        Parts beside the top, each swept by one block. "auto": one for each multiprocessor, but none of fewer
        than 64 vertices.
    fill : float
        Most arcs of the hierarchy for each edge of the graph. Maps of roads have about 3.
    """

    tasks: PositiveInt | Literal["auto"] = Field("auto")
    fill: PositiveFloat = 16.0


class Solver:
    """SSSP by PHAST on a customizable contraction hierarchy.

    The preparation, an order by nested dissection above all, takes as long as thousands of searches. New
    weights on the same map would need a new customization only, but here all is done for each graph.

    Parameters
    ----------
    graph : ResidentGraph
    parameters : Parameters

    Raises
    ------
    Skipped
        If a vertex has too many arcs for a map, if the hierarchy would have too many, or if a part of it
        would not fit in shared memory.

    References
    ----------
    Delling, Goldberg, Nowatzyk and Werneck, "PHAST: Hardware-Accelerated Shortest Path Trees", Journal of
    Parallel and Distributed Computing 73, 2013.
    Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM Journal of Experimental
    Algorithmics 21, 2016.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        # The partitioner is a library of its own, which nothing else needs.
        from relaxometer.problems.sssp.phast import _hierarchy

        self._graph = graph
        device, host, n = graph.device, graph.host, graph.n_vertices
        most, mean = int(host.degrees.max()), graph.n_arcs / n
        if most > MOST_ARCS or mean > MOST_MEAN:
            raise Skipped(
                f"made for maps of at most {MOST_ARCS} arcs a vertex, {MOST_MEAN:g} in the mean; here {most} "
                f"and {mean:.3g}"
            )
        module = device.module(Path(__file__).with_name("phast.cu"), cooperative=True)
        self._kernel = module.get_function("phast")
        self._threads = BLOCK if device.kind == "cuda" else HOST_BLOCK
        most_blocks = device.max_cooperative_blocks(self._kernel, self._threads, SHARED_BYTES)
        if most_blocks == 0:
            raise Skipped(f"a block of this device has less than {SHARED_BYTES // 1024} KiB of shared memory")
        given = parameters.tasks
        tasks = max(1, min(most_blocks, n // LEAST_TASK)) if given == "auto" else given
        most_vertices = (tasks + 1) * (SHARED_BYTES // 4)
        if n > most_vertices:
            raise Skipped(f"{n} vertices; shared memory holds at most {most_vertices}")
        hierarchy = _hierarchy.build(host, tasks, parameters.fill)
        self._blocks = min(tasks, most_blocks)
        self._shared_bytes, sizes = _layout(hierarchy)
        self._position = np.empty(n, dtype=np.uint32)
        self._position[hierarchy.order] = np.arange(n, dtype=np.uint32)
        self._resolved: dict[str, Any] = {
            "tasks": tasks,
            "top": int(hierarchy.task_begins[1]),
            "arcs": len(hierarchy.up_arcs),
            "levels": int(np.diff(hierarchy.task_steps).max()) // 2,
            "height": int(hierarchy.depth.max(initial=0)),
        }
        self._hierarchy = hierarchy
        self._arguments = *_uploaded(graph, hierarchy), *sizes
        xp = device.xp
        self._path = xp.empty((self._resolved["height"] + 1, 2), dtype=xp.uint32)
        self._top_distance = xp.empty(max(1, self._resolved["top"]), dtype=xp.uint32)
        self._board = xp.empty(BOARD_WORDS, dtype=xp.uint32)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return what the hierarchy is like: parts, vertices of the top, arcs, levels of a part, height."""
        return self._resolved

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`.

        There are no phases; an instrumented run records the parts of the search, in which every arc of the
        hierarchy is relaxed downward once, and the few of the climb upward too. The graph's own arcs, which
        are read for the predecessors, are not counted.
        """
        device, n = self._graph.device, self._graph.n_vertices
        xp = device.xp
        distance, predecessor = (xp.empty(n, dtype=xp.uint32) for _ in range(2))
        position = np.uint32(self._position[source])
        log = None if phases is None else xp.zeros(len(PARTS) + 1, dtype=xp.uint64)
        state = (self._path, self._top_distance, self._board, distance, predecessor, log)
        self._kernel(
            self._blocks, self._threads, (*self._arguments, position, *state), shared_mem=self._shared_bytes
        )
        overflowed = bool(device.item(self._board, OVERFLOW_WORD))
        if phases is not None:
            ended = device.asnumpy(log).astype(np.int64)
            reached = device.asnumpy(distance) != UNREACHED
            phases += self._parts(int(position), reached, np.diff(ended) / 1e6)
        return Answer(distance, predecessor, None, overflowed)

    def _parts(self, position: int, reached: Any, times_ms: Any) -> list[Phase]:
        """Return the parts of a search from a position; `reached` says which vertices are, in their order."""
        hierarchy, top = self._hierarchy, self._resolved["top"]
        path = [position]
        while hierarchy.depth[path[-1]]:
            path.append(int(hierarchy.jumps[0][path[-1]]))
        rows = np.diff(hierarchy.up_offsets)
        of_top, in_top = int(rows[:top].sum()), int(reached[hierarchy.order[:top]].sum())
        n_reached = int(reached.sum())
        updated = (len(path), in_top, n_reached - in_top, n_reached)
        relaxed = (int(rows[path].sum()), of_top, int(rows[top:].sum()), 0)
        return list(map(Phase, PARTS, updated, relaxed, times_ms.tolist()))


def _uploaded(graph: ResidentGraph, hierarchy: Hierarchy) -> tuple[Any, ...]:
    """Return the kernel's arguments from the graph to the hierarchy's jumps."""
    device, host = graph.device, graph.host
    zero = np.flatnonzero(host.weights == 0)
    zero_arcs = np.stack([host.tails[zero], host.targets[zero]], axis=1).astype(np.uint32)
    return (
        *graph.csr,
        device.asarray(zero_arcs) if len(zero) else None,
        np.uint32(len(zero)),
        *map(device.asarray, (hierarchy.order, hierarchy.task_begins, hierarchy.task_steps)),
        np.uint32(len(hierarchy.task_begins) - 1),
        *map(device.asarray, (*_arrays(hierarchy.inside), *_arrays(hierarchy.outside))),
        *map(device.asarray, (hierarchy.up_offsets, hierarchy.up_arcs, hierarchy.depth, hierarchy.jumps)),
    )


def _arrays(slices: Slices) -> tuple[Any, ...]:
    return slices.table, slices.arcs, slices.bounds.astype(np.uint32)


def _layout(hierarchy: Hierarchy) -> tuple[int, tuple[np.uint32, np.uint32]]:
    """Return the bytes of shared memory of a block, and its most slices and rows.

    Raises
    ------
    Skipped
        If there are more than fit.
    """
    rows = int(np.diff(hierarchy.task_begins.astype(np.int64)).max())
    steps = int(np.diff(hierarchy.task_steps.astype(np.int64)).max())
    slices = int(np.diff(hierarchy.inside.bounds[hierarchy.task_steps]).max())
    height = int(hierarchy.depth.max(initial=0)) + 1
    needed = max(8 * slices + 4 * rows + 4 * (steps + 1), TRIANGLE_BYTES + 8 * height)
    if needed > SHARED_BYTES:
        raise Skipped(
            f"made for maps; parts of {rows} vertices and {slices} slices of arcs, in a tree of height "
            f"{height}, take {needed} bytes of shared memory; there are {SHARED_BYTES}"
        )
    return -(-needed // 16) * 16, (np.uint32(slices), np.uint32(rows))
