"""`trees` for few pairs, `labels` where they fit and the number of pairs pays for them, else `hierarchy`."""

from functools import cached_property
from typing import Any

from pydantic import PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.survey import Features
from relaxometer.problems.choosing import AS_H200, Choosing, Cost, Scale
from relaxometer.problems.routes import hierarchy, labels, trees
from relaxometer.problems.routes._contracted import Contracted, HierarchyParameters, contract

CANDIDATES: dict[str, Any] = {"trees": trees, "labels": labels, "hierarchy": hierarchy}
"""Variants by name."""

PAYS_AFTER = 1_000_000
"""Minimum number of pairs for `labels`.

They prepare as fast as `hierarchy` but need more memory, and their first paths wait for shortcuts: about 4
million paths of New York make up for that (docs/performance/routes.md).
"""


class Parameters(HierarchyParameters):
    """Number of pairs to choose for."""

    searches: PositiveInt = 1_000_000
    """Few pairs go to `trees`, which prepares nothing; fewer than 1 million to `hierarchy`, which needs less
    memory than `labels`."""


class Solver(Choosing):
    """Queries by the variant that is expected to take the least time for the given number of pairs.

    If labels do not fit in memory, `hierarchy` answers, and `trees` if the graph is not a map. The map is
    contracted at most once, and only the chosen variant is prepared. It takes new weights if that variant
    does.
    """

    searches_decide = False

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._parameters = parameters
        super().__init__(graph, parameters.searches, CANDIDATES)

    def _costs(self, features: Features, scale: Scale) -> dict[str, Cost]:
        costs = expected_costs(features, scale)
        if self._searches < PAYS_AFTER:
            del costs["labels"]
        return costs

    @cached_property
    def _contracted(self) -> Contracted:
        return contract(self._graph.host, self._parameters)

    def _made(self, name: str) -> Any:
        if name == "trees":
            return super()._made(name)
        return self._modules[name].Solver(self._graph, self._parameters, self._contracted)


def expected_costs(f: Features, scale: Scale = AS_H200) -> dict[str, Cost]:
    """Return the expected cost of each candidate, in ms; pairs have different origins."""
    n, m, _ = scale.sizes(f)
    contraction = 300 + 1500 * n
    return {
        "trees": Cost(0.5, 0.02 + 0.03 * m),
        "hierarchy": Cost(contraction, 2.6e-5),
        "labels": Cost(contraction, 1.5e-7),
    }
