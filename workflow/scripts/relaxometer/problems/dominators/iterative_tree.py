"""One large graph: vertices move up a tree until it is the dominator tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import PositiveInt

from relaxometer.problems import variants
from relaxometer.problems.dominators import Answer
from relaxometer.problems.dominators._breadth_first import BreadthFirst
from relaxometer.problems.dominators._out_of_core import OutOfCore
from relaxometer.problems.dominators._predecessors import arc_tails
from relaxometer.problems.dominators._rounds import Rounds
from relaxometer.problems.phases import Phase

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph


class Parameters(variants.Parameters):
    """How many arcs the device holds.

    Parameters
    ----------
    resident_arcs : int, optional
        A graph with more arcs is solved out of core: every round streams them from host memory in pieces of
        this many. By default the device holds all arcs.
    """

    resident_arcs: PositiveInt | None = None

    def wants_arcs(self, n_arcs: int) -> bool:
        """Return whether this many arcs are kept on the device."""
        return self.resident_arcs is None or n_arcs <= self.resident_arcs


class Solver:
    """Immediate dominators by intersecting paths in a tree, all arcs at once and in place.

    References
    ----------
    Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", Rice University TR-06-33870, 2001.
    "GPUによる超高速Dominator計算 (1)", Qiita 2025, leaves large and out-of-core graphs open.
    """

    runs_on: ClassVar[Literal["device"]] = "device"
    takes: ClassVar[Literal["graph"]] = "graph"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph, self._parameters = graph, parameters
        limit = parameters.resident_arcs
        self._out_of_core: OutOfCore | None = None
        if limit is not None and not parameters.wants_arcs(graph.n_arcs):
            self._out_of_core = OutOfCore(graph, limit)
        if self._out_of_core is None:
            self._search = BreadthFirst(graph)
            self._rounds = Rounds(graph.device, graph.n_vertices, graph.n_arcs)
            self._arcs = arc_tails(graph), graph.targets
            self._input = InputOrder(graph, self._rounds.lowest_predecessors(self._arcs, graph.n_vertices))

    @property
    def resolved(self) -> dict[str, Any]:
        """The limit in force, whether the graph is out of core, and whether the input order serves root 0."""
        out_of_core = self._out_of_core is not None
        input_order = not out_of_core and self._input.serves
        return {**self._parameters.model_dump(), "out_of_core": out_of_core, "input_order": input_order}

    def solve(self, root: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators from `root`."""
        assert root is not None, "a graph needs a root"
        if self._out_of_core:
            return self._out_of_core.solve(root, phases)
        order = self._input if self._input.serves and root == 0 else self._search
        if order is self._search:
            self._find_order(root, phases)
        parent = order.parent.copy()
        rounds = self._rounds.run(
            self._arcs, (order.reached, order.number, parent), order.longest_chain, phases
        )
        n = self._graph.n_vertices
        return Answer(self._rounds.dominators(n, order.reached, order.order, parent), rounds)

    def _find_order(self, root: int, phases: list[Phase] | None) -> None:
        if phases is None:
            self._search.search(root)
            return
        device = self._graph.device
        with device.timer() as timer:
            self._search.search(root)
        reached = int(device.item(self._search.reached))
        phases.append(Phase("breadth-first", reached, self._graph.n_arcs, timer.ms))


class InputOrder:
    """The order of the input, with the attributes of :class:`BreadthFirst`.

    It serves root 0 if every other vertex has a predecessor with a smaller number. `lowest` holds
    the smallest predecessors.
    """

    def __init__(self, graph: ResidentGraph, lowest: Any) -> None:
        xp, n = graph.device.xp, graph.n_vertices
        self.number = self.order = xp.arange(n, dtype=xp.uint32)
        self.serves = bool((lowest[1:] < self.number[1:]).all())
        self.parent = lowest
        self.parent[:1] = 0
        self.reached = self.longest_chain = xp.full(1, n, dtype=xp.uint32)
