"""SSSP on maps by a contraction hierarchy: climb from the source, then sweep down over all vertices once."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import UNREACHED, Answer, _maps
from relaxometer.problems.sssp._cooperative import threads_per_block
from relaxometer.problems.variants import Skipped

if TYPE_CHECKING:
    from relaxometer.problems.sssp.phast._hierarchy import Hierarchy
    from relaxometer.problems.sssp.phast._placed import Placed

SOURCE = read_source(Path(__file__).with_name("phast.cu"))
BOARD = SOURCE.layout("Board")
TRIANGLE_BYTES = 4 * 32 * 32  # shared memory for the arcs between the ancestors of a round of the climb
MAX_PART = 28_000
"""Vertices of a part on average; those of the largest part and its slices have to fit in shared memory."""

BLOCKS_PER_MIDDLE_TASK = 8  # more middle tasks leave more to the first block, fewer more to each of them


class Parameters(variants.Parameters):
    """How to cut the hierarchy, and which graphs to skip."""

    tasks: PositiveInt | Literal["auto"] = Field("auto")
    """Parts besides the top, each swept by one block. "auto": one per multiprocessor, of at least 64
    vertices, or a multiple of that with at most 28,000 vertices on average."""
    middle: NonNegativeInt | Literal["auto"] = Field("auto")
    """Tasks between the first block's and the parts; 0 leaves all above the parts to the first block. "auto":
    one for eight blocks."""
    fill: PositiveFloat = 16.0
    """Maximum arcs of the hierarchy per edge of the graph. Road maps have about 3."""
    keep_order: bool = False
    """Keep the order of contraction in the cache of compiled kernels, and reuse it for the same map with any
    weights. Then the timed preparation excludes finding the order, except the first time."""


class Solver:
    """SSSP by PHAST on a customizable contraction hierarchy.

    The preparation, mostly nested dissection, takes as long as thousands of searches. New weights on the same
    map only need :meth:`customize`.

    Weights are of type uint32 only. Lengths of type float32 are the least sums rounded arc by arc from the
    source. A shortcut adds up the weights of its path first, which gives another number, and not even an
    upper bound if it is rounded up: 2**24 and a hundred times 1.1 are 2**24 + 200 arc by arc, but 2**24 + 112
    if the small weights are added up first. To add arc by arc takes as many rounds as a path has arcs, which
    the hierarchy is there to avoid. Skipped if a vertex or the hierarchy has too many arcs for a map, or a
    part does not fit in shared memory.

    References
    ----------
    Delling, Goldberg, Nowatzyk and Werneck, "PHAST: Hardware-Accelerated Shortest Path Trees", Journal of
    Parallel and Distributed Computing 73, 2013.
    Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM Journal of Experimental
    Algorithmics 21, 2016.
    """

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        # These load Numba.
        from relaxometer.problems.sssp.phast import _cch, _customize, _hierarchy, _placed, _ranges

        self._graph = graph
        device, host, n = graph.device, graph.host, graph.n_vertices
        _maps.refuse_all_but_maps(host)
        module = device.module(SOURCE.path, cooperative=True)
        kernel = module.get_function("phast")
        threads = threads_per_block(device)
        max_blocks = _maps.max_blocks(device, kernel, threads)
        tasks = _auto_tasks(n, max_blocks) if parameters.tasks == "auto" else parameters.tasks
        max_vertices = (tasks + 1) * (_maps.shared_bytes(device) // 4)
        if n > max_vertices:
            raise Skipped(f"{n} vertices; shared memory holds at most {max_vertices}")
        blocks = min(tasks, max_blocks)
        middle = blocks // BLOCKS_PER_MIDDLE_TASK if parameters.middle == "auto" else parameters.middle
        with _ranges.threads() as pool, ThreadPoolExecutor(2) as background:
            cch = _cch.number(host, parameters.fill, pool, parameters.keep_order)
            plan = background.submit(_customize.schedule, cch, pool)
            cutting = background.submit(_hierarchy.lay_out, cch, tasks, [middle] if middle else [], pool)
            ranks = _placed.upload(device, cch)
            self._graph_members = module.struct("Graph", **_maps.graph_members(graph))
            self._hierarchy = hierarchy = cutting.result()
            self._placed = placed = _placed.place(device, ranks, hierarchy)
            self._customizer = _customize.Customizer(graph, ranks, plan.result(), placed)
        self.resolved: dict[str, Any] = {
            "tasks": tasks,
            "middle": middle,
            "top": hierarchy.top,
            "arcs": len(cch.up),
            "levels": int(np.diff(hierarchy.task_steps).max()) // 2,
            "height": int(hierarchy.depth.max(initial=0)),
        }
        self._tails: Any = None
        self._customizer.customize(graph.weights)
        state = module.struct(
            "State",
            path=device.xp.empty((self.resolved["height"] + 1, 2), dtype=np.uint32),
            top_distance=device.xp.empty(max(1, hierarchy.top), dtype=np.uint32),
            board=None,  # each search has its own
        )
        members = _members(device, hierarchy, placed)
        structs = self._graph_members, module.struct("Hierarchy", **members), state
        self._launch = kernel.bind(
            blocks,
            threads,
            (*structs, placed.inside, placed.outside, np.uint32(0), None, None, None),
            shared_mem=_shared_bytes(hierarchy, _maps.shared_bytes(device)),
        )
        self._arrays = _maps.answers_ahead(graph, self._launch, state, BOARD)

    def customize(self, weights: DeviceArray) -> None:
        """Give the graph's arcs new weights for the next searches; order, hierarchy and layout stay.

        They are from 0 to 2^32 - 2, of type uint32, in the order of the graph's arcs, and copied; the graph
        keeps its own. ValueError if shape, type or a weight does not fit; the weights stay as they were.
        """
        from relaxometer.problems.sssp.phast._customize import checked_weights

        graph, xp = self._graph, self._graph.device.xp
        own = checked_weights(graph, weights)
        zero_arcs = None
        if self._customizer.customize(own):
            if self._tails is None:
                self._tails = graph.device.asarray(graph.host.tails)
            zero = xp.flatnonzero(own == 0)
            zero_arcs = xp.ascontiguousarray(xp.stack([self._tails[zero], graph.targets[zero]], axis=1))
        n_zero_arcs = np.uint32(0 if zero_arcs is None else len(zero_arcs))
        self._graph_members.set(weights=own, zero_arcs=zero_arcs, n_zero_arcs=n_zero_arcs)

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; an instrumented run records the parts of the search.

        These relax every arc of the hierarchy downward once, and those of the climb upward. Arcs of the graph
        that are read for the predecessors are not counted.
        """
        device, found = self._graph.device, self._arrays.take()
        position = self._hierarchy.position[source]
        log = None if phases is None else device.xp.zeros(len(self._hierarchy.stages) + 2, dtype=np.uint64)
        self._launch(source_position=position, log=log)
        self._arrays.prepare()
        if phases is not None:
            ended = device.asnumpy(log).astype(np.int64)
            reached = device.asnumpy(found.distance) != UNREACHED
            phases += self._parts(int(position), reached, np.diff(ended) / 1e6)
        return Answer(found.distance, found.predecessor, None, found.overflow)

    def _parts(self, position: int, reached: Any, times_ms: Any) -> list[Phase]:
        """Return the parts of a search from a position; `reached` is a mask of vertices."""
        hierarchy = self._hierarchy
        cch, path = hierarchy.cch, [int(hierarchy.ranks[position])]
        while cch.parent[path[-1]] >= 0:
            path.append(int(cch.parent[path[-1]]))
        rows = np.diff(cch.offsets)
        begins = hierarchy.task_begins[hierarchy.stages].tolist()
        spans = [hierarchy.ranks[slice(*span)] for span in itertools.pairwise(begins)]
        names = ["climb", "top", *["middle"] * (len(spans) - 2), "parts", "predecessors"]
        updated = (len(path), *(int(reached[cch.order[span]].sum()) for span in spans), int(reached.sum()))
        relaxed = (int(rows[path].sum()), *(int(rows[span].sum()) for span in spans), 0)
        return list(map(Phase, names, updated, relaxed, times_ms.tolist()))


def _members(device: Device, hierarchy: Hierarchy, placed: Placed) -> dict[str, Any]:
    """Return the members of the struct ``Hierarchy``."""
    from relaxometer.problems.sssp.phast._cch import jumps

    def slices(table: Any, bounds: Any) -> dict[str, Any]:
        return {"table": device.asarray(table), "bounds": device.asarray(bounds.astype(np.uint32))}

    arrays = ("stages", "task_begins", "task_steps")
    return {name: device.asarray(getattr(hierarchy, name)) for name in arrays} | {
        "order": placed.order,
        "up_offsets": placed.up_offsets,
        "up_arcs": placed.up_arcs,
        "depth": placed.depth,
        "jumps": jumps(placed.parent, int(hierarchy.depth.max()), device.xp),
        "n_stages": np.uint32(len(hierarchy.stages) - 1),
        "inside": slices(*hierarchy.inside),
        "outside": slices(hierarchy.outside.table, hierarchy.outside.bounds),
    }


def _auto_tasks(n_vertices: int, blocks: int) -> int:
    """Return the number of parts: as many for every block, as few as can be expected to fit."""
    parts = _maps.parts_for(n_vertices, blocks)
    return parts * max(1, -(-n_vertices // (parts * MAX_PART)))


def _shared_bytes(hierarchy: Hierarchy, limit: int) -> int:
    """Return the shared memory of a block, for the climb and then for a task; Skipped if it is too much."""
    steps = np.diff(hierarchy.task_steps.astype(np.int64))
    slices = np.diff(hierarchy.inside.bounds[hierarchy.task_steps])
    rows = np.diff(hierarchy.task_begins.astype(np.int64))
    by_task = 8 * slices + 4 * rows + 4 * (steps + 1)
    largest = int(by_task.argmax())
    height = int(hierarchy.depth.max(initial=0)) + 1
    needed = max(int(by_task[largest]), TRIANGLE_BYTES + 8 * height)
    if needed > limit:
        raise Skipped(
            f"made for maps; parts of {rows[largest]} vertices and {slices[largest]} slices of arcs, in a "
            f"tree of height {height}, take {needed} bytes of shared memory; there are {limit}"
        )
    return -(-needed // 16) * 16
