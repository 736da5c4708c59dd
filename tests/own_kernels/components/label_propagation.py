"""Components by propagation of labels on the device."""

from pathlib import Path
from typing import Any

from relaxometer.problems.components import Answer

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase


class Parameters(variants.Parameters):
    """Parameters of the search.

    Parameters
    ----------
    block : int
        Threads per block.
    """

    block: int = 64


class Solver:
    """Connected components, one phase after another until no label changes."""

    runs_on = "device"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        module = graph.device.module(Path(__file__).with_name("label_propagation.cu"))
        self._graph = graph
        self._propagate = module.get_function("propagate")
        self._find_parents = module.get_function("find_parents")
        self._block = parameters.block

    @property
    def resolved(self) -> dict[str, Any]:
        """The parameters in force."""
        return {"block": self._block}

    def solve(self, source: None = None, phases: list[Phase] | None = None) -> Answer:
        """Find the component of every vertex."""
        graph, xp = self._graph, self._graph.device.xp
        n, *arcs, _ = graph.csr
        launch = (-(-graph.n_vertices // self._block), self._block)
        labels = xp.arange(graph.n_vertices, dtype=xp.uint64) << xp.uint64(32)
        changed = xp.ones(1, dtype=xp.uint32)
        count = 0
        while graph.device.item(changed):
            changed.fill(0)
            self._propagate(*launch, (n, *arcs, labels, changed))
            count += 1
            if phases is not None:
                phases.append(Phase("all", graph.n_vertices, graph.n_arcs, 0.0))
        parent = xp.full(graph.n_vertices, 2**32 - 1, dtype=xp.uint32)
        self._find_parents(*launch, (n, *arcs, labels, parent))
        component = (labels >> xp.uint64(32)).astype(xp.uint32)
        depth = (labels & xp.uint64(2**32 - 1)).astype(xp.uint16)
        return Answer(component, parent, depth, count)
