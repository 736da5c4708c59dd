"""Certificates of dominators: every answer is proven right, whatever found it.

An answer is a tree D. That every vertex is dominated by its parent in D follows from one look at every arc:
each arc v -> w must come from below the parent of w (the parent property of Georgiadis and Tarjan). That no
vertex has a nearer dominator follows from witnesses, paths that lead round every vertex between, which
`_witnesses.py` finds once for each root and checks vertex by vertex. They depend on
the graph alone. With the tree F of a depth-first search and its numbers:

- Dominators of v are ancestors of v in F.
- If the parent of v in D is its semidominator s, the path of s goes round all vertices between s and v.
- Else let y be a vertex on the tree path from s to v with the same parent in D as v, and proven before.
  Nothing from below that parent down to s dominates y, so neither does it dominate v, which lies below y; and
  the path of s goes round the rest.

Both hold for the tree of dominators (Lengauer and Tarjan, theorems 2 to 4), so no right answer is refused.

This takes the place of a low-high order, which Georgiadis and Tarjan construct from a given tree and which is
checked likewise: the witnesses need not be constructed anew for each answer. The work for an answer is
O(n + m), on the processor, and O(n) for one that equals an answer proven before. What is known of a graph is
kept for as long as the graph is, whichever variant's answers are checked.

References
----------
Georgiadis and Tarjan, "Dominator Tree Certification and Divergent Spanning Trees", TALG 12, 2016.
Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph", TOPLAS 1, 1979.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from relaxometer.problems.certificate import Certificate

if TYPE_CHECKING:
    from relaxometer.graphs.batch import Batch
    from relaxometer.graphs.graph import Graph
    from relaxometer.graphs.resident import ResidentGraph
    from relaxometer.graphs.resident_batch import ResidentBatch
    from relaxometer.problems.dominators._flow_graphs import FlowGraphs
    from relaxometer.problems.dominators._witnesses import Witnesses

RULES = {
    "root": "the root is its own immediate dominator",
    "reached": "exactly the vertices that a path from the root reaches have an immediate dominator",
    "tree": "immediate dominators are proper ancestors in a search tree, so they lead back to the root",
    "parent": "every arc comes from below the immediate dominator of its head",
    "immediate": "paths lead round every vertex between a vertex and its immediate dominator",
}
"""The rules of a certificate."""

NONE = np.uint32(2**32 - 1)

VERTICES_KEPT = 2**27
"""Proofs are kept for so many roots that their vertices add up to this; each takes 32 bytes."""


@dataclass(eq=False)
class _Proof:
    """The witnesses of one root, and the answer that they have proven, if there was one."""

    witnesses: Witnesses
    proven: npt.NDArray[np.uint32] | None = None


@dataclass(eq=False)
class _Known:
    """What the certificates of a graph have in common: its arcs both ways, and a proof for each root."""

    graphs: FlowGraphs
    proofs: dict[int | None, _Proof] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: ResidentGraph | ResidentBatch) -> _Known:
        """Return what is known of a graph in host memory, or begin with its arcs."""
        # Numba is loaded only where answers are checked.
        from relaxometer.problems.dominators._flow_graphs import FlowGraphs

        if graph.host not in _KNOWN:
            _KNOWN[graph.host] = cls(FlowGraphs.of(graph))
        return _KNOWN[graph.host]

    def proof(self, root: int | None) -> _Proof:
        """Return the proof for a root; the oldest ones make room."""
        from relaxometer.problems.dominators._witnesses import Witnesses

        if root not in self.proofs:
            n = len(self.graphs.offsets) - 1
            while self.proofs and (len(self.proofs) + 1) * n > VERTICES_KEPT:
                del self.proofs[next(iter(self.proofs))]
            self.proofs[root] = _Proof(Witnesses.of(self.graphs.rooted_at(root)))
        return self.proofs[root]


_KNOWN: WeakKeyDictionary[Graph | Batch, _Known] = WeakKeyDictionary()
"""By graph in host memory, whose arrays do not change."""


class DominatorsCertifier:
    """Checks immediate dominators on one resident graph, or on all graphs of a batch.

    Parameters
    ----------
    graph : ResidentGraph or ResidentBatch
    """

    def __init__(self, graph: ResidentGraph | ResidentBatch) -> None:
        self._device = graph.device
        self._known = _Known.of(graph)
        first = self._known.graphs.first_vertex
        self._start = np.repeat(first[:-1], np.diff(first)).astype(np.uint32)

    def check(self, source: int | None, idom: Any) -> Certificate:
        """Check one answer.

        Parameters
        ----------
        source : int or None
            The root; None for a batch.
        idom : device array of shape (n_vertices,), uint32
            As in :class:`relaxometer.problems.dominators.Answer`.

        Returns
        -------
        Certificate
            Counts vertices; those of a batch by their row in it.
        """
        answer = np.asarray(self._device.asnumpy(idom))
        proof = self._known.proof(source)
        if proof.proven is not None and np.array_equal(answer, proof.proven):
            return Certificate(dict.fromkeys(RULES, 0), {})
        broken = self._broken_rules(source, proof.witnesses, answer)
        counts = {rule: int(vertices.sum()) for rule, vertices in broken.items()}
        first = {rule: int(broken[rule].argmax()) for rule, count in counts.items() if count}
        certificate = Certificate(counts, first)
        if certificate.holds:
            proof.proven = answer.copy()
        return certificate

    def _broken_rules(
        self, source: int | None, found: Witnesses, idom: npt.NDArray[np.uint32]
    ) -> dict[str, npt.NDArray[np.bool_]]:
        """Mark for each rule the vertices that break it."""
        from relaxometer.problems.dominators._witnesses import arcs_past_dominators, tree_intervals

        graphs = self._known.graphs.rooted_at(source)
        n, start = len(idom), self._start
        reached = found.number != NONE
        is_root = np.zeros(n, dtype=bool)
        is_root[graphs.first_vertex[:-1] + graphs.entries] = True

        # The answer by numbers of the search; what is no tree hangs on itself and breaks a rule of its own.
        size = np.repeat(np.diff(graphs.first_vertex), np.diff(graphs.first_vertex))
        inside = idom < size
        above = found.number[start + np.where(inside, idom, 0)]
        own = np.where(reached, found.number, 0)
        inside &= reached & (above != NONE)
        is_below = inside & (above < own) & (own <= found.last[np.where(inside, above, 0)])
        parent = np.full(n, NONE, dtype=np.uint32)
        parent[own[reached]] = np.where(is_below & ~is_root, above, own)[reached]
        begin, end = tree_intervals(parent)

        v = found.vertex != NONE
        has_relative = found.relative != NONE
        relative = np.where(has_relative, found.relative, 0)
        proven = (parent == found.semi) | (has_relative & (parent[relative] == parent))
        nearest = np.ones(n, dtype=bool)
        nearest[found.vertex[v]] = proven[v]
        arcs_in = (graphs.predecessor_offsets, graphs.predecessors)
        return {
            "root": is_root & (idom != np.where(is_root, np.arange(n) - start, 0)),
            "reached": reached == (idom == NONE),
            "tree": reached & (idom != NONE) & ~is_root & ~is_below,
            "parent": arcs_past_dominators(start, *arcs_in, found.number, parent, begin, end),
            "immediate": is_below & ~is_root & ~nearest,
        }
