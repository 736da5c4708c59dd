"""Proves answers, in a process with its own copy of the graph that has the device to itself."""

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
from relaxometer.problems.records import TOO_LONG

Columns = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Proof:
    """What the prover says of an answer; without a certificate, `status` and `reason` of a failed proof.

    `facts` are columns of the table of searches: how long the proof took, and how much the answer reached.
    `made` has the columns that the first of several answers lacked, as its proof made them.
    """

    certificate: Certificate | None
    facts: dict[str, Any]
    status: str = ""
    reason: str = ""
    made: Columns = field(default_factory=dict)

    def outcome(self, *, overflowed: bool, changed: str, too_long: str, is_rival: bool) -> tuple[str, str]:
        """Return the status of the answer, and the reason where it is not ``ok``.

        `changed` says how the contestant changed its graph; empty if it did not. `overflowed`: the search met
        a length beyond the type. A rival's answer then holds a number that cannot be a length, which the
        proof read as "not reached".
        """
        if self.certificate is None:
            return self.status, f"the proof: {self.reason}"
        if changed:
            return "invalid", f"changed the graph: {changed}"
        if self.certificate.holds and overflowed and is_rival:
            return "invalid", TOO_LONG
        return self.certificate.outcome(overflowed=overflowed, too_long=too_long)


class Prover:
    """The proof's own copy of the graph, and the problem's certifier."""

    def __init__(
        self, problem: Problem, graph: Graph | Batch, device: Device, queries: QuerySets | None = None
    ) -> None:
        self._problem, self._graph, self._device, self._queries = problem, graph, device, queries
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

    def missing(self, source: int | None, answer: Columns) -> Columns:
        """Make the columns that an answer of a rival lacks, such as the predecessors."""
        problem, graph = self._problem, self._graph
        is_whole = answer.keys() == problem.columns.keys()
        if is_whole or problem.complete is None or source is None or not isinstance(graph, Graph):
            return {}
        made = problem.complete(graph, source, answer)
        return {name: values for name, values in made.items() if name not in answer}

    def prove(self, source: int | None, answer: Columns) -> dict[str, Any]:
        """Return the certificate of an answer, and how much of the graph it reached.

        With query sets, `source` is the number of one, and ``reached`` the number of its queries that have an
        answer. ValueError if the source is not a vertex: no rule would be broken by an answer that reaches
        nothing.
        """
        root: Any = source
        if self._queries is not None and source is not None:
            root = self._queries.sets[source].upload(self._device)
        elif source is not None and not 0 <= source < self._n:
            raise ValueError(f"source {source}; expected 0 to {self._n - 1}")
        with stopwatch() as certify:
            columns = {name: self._device.asarray(values) for name, values in answer.items()}
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


Part = tuple[Graph | Batch, Sequence[tuple[int | None, Columns]]]
"""A graph, and the sources and answers of searches on it."""


def prove_all(
    what: str, problem: Problem, parts: Sequence[Part], device: str, queries: QuerySets | None = None
) -> tuple[dict[str, Any], list[Proof]]:
    """Prove the answers of searches in a process that has the device to itself.

    `what` names the run in messages. The calling process must not have opened CUDA, which does not survive a
    fork. Returns ``device_kind`` and ``device``, and a proof per search; UserError if the device cannot be
    opened.
    """
    proofs = []
    with Child(serve_proofs, problem, parts, device, queries) as child:
        try:
            context = child.ask(math.inf)
        except ChildDied as death:
            raise UserError(f"{what}: the prover {death} when it opened the device") from death
        for graph in (graph for graph, searches in parts for _ in searches):
            try:
                proofs.append(_next_proof(child, problem, graph))
            except ChildDied as death:
                proofs.append(Proof(None, {}, "error", str(death)))
    return context, proofs


def _next_proof(child: Child, problem: Problem, graph: Graph | Batch) -> Proof:
    reply = child.ask(math.inf, next=True)
    if "status" in reply:
        return Proof(None, {}, **reply)
    types = problem.columns_on(graph)
    made = {name: np.empty(graph.n_vertices, types[name]) for name in reply.pop("made")}
    for column in made.values():
        child.receive_array(math.inf, column)
    certificate = Certificate(*(reply.pop(name) for name in ("violations", "first", "item")))
    return Proof(certificate, reply, made=made)


def serve_proofs(
    link: Link, problem: Problem, parts: Sequence[Part], device: str, queries: QuerySets | None
) -> None:
    """Prove the answers of all searches in turn; a forked process finds them in its memory."""
    opened = get_device(device)
    link.reply(device_kind=opened.kind, device=opened.name)
    requests, is_first = link.requests(), True
    for graph, searches in parts:
        prover: Prover | None = None
        for source, answer in searches:
            if next(requests, None) is None:
                return
            try:
                prover = prover or Prover(problem, graph, opened, queries)
                made = prover.missing(source, answer)
                proof = prover.prove(source, answer | made)
                sent, is_first = made if is_first else {}, False
                link.reply(**proof, made=[*sent])
                for column in sent.values():
                    link.send_array(column)
            except MemoryError as error:
                link.reply(status="oom", reason=str(error) or "out of memory")
