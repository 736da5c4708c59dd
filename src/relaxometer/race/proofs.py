"""Proves answers, in a process with its own copy of the graph that has the device to itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.core.supervision import Child, ChildDied, Link
from relaxometer.device import Device, get_device, stopwatch
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems.certificate import Certificate
from relaxometer.problems.problem import Problem
from relaxometer.problems.queries import QuerySets


@dataclass(eq=False)
class Search:
    """One search: its row, its answer until it is proven, and the resident graph's fingerprints after it."""

    row: dict[str, Any]
    root: int | None
    answer: dict[str, npt.NDArray[Any]]
    overflowed: bool
    graph: dict[str, int] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes of the answer."""
        return sum(column.nbytes for column in self.answer.values())


class Prover:
    """The proof's own copy of the graph, and the problem's certifier."""

    def __init__(
        self, problem: Problem, graph: Graph | Batch, device: Device, queries: QuerySets | None = None
    ) -> None:
        self._problem, self._device, self._queries = problem, device, queries
        self._n = graph.n_vertices
        resident: ResidentGraph | ResidentBatch = (
            ResidentGraph.upload(device, graph, arcs=problem.proof_reads_arcs)
            if isinstance(graph, Graph)
            else ResidentBatch.upload(device, graph)
        )
        self._certifier = problem.certifier(resident)
        self._degrees = device.asarray(graph.degrees)
        ends = graph.input_degrees if isinstance(graph, Graph) else None
        self._input_degrees = None if ends is None else device.asarray(ends)

    def prove(self, search: Search) -> dict[str, Any]:
        """Return the certificate of an answer, and how much of the graph it reached.

        For query sets, ``reached`` is the number of queries that have an answer.

        Raises
        ------
        ValueError
            If the source is not a vertex: no rule would be broken by an answer that reaches nothing.
        """
        root: Any = search.root
        if self._queries is not None:
            root = self._queries.sets[root].upload(self._device)
        elif root is not None and not 0 <= root < self._n:
            raise ValueError(f"source {root}; expected 0 to {self._n - 1}")
        with stopwatch() as certify:
            columns = {name: self._device.asarray(values) for name, values in search.answer.items()}
            certificate = self._certifier.check(root, **columns)
        reached = self._problem.reached(columns)
        return {
            "certify_ms": certify.ms,
            "violations": certificate.violations,
            "first": certificate.first,
            "item": certificate.item,
            "reached": int(reached.sum()),
            **({} if self._queries else self._traversed(reached)),
        }

    def _traversed(self, reached: Any) -> dict[str, int | None]:
        """Return the arcs of the vertices that a search reached, and their edges of the input."""
        ends = self._input_degrees
        return {
            "input_edges": None if ends is None else int(ends[reached].sum(dtype=np.uint64)) // 2,
            "reached_arcs": int(self._degrees[reached].sum()),
        }


Part = tuple[Graph | Batch, Sequence[Search]]
"""A graph, and searches on it."""


def prove_all(
    what: str, problem: Problem, parts: Sequence[Part], device: str, queries: QuerySets | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Prove the answers of searches in a process that has the device to itself.

    Parameters
    ----------
    what : str
        Names the run in messages.
    problem : Problem
    parts : sequence of (Graph or Batch, sequence of Search)
    device : {"auto", "cuda", "host"}
        The calling process must not have opened CUDA, which does not survive a fork.
    queries : QuerySets, optional

    Returns
    -------
    context : dict
        ``device_kind`` and ``device``.
    proofs : list of dict
        One per search: as :meth:`Prover.prove` returns it, or ``status`` and ``reason`` of a failed proof.

    Raises
    ------
    UserError
        If the device cannot be opened.
    """
    proofs = []
    with Child(serve_proofs, problem, parts, device, queries) as child:
        try:
            context = child.ask(math.inf)
        except ChildDied as death:
            raise UserError(f"{what}: the prover {death} when it opened the device") from death
        for _ in range(sum(len(searches) for _, searches in parts)):
            try:
                proofs.append(child.ask(math.inf, next=True))
            except ChildDied as death:
                proofs.append({"status": "error", "reason": str(death)})
    return context, proofs


def certificate_of(proof: dict[str, Any]) -> Certificate:
    """Take the certificate out of a proof."""
    return Certificate(proof.pop("violations"), proof.pop("first"), proof.pop("item"))


def serve_proofs(
    link: Link, problem: Problem, parts: Sequence[Part], device: str, queries: QuerySets | None
) -> None:
    """Prove the answers of all searches in turn; a forked process finds them in its memory."""
    opened = get_device(device)
    link.reply(device_kind=opened.kind, device=opened.name)
    requests = link.requests()
    for graph, searches in parts:
        prover: Prover | None = None
        failure: dict[str, Any] = {}
        if searches:
            try:
                prover = Prover(problem, graph, opened, queries)
            except MemoryError as error:
                failure = _out_of_memory(error)
        for search in searches:
            if next(requests, None) is None:
                return
            link.reply(**(_proof(prover, search) if prover else failure))


def _proof(prover: Prover, search: Search) -> dict[str, Any]:
    """Return the proof of an answer, or a status if memory runs out."""
    try:
        return prover.prove(search)
    except MemoryError as error:
        return _out_of_memory(error)


def _out_of_memory(error: MemoryError) -> dict[str, Any]:
    return {"status": "oom", "reason": str(error) or "out of memory"}
