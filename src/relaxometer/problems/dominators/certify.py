"""Certificates of dominators: every answer is proven correct, whatever found it.

An answer is a tree D. Its parents are dominators if every arc v -> w comes from the subtree of the parent of
w (the parent property of Georgiadis and Tarjan); this takes one pass over the arcs. No vertex has a nearer
dominator if witnesses hold: paths that avoid every vertex in between. They depend on the graph and the root,
not on the answer; `_witnesses.py` finds them once for each root and checks them vertex by vertex. Let F be
the tree of a depth-first search, with its numbers.

- The dominators of v are ancestors of v in F.
- If the parent of v in D is its semidominator s, the path of s avoids all vertices between s and v.
- Otherwise let y be a vertex between s and v on their path in F with the same parent in D as v, already
  proven. No vertex below that parent, down to and including s, dominates y. So none dominates v, which is
  below y; and the path of s avoids the rest.

Both hold for the dominator tree (Lengauer and Tarjan, theorems 2 to 4), so no right answer is refused.

Georgiadis and Tarjan construct a low-high order from each tree instead; witnesses serve every answer. They
take O(m log n) on the CPU once for each root; an answer then takes O(n + m), O(n) if it equals the last.

References
----------
Georgiadis and Tarjan, "Dominator Tree Certification and Divergent Spanning Trees", TALG 12, 2016.
Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph", TOPLAS 1, 1979.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems.certificate import Certificate

if TYPE_CHECKING:
    from relaxometer.problems.dominators._flow_graphs import FlowGraphs
    from relaxometer.problems.dominators._witnesses import Witnesses

RULES = {
    "root": "the root is its own immediate dominator",
    "reached": "exactly the vertices reached from the root have an immediate dominator",
    "tree": "immediate dominators are proper ancestors in a search tree, so they lead back to the root",
    "parent": "every arc comes from the subtree of the immediate dominator of its head",
    "immediate": "paths avoid every vertex between a vertex and its immediate dominator",
}
"""The rules of a certificate."""

NONE = np.uint32(2**32 - 1)
VERTICES_KEPT = 2**27
"""Limit on the vertices of all proofs kept for a graph, at 32 bytes per vertex; the oldest go first."""


@dataclass(eq=False)
class _Proof:
    """The witnesses of one root, and the last answer that they proved."""

    witnesses: Witnesses
    proven: npt.NDArray[np.uint32] | None = None


@dataclass(eq=False)
class _Known:
    """Shared by all certifiers of a graph: its arcs in both directions, and a proof for each root."""

    graphs: FlowGraphs
    proofs: dict[int | None, _Proof] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: ResidentGraph | ResidentBatch) -> _Known:
        # Imported here so that Numba is loaded only where answers are checked.
        from relaxometer.problems.dominators._flow_graphs import FlowGraphs

        if graph.host not in _KNOWN:
            _KNOWN[graph.host] = cls(FlowGraphs.of(graph, from_arcs=True))
        return _KNOWN[graph.host]

    def proof(self, root: int | None) -> _Proof:
        from relaxometer.problems.dominators._witnesses import Witnesses

        if root not in self.proofs:
            n = self.graphs.n_vertices
            while self.proofs and (len(self.proofs) + 1) * n > VERTICES_KEPT:
                del self.proofs[next(iter(self.proofs))]
            self.proofs[root] = _Proof(Witnesses.of(self.graphs.rooted_at(root)))
        return self.proofs[root]


_KNOWN: WeakKeyDictionary[Graph | Batch, _Known] = WeakKeyDictionary()
"""By graph in host memory; its arrays do not change."""


class DominatorsCertifier:
    """Checks immediate dominators on one resident graph, or on all graphs of a batch."""

    def __init__(self, graph: ResidentGraph | ResidentBatch) -> None:
        self._device = graph.device
        self._known = _Known.of(graph)
        first = self._known.graphs.first_vertex
        self._start = np.repeat(first[:-1], np.diff(first)).astype(np.uint32)

    def find_witnesses(self, roots: Iterable[int | None]) -> None:
        """Find the witnesses of some roots now, for all certifiers of the graph, also in forked processes."""
        for root in roots:
            self._known.proof(root)

    def check(self, root: int | None, idom: DeviceArray) -> Certificate:
        """Check one answer, as in :class:`relaxometer.problems.dominators.Answer`.

        A batch has no root, and its vertices are named by their row in it.
        """
        answer = np.asarray(self._device.asnumpy(idom))
        proof = self._known.proof(root)
        if proof.proven is not None and np.array_equal(answer, proof.proven):
            return Certificate(dict.fromkeys(RULES, 0), {})
        broken = self._broken_rules(root, proof.witnesses, answer)
        counts = {rule: int(vertices.sum()) for rule, vertices in broken.items()}
        first = {rule: int(broken[rule].argmax()) for rule, count in counts.items() if count}
        certificate = Certificate(counts, first)
        if certificate.holds:
            proof.proven = answer.copy()
        return certificate

    def _broken_rules(
        self, root: int | None, found: Witnesses, idom: npt.NDArray[np.uint32]
    ) -> dict[str, npt.NDArray[np.bool_]]:
        """Return for each rule a mask of the vertices that break it."""
        from relaxometer.problems.dominators._witnesses import arcs_past_dominators, tree_of

        graphs = self._known.graphs.rooted_at(root)
        n, start = len(idom), self._start
        reached = found.number != NONE
        is_root = np.zeros(n, dtype=bool)
        is_root[graphs.first_vertex[:-1] + graphs.roots] = True

        # The answer by number. Vertices that break the rule `tree` become their own parents.
        size = np.repeat(np.diff(graphs.first_vertex), np.diff(graphs.first_vertex))
        inside = idom < size
        above = found.number[start + np.where(inside, idom, 0)]
        own = np.where(reached, found.number, 0)
        inside &= reached & (above != NONE)
        is_below = inside & (above < own) & (own <= found.last[np.where(inside, above, 0)])
        parent = np.full(n, NONE, dtype=np.uint32)
        parent[own[reached]] = np.where(is_below & ~is_root, above, own)[reached]
        tree = tree_of(parent)

        v = found.vertex != NONE
        has_relative = found.relative != NONE
        relative = np.where(has_relative, found.relative, 0)
        proven = (parent == found.semi) | (has_relative & (parent[relative] == parent))
        nearest = np.ones(n, dtype=bool)
        nearest[found.vertex[v]] = proven[v]
        return {
            "root": is_root & (idom != np.where(is_root, np.arange(n) - start, 0)),
            "reached": reached == (idom == NONE),
            "tree": reached & (idom != NONE) & ~is_root & ~is_below,
            "parent": arcs_past_dominators(start, graphs.into, found.number, tree),
            "immediate": is_below & ~is_root & ~nearest,
        }
