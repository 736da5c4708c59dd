"""One large graph whose arcs lead both ways: dominators by its biconnected components."""

from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.dominators import Answer
from relaxometer.problems.dominators._predecessors import arc_tails
from relaxometer.problems.dominators.biconnected._biconnected_levels import FromLevels, stage_phases
from relaxometer.problems.phases import Phase
from relaxometer.problems.variants import Skipped

SOURCE = read_source(Path(__file__).with_name("biconnected.cu"))
STAGES = ("connect", "tour", "rank", "place", "extremes", "fences", "join", "answer")
"""As in the kernel; an instrumented run records each."""

THREADS = 512  # threads per block, as in the launch bounds
HUB = 1024  # arcs of a vertex from which "auto" searches breadth-first: graphs with hubs have few levels


class Parameters(variants.Parameters):
    """Where the spanning tree comes from."""

    tree: Literal["auto", "union", "search"] = "auto"
    """"union": any tree, by union-find. "search": a breadth-first tree by `hybrid`, so that few arcs need to
    be examined. "auto": "search" if the graph says that it is undirected and has a vertex of 1,024 arcs. A
    tree of more than 256 levels gives way to "union"."""


class Solver:
    """Immediate dominators by an Euler tour of any spanning tree; no step depends on the graph's depth.

    In an undirected graph, the immediate dominator of a vertex is the vertex nearest to the root of its
    biconnected component. Arcs at the root may lead one way. Skipped if arcs between other vertices lead one
    way.

    References
    ----------
    Tarjan and Vishkin, "An Efficient Parallel Biconnectivity Algorithm", SIAM Journal on Computing 14, 1985.
    Dong, Wang, Gu and Sun, "Provably Fast and Space-Efficient Parallel Biconnectivity", PPoPP 2023.
    """

    runs_on: ClassVar[Literal["device"]] = "device"
    takes: ClassVar[Literal["graph"]] = "graph"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph = graph
        device, n = graph.device, graph.n_vertices
        self._module = module = device.module(SOURCE.path, cooperative=True)
        self._kernel = module.get_function("biconnected")
        wanted = -(-max(2 * n, graph.n_arcs) // THREADS)
        self._blocks = min(device.max_cooperative_blocks(self._kernel, THREADS), wanted)
        tails = arc_tails(graph)
        self._one_way, self._n_one_way = self._count_one_way(module, tails)
        arcs = {"offsets": graph.offsets, "tails": tails, "heads": graph.targets}
        self._packed = module.struct("Graph", n=np.uint32(n), n_arcs=np.uint64(graph.n_arcs), **arcs)
        self._from_levels = FromLevels(graph, self._packed) if self._searches(parameters) else None
        self._work = None if self._from_levels else self._new_work()
        self.resolved = {"tree": "search" if self._from_levels else "union", "one_way_arcs": self._n_one_way}

    def _new_work(self) -> Any:
        """Return the struct ``Work`` of the kernel."""
        xp, n = self._graph.device.xp, self._graph.n_vertices
        arrays = {
            name: xp.empty(n, dtype=np.uint32) for name in ("link", "from", "to", "list", "first", "last")
        }
        tours = {name: xp.empty(2 * n, dtype=np.uint32) for name in ("after", "above", "joined")}
        return self._module.struct(
            "Work",
            **arrays,
            **tours,
            ranks=xp.empty(2 * n, dtype=np.uint64),
            extremes=xp.empty(8 * n, dtype=np.uint32),
            votes=xp.empty(3, dtype=np.uint32),
        )

    def _searches(self, parameters: Parameters) -> bool:
        if parameters.tree != "auto":
            return parameters.tree == "search"
        graph = self._graph
        if graph.metadata.get("directed") is not False or graph.n_arcs == 0:
            return False
        return int((graph.offsets[1:] - graph.offsets[:-1]).max()) >= HUB

    def _count_one_way(self, module: Any, tails: DeviceArray) -> tuple[Any, int]:
        """Return the number of arcs without reverse at every vertex, or None, and of all."""
        graph, xp = self._graph, self._graph.device.xp
        if graph.metadata.get("directed") is False:
            return None, 0
        at, total = xp.zeros(graph.n_vertices, dtype=np.uint32), xp.zeros(1, dtype=np.uint64)
        arcs = np.uint64(graph.n_arcs), graph.offsets, tails, graph.targets
        module.get_function("count_one_way")(self._blocks, THREADS, (*arcs, at, total))
        n_one_way = int(graph.device.item(total))
        if n_one_way and int(at.max()) < n_one_way:
            raise Skipped(f"{n_one_way:,} arcs lead one way, and not all at one vertex")
        return at, n_one_way

    def solve(self, root: int, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators from `root`."""
        device, xp = self._graph.device, self._graph.device.xp
        if self._n_one_way and int(device.item(self._one_way, root)) < self._n_one_way:
            raise Skipped(f"arcs lead one way, and not all at the root {root}")
        answer = self._from_levels.solve(root, phases) if self._from_levels else None
        if answer:
            return answer
        if self._work is None:
            self._work = self._new_work()
        idom = xp.empty(self._graph.n_vertices, dtype=np.uint32)
        times = None if phases is None else xp.zeros(len(STAGES) + 1, dtype=np.uint64)
        self._kernel(self._blocks, THREADS, (self._packed, self._work, np.uint32(root), idom, times))
        if phases is not None:
            phases.extend(stage_phases(self._graph, STAGES, device.asnumpy(times)))
        return Answer(idom, None)
