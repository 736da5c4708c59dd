"""Measures one variant on one graph: one process searches, then another proves, and neither sees the other.

This process starts both and opens no device. The contestant (`contestant.py`) is alone on the GPU while it is
timed: a second open context, even an idle one, made searches up to 0.3 ms slower. Its answers arrive as bytes
and are kept. The prover has its own copy of the graph and imports nothing of the variant.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from relaxometer.core.environment import cpu_model, environment
from relaxometer.core.errors import UserError
from relaxometer.core.files import write_json, write_table
from relaxometer.core.progress import Progress
from relaxometer.core.supervision import Child, ChildDied, DeadlinePassed, Link
from relaxometer.device import Device, DeviceOutOfMemory, get_device, stopwatch
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.measure import contestant
from relaxometer.plan.models import Run
from relaxometer.problems.certificate import Certificate
from relaxometer.problems.problem import Problem, added_folders, load_problem
from relaxometer.problems.records import OVERFLOW, PHASES, RUNS, certificates_schema

MAX_UNPROVEN_BYTES = min(4 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8)
"""Limit on the answers kept; beyond it the contestant waits while they are proven."""

FAILURES = frozenset({"skipped", "oom", "error", "usage"})
"""How a contestant may fail by its own account; "usage" is a mistake of the user."""

MAX_REASON = 1000
"""Limit on the characters of a reason."""


@dataclass
class Measurement:
    """Results of one variant on one graph.

    Parameters
    ----------
    runs, certificates, phases : list of dict
        Rows of the tables `RUNS`, :func:`certificates_schema` and `PHASES`.
    answer : dict of str to ndarray
        Columns of the first source's answer; empty arrays if there is none.
    context : dict
        Machine, versions and parameters in force.
    """

    runs: list[dict[str, Any]] = field(default_factory=list)
    certificates: list[dict[str, Any]] = field(default_factory=list)
    phases: list[dict[str, Any]] = field(default_factory=list)
    answer: dict[str, np.ndarray] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)


def measure(run: Run, graph: Graph | Batch, sources: np.ndarray, device: str) -> Measurement:
    """Run a variant from every source, prove every answer, and keep all samples.

    A failure of the variant is a result: its rows carry status and reason. So is the death of its process.

    Parameters
    ----------
    run : Run
    graph : Graph or Batch
    sources : ndarray of shape (n_sources,), integers
        A single 0 where searches have no source: on a batch, or in a problem without sources.
    device : {"auto", "cuda", "host"}
        The calling process must not have opened CUDA, which does not survive a fork.

    Returns
    -------
    Measurement

    Raises
    ------
    UserError
        If a source is not a vertex of the graph, or the device is missing.
    """
    outside = sources[(sources < 0) | (sources >= graph.n_vertices)]
    if len(outside):
        raise UserError(
            f"graph {graph.name}: source {outside[0]} is out of range; expected 0 to {graph.n_vertices - 1}"
        )
    job = _Job(run, graph, sources, device)
    job.search_all()
    job.prove()
    return job.finish()


def write_measurement(result: Measurement, problem: str, folder: Path) -> None:
    """Write ``runs``, ``certificates``, ``phases`` and ``answer`` as Parquet, and ``context.json``."""
    certificates = certificates_schema(load_problem(problem))
    write_table(pa.Table.from_pylist(result.runs, RUNS), folder / "runs.parquet")
    write_table(pa.Table.from_pylist(result.certificates, certificates), folder / "certificates.parquet")
    write_table(pa.Table.from_pylist(result.phases, PHASES), folder / "phases.parquet")
    write_table(pa.table(result.answer), folder / "answer.parquet")
    write_json(result.context, folder / "context.json")


class _Failed(Exception):  # noqa: N818 - a status
    """The contestant failed: the status of the rows left, and the reason."""

    def __init__(self, status: str, reason: str) -> None:
        self.status, self.reason = status, reason


_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Reply(BaseModel):
    """A reply of a contestant, which may be nonsense."""

    model_config = ConfigDict(strict=True, extra="forbid")

    @classmethod
    def read(cls, reply: dict[str, Any]) -> Self:
        try:
            return cls.model_validate(reply)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise _Failed("error", f"{where}: {first['msg']}, got {repr(first['input'])[:80]}") from error


class _Begun(_Reply):
    runs_on: Literal["device", "cpu"]
    before: dict[str, Any]


class _Prepared(_Reply):
    upload_ms: _Milliseconds
    prepare_ms: _Milliseconds
    resolved: dict[str, Any]
    graph: dict[str, int]


class _Column(_Reply):
    name: str
    dtype: str
    shape: list[_Count]


class _Found(_Reply):
    time_ms: _Milliseconds
    download_ms: _Milliseconds
    phases: _Count | None
    overflowed: bool
    columns: list[_Column]
    graph: dict[str, int]


class _Phase(_Reply):
    mode: str
    updated: _Count
    relaxed_arcs: _Count
    time_ms: float


class _Phases(_Reply):
    phases: list[_Phase]


class _Contestant:
    """The contestant as the job sees it: replies that are what they must be, or a failure."""

    def __init__(self, child: Child, problem: Problem, n_vertices: int, timeout_s: float) -> None:
        self._child, self._problem, self._n, self._timeout_s = child, problem, n_vertices, timeout_s
        self.extend()

    def extend(self) -> None:
        """Give the contestant another `timeout_s` from now."""
        self._deadline = time.monotonic() + self._timeout_s

    def begin(self) -> _Begun:
        return _Begun.read(self._ask())

    def prepare(self) -> _Prepared:
        return _Prepared.read(self._ask(prepare=None))

    def warm_up(self, source: int | None) -> None:
        self._ask(warm_up=source)

    def solve(self, source: int | None) -> tuple[_Found, dict[str, npt.NDArray[Any]]]:
        """Return the reply to a search, and the columns of its answer."""
        found = _Found.read(self._ask(solve=source))
        self._check_columns(found.columns)
        columns = {name: np.empty(self._n, dtype) for name, dtype in self._problem.columns.items()}
        for column in found.columns:
            self._within(partial(self._child.receive_array, array=columns[column.name]))
        return found, columns

    def instrument(self, source: int | None) -> list[_Phase]:
        return _Phases.read(self._ask(instrument=source)).phases

    def state_of_device(self) -> dict[str, Any]:
        return self._ask(context=None)

    def _check_columns(self, columns: list[_Column]) -> None:
        """Compare the columns of an answer with those of the problem, before their bytes are read."""
        expected = {name: str(np.dtype(dtype)) for name, dtype in self._problem.columns.items()}
        if sorted(column.name for column in columns) != sorted(expected):
            names = ", ".join(column.name for column in columns)[:80]
            raise _Failed("invalid", f"the answer has columns {names}; expected {', '.join(expected)}")
        for column in columns:
            if column.dtype != expected[column.name] or column.shape != [self._n]:
                raise _Failed(
                    "invalid",
                    f"column {column.name} has type {column.dtype[:80]} and shape {tuple(column.shape)[:8]}; "
                    f"expected {expected[column.name]} and ({self._n},)",
                )

    def _ask(self, **request: Any) -> dict[str, Any]:
        reply: dict[str, Any] = self._within(lambda seconds: self._child.ask(seconds, **request))
        if "status" in reply:
            # A contestant says why it failed, never that it is right.
            status = reply["status"] if reply["status"] in FAILURES else "error"
            raise _Failed(status, str(reply.get("reason", ""))[:MAX_REASON])
        return reply

    def _within(self, do: Callable[[float], Any]) -> Any:
        try:
            return do(self._deadline - time.monotonic())
        except DeadlinePassed as error:
            reason = f"not finished within timeout_s = {self._timeout_s:g}"
            raise _Failed("timeout", reason) from error
        except ChildDied as error:
            raise _Failed("error", str(error)) from error


class _Prover:
    """The proof's own copy of the graph, and the problem's certifier."""

    def __init__(self, problem: Problem, graph: Graph | Batch, device: Device) -> None:
        self._problem, self._device = problem, device
        resident: ResidentGraph | ResidentBatch = (
            ResidentGraph.upload(device, graph, arcs=problem.proof_reads_arcs)
            if isinstance(graph, Graph)
            else ResidentBatch.upload(device, graph)
        )
        self._certifier = problem.certifier(resident)
        self._degrees = device.asarray(graph.degrees)
        ends = graph.input_degrees if isinstance(graph, Graph) else None
        self._input_degrees = None if ends is None else device.asarray(ends)

    def prove(self, search: _Search) -> dict[str, Any]:
        """Return the certificate of an answer, and how much of the graph it reached."""
        with stopwatch() as certify:
            columns = {name: self._device.asarray(values) for name, values in search.answer.items()}
            certificate = self._certifier.check(search.root, **columns)
        reached = self._problem.reached(columns)
        ends = self._input_degrees
        return {
            "certify_ms": certify.ms,
            "violations": certificate.violations,
            "first": certificate.first,
            "input_edges": None if ends is None else int(ends[reached].sum(dtype=np.uint64)) // 2,
            "reached": int(reached.sum()),
            "reached_arcs": int(self._degrees[reached].sum()),
        }


def _serve_proofs(
    link: Link, problem: Problem, graph: Graph | Batch, device: str, searches: list[_Search]
) -> None:
    """Prove the answers of `searches`; a forked process finds them in its memory."""
    opened = get_device(device)
    link.reply(device_kind=opened.kind, device=opened.name)
    try:
        prover = _Prover(problem, graph, opened) if searches else None
        for _, search in zip(link.requests(), searches, strict=False):
            link.reply(**prover.prove(search) if prover else {})
    except DeviceOutOfMemory as error:
        for _ in searches:
            link.reply(status="oom", reason=str(error))


@dataclass(eq=False)
class _Search:
    """One search: its row, its answer until it is proven, and the resident graph's fingerprints after it."""

    row: dict[str, Any]
    root: int | None
    answer: dict[str, npt.NDArray[Any]]
    overflowed: bool
    graph: dict[str, int]

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.answer.values())


class _Job:
    """One variant on one graph: what is asked of the contestant, and the rows that result."""

    def __init__(self, run: Run, graph: Graph | Batch, sources: np.ndarray, device: str) -> None:
        self._run, self._graph, self._device = run, graph, device
        self._sources: list[int] = sources.tolist()
        self._problem = load_problem(run.problem)
        self._has_source = self._problem.has_source and isinstance(graph, Graph)
        self._what = f"{run.problem} {run.graph} {run.variant}"
        self._fixed: dict[str, float] = {}
        self._unproven: list[_Search] = []
        self._result = Measurement()
        self._result.answer = {column: np.empty(0, dtype) for column, dtype in self._problem.columns.items()}

    def search_all(self) -> None:
        """Prepare, make the timed passes over all sources, then one instrumented search per source."""
        arguments = self._run, self._graph, self._device, added_folders()
        with Child(contestant.serve, *arguments) as child:
            timeout_s = self._run.timing.timeout_s
            self._contestant = _Contestant(child, self._problem, self._graph.n_vertices, timeout_s)
            try:
                self._prepare()
                self._make_passes()
                self._instrument_all()
                self._result.context |= self._contestant.state_of_device()
            except _Failed as failure:
                if failure.status == "usage":
                    raise UserError(failure.reason) from failure
                self._fill_in(failure.status, failure.reason)

    def prove(self) -> None:
        """Prove the answers that are not proven yet, in a process that has the device to itself."""
        searches, self._unproven = self._unproven, []
        arguments = self._problem, self._graph, self._device, searches
        with Child(_serve_proofs, *arguments) as child:
            try:
                self._result.context = child.ask(math.inf) | self._result.context
            except ChildDied as death:
                raise UserError(f"{self._what}: the prover {death} when it opened the device") from death
            for search in searches:
                try:
                    proof = child.ask(math.inf, next=True)
                except ChildDied as death:
                    proof = {"status": "error", "reason": str(death)}
                if "status" in proof:
                    search.row |= {"status": proof["status"], "reason": f"the proof: {proof['reason']}"}
                else:
                    self._settle(search, proof)

    def finish(self) -> Measurement:
        """Return the results."""
        self._result.context |= {**environment(), "run": self._run.model_dump()}
        return self._result

    def _prepare(self) -> None:
        begun = self._contestant.begin()
        context = self._result.context
        context["before"] = begun.before
        if begun.runs_on == "cpu":
            context |= {"device_kind": "cpu", "device": cpu_model()}
        prepared = self._contestant.prepare()
        context["parameters"] = prepared.resolved
        self._fixed = {"upload_ms": prepared.upload_ms, "prepare_ms": prepared.prepare_ms}
        self._fingerprints = prepared.graph

    def _make_passes(self) -> None:
        timing = self._run.timing
        self._contestant.extend()
        for source in np.resize(self._sources, timing.warmup).tolist():
            self._contestant.warm_up(self._root(source))
        progress = Progress(f"{self._what}: searches", timing.repetitions * len(self._sources))
        begin = time.monotonic()
        for repetition in range(timing.repetitions):
            if repetition and timing.enough_s and time.monotonic() > begin + timing.enough_s:
                break
            for source in self._sources:
                self._search(source, repetition)
                progress.step()

    def _root(self, source: int) -> int | None:
        return source if self._has_source else None

    def _search(self, source: int, repetition: int) -> None:
        """Have one search made, and keep its answer."""
        found, answer = self._contestant.solve(self._root(source))
        if not self._result.runs:
            self._result.answer = answer
        row = {"source": source, "repetition": repetition, "phases": found.phases} | self._fixed
        row |= {"time_ms": found.time_ms, "download_ms": found.download_ms}
        self._result.runs.append(row)
        self._unproven.append(_Search(row, self._root(source), answer, found.overflowed, found.graph))
        if sum(search.nbytes for search in self._unproven) > MAX_UNPROVEN_BYTES:
            self.prove()
            # The GPU has worked for another process.
            self._contestant.warm_up(self._root(source))
            self._contestant.extend()

    def _settle(self, search: _Search, proof: dict[str, Any]) -> None:
        """Complete the row of a search with the proof of its answer."""
        certificate = Certificate(proof.pop("violations"), proof.pop("first"))
        changed = ", ".join(
            name for name, value in self._fingerprints.items() if search.graph.get(name) != value
        )
        key = {"source": search.row["source"], "repetition": search.row["repetition"]}
        violations = {f"rule_{rule}": count for rule, count in certificate.violations.items()}
        self._result.certificates.append(key | {"holds": certificate.holds and not changed} | violations)
        status, reason = _status(search.overflowed, certificate)
        if changed:
            status, reason = "invalid", f"changed the graph: {changed}"
        search.row |= proof
        if status != "ok" or "status" not in search.row:
            search.row |= {"status": status, "reason": reason}

    def _instrument_all(self) -> None:
        self._contestant.extend()
        progress = Progress(f"{self._what}: instrumented searches", len(self._sources))
        for source in self._sources:
            try:
                phases = self._contestant.instrument(self._root(source))
            except _Failed as failure:
                self._end_instrumenting(source, failure)
                return
            self._keep_phases(source, phases)
            progress.step()

    def _end_instrumenting(self, source: int, failure: _Failed) -> None:
        """Mark the timed searches of a failed instrumented one, unless it was only too slow."""
        line = f"{self._what}: instrumented search from {source}: {failure.reason}"
        print(line, file=sys.stderr)
        if failure.status == "timeout":
            return
        for row in self._result.runs:
            if row["source"] == source:
                row |= {"status": failure.status, "reason": f"instrumented search: {failure.reason}"}

    def _keep_phases(self, source: int, phases: list[_Phase]) -> None:
        """Record the phases of a search, and its relaxed arcs in the rows of the timed ones."""
        for number, phase in enumerate(phases, start=1):
            self._result.phases.append({"source": source, "phase": number, **phase.model_dump()})
        relaxed = sum(phase.relaxed_arcs for phase in phases)
        for row in self._result.runs:
            if row["source"] == source:
                row["relaxed_arcs"] = relaxed

    def _fill_in(self, status: str, reason: str) -> None:
        """Add a row for every search that was not made."""
        done = {(row["source"], row["repetition"]) for row in self._result.runs}
        for repetition in range(self._run.timing.repetitions):
            for source in self._sources:
                if (source, repetition) not in done:
                    row = {"source": source, "repetition": repetition, "status": status, "reason": reason}
                    self._result.runs.append(row)


def _status(overflowed: bool, certificate: Certificate) -> tuple[str, str]:
    """Return the status of an answer's row, and the reason where it is not ok."""
    if certificate.holds:
        return "ok", ""
    if overflowed and certificate.violations["left_out"]:
        return "error", OVERFLOW
    return "invalid", certificate.reason
