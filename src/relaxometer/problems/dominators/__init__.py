"""Immediate dominators: one module per variant, its kernels in the ``.cu`` of the same name.

A vertex d dominates v if every path from the root to v passes d. The immediate dominator of v is its nearest
dominator other than v; immediate dominators form the dominator tree.

``problems/problem.py`` defines the interface of variants, and ``problems/variants.py`` finds them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.problems.dominators.certify import RULES, DominatorsCertifier
from relaxometer.problems.problem import Problem, Solver

__all__ = ["NO_DOMINATOR", "PROBLEM", "Answer", "Solver"]
NO_DOMINATOR = np.uint32(2**32 - 1)  # immediate dominator of an unreached vertex; the root is its own
PROBLEM = Problem({"idom": np.uint32}, RULES, DominatorsCertifier, takes_batches=True, proof_reads_arcs=False)


@dataclass(frozen=True)
class Answer:
    """The dominator tree; in a batch, ids are those within the graph."""

    idom: DeviceArray  # uint32; a root is its own, an unreached vertex has `NO_DOMINATOR`
    phases: int | None  # rounds until nothing changed; None without any, and for a batch

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that are stored and proven."""
        return {"idom": self.idom}
