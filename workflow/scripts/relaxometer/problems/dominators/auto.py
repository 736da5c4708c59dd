"""The variant that suits a graph or a batch, on CPU or GPU, chosen by its features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems import variants
from relaxometer.problems.dominators import Answer, batch_warp, iterative_tree
from relaxometer.problems.dominators.biconnected import biconnected
from relaxometer.problems.phases import Phase
from relaxometer.problems.variants import Skipped

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

SMALL_GRAPH = 2048
"""A CPU core solves graphs of at most this many vertices before a GPU kernel would start."""

SMALL_BATCH = 512
"""The same for all graphs of a batch, compared with a replayed launch."""


class Parameters(variants.Parameters):
    """No parameters."""


class Solver:
    """Dominators by the variant that suits the graph; only that one is prepared, and none is tried.

    Graphs and batches of few vertices go to `cooper-harvey-kennedy` on one CPU core, other batches to
    `batch-warp`, replayed. Other graphs go to `biconnected` if all their arcs lead both ways, else to
    `iterative-tree`.
    """

    runs_on: ClassVar[Literal["device"]] = "device"
    takes: ClassVar[Literal["either"]] = "either"

    def __init__(self, graph: ResidentGraph | ResidentBatch, parameters: Parameters) -> None:
        self._chosen, self._because, self._solver = _of_batch(graph) if _is_batch(graph) else _of_graph(graph)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the chosen variant, the reason, and the variant's parameters."""
        return {"chosen": self._chosen, "because": self._because} | self._solver.resolved

    def solve(self, root: int | None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the immediate dominators; see :class:`relaxometer.problems.problem.Solver`."""
        answer: Answer = self._solver.solve(root, phases)
        return answer


def _is_batch(graph: Any) -> bool:
    return isinstance(graph, ResidentBatch)


def _of_batch(batch: Any) -> tuple[str, str, Any]:
    because = f"{batch.n_vertices:,} vertices in a batch"
    if batch.n_vertices <= SMALL_BATCH:
        return "cooper-harvey-kennedy", because, _on_cpu(batch)
    return "batch-warp", because, batch_warp.Solver(batch, batch_warp.Parameters(replay=True))


def _of_graph(graph: Any) -> tuple[str, str, Any]:
    if graph.n_vertices <= SMALL_GRAPH:
        return "cooper-harvey-kennedy", f"{graph.n_vertices:,} vertices", _on_cpu(graph)
    try:
        solver = biconnected.Solver(graph, biconnected.Parameters())
        one_way = solver.resolved["one_way_arcs"]
        if not one_way:
            return "biconnected", "all arcs lead both ways", solver
        because = f"{one_way:,} arcs lead one way"
    except Skipped as reason:
        because = str(reason)
    return "iterative-tree", because, iterative_tree.Solver(graph, iterative_tree.Parameters())


def _on_cpu(graph: Any) -> Any:
    # Loads Numba.
    from relaxometer.problems.dominators.cpu import cooper_harvey_kennedy

    return cooper_harvey_kennedy.Solver(graph, cooper_harvey_kennedy.Parameters())
