"""Measures a contestant on one graph: searches, then proofs, and the rows that result.

A contestant is a variant (`variant.py`) or a rival (`rival.py`), in a process of its own; a second process
proves, and neither sees the other. This process opens no device.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from relaxometer.core.environment import cpu_model, environment
from relaxometer.core.errors import Failed, UserError
from relaxometer.core.files import write_json, write_table
from relaxometer.core.progress import Progress
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import RivalRun, Run
from relaxometer.problems.certificate import Certificate
from relaxometer.problems.problem import Problem, load_problem
from relaxometer.problems.queries import QuerySets, content_hash
from relaxometer.problems.records import PHASES, RUNS, TOO_LONG, certificates_schema
from relaxometer.race.clocks import Span, disagreement
from relaxometer.race.cost import planned_s
from relaxometer.race.proofs import Search, certificate_of, prove_all
from relaxometer.race.sources import untimed_vertices

MAX_UNPROVEN_BYTES = min(4 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8)
"""Limit on the answers kept; beyond it the contestant waits while they are proven."""

WARM_BELOW_MS = 5.0
"""A search follows an untimed one, from another vertex, if the search before it took less than this.

Between two searches an answer moves to another process, after which a search takes 0.03 ms longer on a GPU.
"""

WARMED_ON = 8
"""Untimed searches cycle over this many vertices, none of which is timed.

So remembering the answers of untimed searches gains nothing.
"""

MAX_REASON = 1000
"""Limit on the characters of a reason."""


@dataclass
class Measurement:
    """Results of one round of a variant on one graph.

    Parameters
    ----------
    round : int
        From 1. Later rounds have no phases and keep no answer.
    runs, certificates, phases : list of dict
        Rows of the tables `RUNS`, :func:`certificates_schema` and `PHASES`.
    answer : dict of str to ndarray
        Columns of the first source's answer; empty arrays if there is none.
    context : dict
        Machine, versions and parameters in force.
    """

    round: int = 1
    runs: list[dict[str, Any]] = field(default_factory=list)
    certificates: list[dict[str, Any]] = field(default_factory=list)
    phases: list[dict[str, Any]] = field(default_factory=list)
    answer: dict[str, np.ndarray] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)


Count = Annotated[int, Field(ge=0, lt=2**63)]
Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
SearchTime = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""Milliseconds of a search; positive, since statistics use logarithms."""


class Reply(BaseModel):
    """A reply of a contestant, which may be nonsense."""

    model_config = ConfigDict(strict=True, extra="forbid")

    @classmethod
    def read(cls, reply: dict[str, Any]) -> Self:
        """Validate a reply; Failed if it does not fit the schema."""
        try:
            return cls.model_validate(reply)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise Failed("error", f"{where}: {first['msg']}, got {repr(first['input'])[:80]}") from error


class Begun(Reply):
    """Where a contestant runs, and the state of the device before; see `reference.py`."""

    runs_on: Literal["device", "cpu"]
    emulated: bool = False
    reference_ms: Milliseconds | None = None
    before: dict[str, Any]


class Prepared(Reply):
    """Times to load and prepare, the parameters in force, and the resident graph's fingerprints."""

    upload_ms: Milliseconds
    prepare_ms: Milliseconds
    resolved: dict[str, Any]
    graph: dict[str, int]


class Found(Reply):
    """A search, apart from its answer."""

    time_ms: SearchTime
    download_ms: Milliseconds
    phases: Count | None
    overflowed: bool
    graph: dict[str, int] = {}
    clock_ms: SearchTime
    waited_ms: float = 0.0
    """By the clock of this process, and how much of it either side waited for a core."""
    proven: bool = True
    """Whether there is an answer to prove."""
    throttled: str | None = None
    """Why the clocks were held back right after the search; None if unknown."""


class Spent(Reply):
    """As :class:`relaxometer.race.cost.Spent`."""

    energy_j: float
    energy_low_j: float
    energy_high_j: float
    gross_j: float
    idle_w: float
    searches: Count
    seconds: Milliseconds
    powers_w: list[float]
    searches_s: list[float]
    idle_powers_w: list[float]
    sm_mhz: list[Count] | None
    memory_mhz: list[Count] | None
    throttled: str
    nvml_peak_bytes: Count | None


class Costs(Reply):
    """Costs of searches besides time; None where unknown."""

    peak_bytes: Count | None = None
    leaked_bytes: int | None = None
    nvml_before_bytes: int | None = None
    kernel_bytes: int | None = None
    nvml_peak_bytes: Count | None = None
    spent: Spent | None = None
    copy_gb_s: float | None = None


class Phase(Reply):
    """A phase of an instrumented search."""

    mode: str
    updated: Count
    relaxed_arcs: Count
    time_ms: float


class Contestant(Protocol):
    """A contestant as the job sees it; each method raises :class:`Failed` if it fails."""

    def extend(self) -> None:
        """Give the contestant its whole time limit again, from now."""

    def begin(self) -> Begun:
        """Wait until the contestant has started."""

    def prepare(self, sources: Sequence[int | None]) -> Prepared:
        """Have the graph loaded and prepared.

        A variant first prepares it once without the clock and searches from each of the sources, so that all
        kernels are compiled and loaded.
        """

    def warm_up(self, source: int | None) -> float:
        """Have an untimed search made; return its milliseconds by the host's clock."""

    def solve(self, source: int | None) -> tuple[Found, dict[str, npt.NDArray[Any]]]:
        """Make a timed search, and return the columns of its answer."""

    def instrument(self, source: int | None) -> list[Phase] | None:
        """Return the phases of a search; None if the contestant does not report them."""

    def cost(self, sources: Sequence[int | None], more_s: float) -> Costs | None:
        """Return the costs of searches from these sources besides time; None if unknown.

        This may take `more_s` seconds beyond the time limit.
        """

    def state_of_device(self) -> dict[str, Any]:
        """Return the state of the device after the searches, for the context."""


Opener = Callable[[Run, Problem, Graph | Batch], AbstractContextManager[Contestant]]
"""Starts a contestant, and ends it."""


def measure(
    opener: Opener,
    run: Run,
    graph: Graph | Batch,
    sources: np.ndarray,
    device: str,
    number: int = 1,
    queries: QuerySets | None = None,
) -> Measurement:
    """Run a contestant from every source, prove every answer, and keep all samples.

    A failure of the contestant is a result: its rows carry status and reason. So is the death of its process.

    Parameters
    ----------
    opener : callable
    run : Run
    graph : Graph or Batch
    sources : ndarray of shape (n_sources,), integers
        A single 0 where searches have no source: on a batch, or in a problem without sources. The numbers of
        query sets if there are `queries`.
    device : {"auto", "cuda", "host"}
        The calling process must not have opened CUDA, which does not survive a fork.
    number : int
        The round that this is, from 1.
    queries : QuerySets, optional
        The query sets that the searches answer, if they do not start from vertices.

    Returns
    -------
    Measurement

    Raises
    ------
    UserError
        If a source is not a vertex of the graph, or the device is missing.
    """
    outside = sources[(sources < 0) | (sources >= graph.n_vertices)]
    if len(outside) and queries is None:
        raise UserError(
            f"graph {graph.name}: source {outside[0]} is out of range; expected 0 to {graph.n_vertices - 1}"
        )
    job = _Job(opener, run, graph, sources, device, number, queries)
    job.search_all()
    job.prove()
    return job.finish()


def not_measured(run: Run, device_kind: str, device: str, number: int, reason: str) -> Measurement:
    """Return a round without searches; `reason` says why it has none."""
    context = {"device_kind": device_kind, "device": device, "round": number, "not_measured": reason}
    return Measurement(number, context={**context, **environment(), "run": run.model_dump()})


def write_measurement(result: Measurement, problem: str, folder: Path) -> None:
    """Write ``runs`` and ``certificates`` as Parquet, and ``context.json``.

    Round 1 also has ``phases`` and ``answer``.
    """
    kept = load_problem(problem)
    certificates = certificates_schema(kept)
    write_table(pa.Table.from_pylist(result.runs, RUNS), folder / "runs.parquet")
    write_table(pa.Table.from_pylist(result.certificates, certificates), folder / "certificates.parquet")
    if result.round == 1:
        write_table(pa.Table.from_pylist(result.phases, PHASES), folder / "phases.parquet")
        write_table(kept.as_table(result.answer), folder / "answer.parquet")
    write_json(result.context, folder / "context.json")


class _Job:
    """One round of a contestant on one graph: the requests to it, and the resulting rows."""

    def __init__(
        self,
        opener: Opener,
        run: Run,
        graph: Graph | Batch,
        sources: np.ndarray,
        device: str,
        number: int,
        queries: QuerySets | None,
    ) -> None:
        self._opener = opener
        self._run, self._graph, self._device, self._queries = run, graph, device, queries
        self._sources: list[int] = sources.tolist()
        self._problem = load_problem(run.problem)
        self._has_source = self._problem.has_source and isinstance(graph, Graph)
        self._what = f"{run.problem} {run.graph} {run.variant}"
        self._repetitions = self._passes(number, emulated=False)
        self._untimed = itertools.cycle(self._untimed_sources(sources))
        self._fixed: dict[str, float] = {}
        self._unproven: list[Search] = []
        self._clocked: list[Span] = []
        self._result = Measurement(number)
        self._result.context |= {"round": number, "began": datetime.now(UTC).isoformat()}
        self._result.answer = {
            column: np.empty(0, dtype) for column, dtype in self._problem.columns_on(graph).items()
        }

    def _untimed_sources(self, sources: np.ndarray) -> list[int]:
        """Return the sources of untimed searches."""
        if self._queries is not None:
            return self._queries.untimed
        graph = self._graph
        return untimed_vertices(graph, sources, WARMED_ON) if isinstance(graph, Graph) else [0]

    def search_all(self) -> None:
        """Prepare and make the timed passes over all sources; in round 1, instrument a search from each."""
        with self._opener(self._run, self._problem, self._graph) as self._contestant:
            try:
                self._prepare()
                self._make_passes()
                self._take_costs()
                if self._result.round == 1:
                    self._instrument_all()
                self._finish_context(self._contestant.state_of_device())
            except Failed as failure:
                if failure.status == "usage":
                    raise UserError(failure.reason) from failure
                self._fill_in(failure.status, failure.reason)

    def prove(self) -> None:
        """Prove all unproven answers, in a process that has the device to itself."""
        searches, self._unproven = self._unproven, []
        parts = [(self._graph, searches)]
        context, proofs = prove_all(self._what, self._problem, parts, self._device, self._queries)
        self._result.context = context | self._result.context
        for search, proof in zip(searches, proofs, strict=True):
            if "status" in proof:
                search.row |= {"status": proof["status"], "reason": f"the proof: {proof['reason']}"}
            else:
                self._settle(search, proof)

    def finish(self) -> Measurement:
        """Return the results."""
        self._choose_clock()
        found = {"before": {}, **self._result.context}  # unknown of a contestant that never began
        self._result.context = {**found, **environment(), "run": self._run.model_dump()}
        self._name_queries()
        return self._result

    def _choose_clock(self) -> None:
        """Give all searches our times if the contestant's own disagree; emulated times mean nothing."""
        if self._result.context.get("device_kind") == "host":
            return
        searched = [row for row in self._result.runs if "clock_ms" in row]
        if not (reason := disagreement([row["time_ms"] for row in searched], self._clocked)):
            return
        for row in searched:
            row["time_ms"] = row["clock_ms"]
            if row["status"] == "ok":
                row |= {"status": "disputed", "reason": reason}
            elif row["status"] == "unproven":
                row["reason"] += f"; {reason}"

    def _name_queries(self) -> None:
        """Add the name and the hash of its query set to every row."""
        if self._queries is None:
            return
        asked = [(source, self._queries.sets[source]) for source in self._sources]
        columns = {source: {"queries": one.name, "queries_hash": content_hash(one)} for source, one in asked}
        for row in self._result.runs:
            row |= columns[row["source"]]

    def _passes(self, number: int, *, emulated: bool) -> range:
        """Return the numbers of the passes of a round."""
        passes = self._run.timing.passes(emulated=emulated)
        return range((number - 1) * passes, number * passes)

    def _prepare(self) -> None:
        begun = self._contestant.begin()
        context = self._result.context
        context["before"] = begun.before
        context["reference_ms"] = {"before": begun.reference_ms, "after": None}
        if begun.runs_on == "cpu":
            context |= {"device_kind": "cpu", "device": cpu_model()}
        if begun.emulated:
            self._repetitions = self._passes(self._result.round, emulated=True)
        timing = self._run.timing
        prepared = self._contestant.prepare([self._untimed_root()] if timing.warmup else [])
        context["parameters"] = prepared.resolved
        self._fixed = {"upload_ms": prepared.upload_ms, "prepare_ms": prepared.prepare_ms}
        self._fingerprints = prepared.graph

    def _finish_context(self, state: dict[str, Any]) -> None:
        """Add the state of the device after the searches."""
        context = self._result.context
        context["reference_ms"]["after"] = state.pop("reference_ms", None)
        context |= state

    def _make_passes(self) -> None:
        timing = self._run.timing
        self._contestant.extend()
        for number in range(timing.warmup):
            search_ms = self._warm_up()
            if number == 0:
                self._set_cold(search_ms)
        progress = Progress(f"{self._what}: searches", len(self._repetitions) * len(self._sources))
        begin = time.monotonic()
        for repetition in self._repetitions:
            is_first = repetition == self._repetitions.start
            if not is_first and timing.enough_s and time.monotonic() > begin + timing.enough_s:
                # If something fails later, the passes that are left out must not get rows of that failure.
                self._repetitions = range(self._repetitions.start, repetition)
                break
            for source in self._sources:
                if self._is_short():
                    self._warm_up()
                self._search(source, repetition)
                progress.step()

    def _warm_up(self) -> float:
        """Have an untimed search made; return its milliseconds."""
        return self._contestant.warm_up(self._untimed_root())

    def _untimed_root(self) -> int | None:
        return self._root(next(self._untimed))

    def _set_cold(self, search_ms: float) -> None:
        """Set the time from the arrival of the graph to the first answer, unless it is set."""
        self._fixed.setdefault("cold_ms", self._fixed["prepare_ms"] + search_ms)

    def _is_short(self) -> bool:
        """Return whether the last search took less than `WARM_BELOW_MS`, unless no warm-up is wanted."""
        rows = self._result.runs
        return bool(rows and self._run.timing.warmup) and rows[-1]["time_ms"] < WARM_BELOW_MS

    def _key(self, source: int, repetition: int) -> dict[str, Any]:
        """Return the first columns of a row."""
        return {"source": source, "round": self._result.round, "repetition": repetition}

    def _root(self, source: int) -> int | None:
        return source if self._has_source else None

    def _search(self, source: int, repetition: int) -> None:
        """Have one timed search made, and keep its answer."""
        found, answer = self._contestant.solve(self._root(source))
        if not self._result.runs and found.proven:
            self._result.answer = answer
        row: dict[str, Any] = {**self._key(source, repetition), "phases": found.phases}
        row |= {"time_ms": found.time_ms, "download_ms": found.download_ms, "clock_ms": found.clock_ms}
        row["throttled"] = found.throttled
        self._clocked.append(Span(found.clock_ms, found.waited_ms))
        self._set_cold(found.clock_ms)  # without a warm-up, this is the first search
        row |= self._fixed
        self._result.runs.append(row)
        if not found.proven:
            row |= {"status": "unproven", "reason": "it gives no answer that could be proven"}
            return
        self._unproven.append(Search(row, self._root(source), answer, found.overflowed, found.graph))
        if sum(search.nbytes for search in self._unproven) > MAX_UNPROVEN_BYTES:
            self.prove()
            # The GPU has worked for another process.
            self._warm_up()
            self._contestant.extend()

    def _settle(self, search: Search, proof: dict[str, Any]) -> None:
        """Complete the row of a search with the proof of its answer."""
        certificate = certificate_of(proof)
        changed = changes_of(self._fingerprints, search.graph)
        key = self._key(search.row["source"], search.row["repetition"])
        violations = {f"rule_{rule}": count for rule, count in certificate.violations.items()}
        self._result.certificates.append(key | {"holds": certificate.holds and not changed} | violations)
        too_long = self._graph.lengths.too_long if isinstance(self._graph, Graph) else ""
        is_rival = isinstance(self._run, RivalRun)
        status, reason = answer_status(search.overflowed, certificate, too_long, is_rival=is_rival)
        if changed:
            status, reason = "invalid", changed
        search.row |= proof
        if status != "ok" or "status" not in search.row:
            search.row |= {"status": status, "reason": reason}

    def _instrument_all(self) -> None:
        self._contestant.extend()
        progress = Progress(f"{self._what}: instrumented searches", len(self._sources))
        begin, enough_s = time.monotonic(), self._run.timing.enough_s
        for number, source in enumerate(self._sources):
            if number and enough_s and time.monotonic() > begin + enough_s:
                return
            try:
                phases = self._contestant.instrument(self._root(source))
            except Failed as failure:
                self._end_instrumenting(source, failure)
                return
            if phases is None:
                return
            self._keep_phases(source, phases)
            progress.step()

    def _take_costs(self) -> None:
        """Have the costs besides time measured, and add them to all rows."""
        slowest_s = max((row["time_ms"] for row in self._result.runs), default=0.0) / 1e3
        more_s = planned_s(self._run.cost, slowest_s) if self._run.cost.energy_s else 0.0
        try:
            costs = self._contestant.cost([self._root(source) for source in self._sources], more_s)
        except Failed as failure:
            print(f"{self._what}: repeated searches: {failure.reason}", file=sys.stderr)
            if failure.status != "timeout":
                self._mark(self._result.runs, "repeated searches", failure)
            raise
        if costs is None:
            return
        known = {key: value for key, value in costs.model_dump().items() if value is not None}
        spent = known.pop("spent", {})
        self._result.context["cost"] = known | spent
        columns = ("energy_j", "energy_low_j", "energy_high_j", "gross_j", "idle_w", "nvml_peak_bytes")
        for row in self._result.runs:
            row |= known | {key: spent[key] for key in columns if key in spent}

    def _end_instrumenting(self, source: int, failure: Failed) -> None:
        """Mark the timed searches of a failed instrumented one, unless it was only too slow."""
        line = f"{self._what}: instrumented search from {source}: {failure.reason}"
        print(line, file=sys.stderr)
        if failure.status == "timeout":
            return
        rows = (row for row in self._result.runs if row["source"] == source)
        self._mark(rows, "instrumented search", failure)

    @staticmethod
    def _mark(rows: Iterable[dict[str, Any]], what: str, failure: Failed) -> None:
        """Give timed searches the status of a later failure, except those already known to be wrong."""
        for row in rows:
            if row.get("status") != "invalid":
                row |= {"status": failure.status, "reason": f"{what}: {failure.reason}"}

    def _keep_phases(self, source: int, phases: list[Phase]) -> None:
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
        for repetition in self._repetitions:
            for source in self._sources:
                if (source, repetition) not in done:
                    row = {**self._key(source, repetition), "status": status, "reason": reason}
                    self._result.runs.append(row)


def changes_of(loaded: Mapping[str, int], after: Mapping[str, int]) -> str:
    """Return which arrays of its graph a contestant has changed, by their fingerprints; empty if none."""
    changed = ", ".join(name for name, value in loaded.items() if after.get(name) != value)
    return changed and f"changed the graph: {changed}"


def answer_status(
    overflowed: bool, certificate: Certificate, too_long: str, *, is_rival: bool
) -> tuple[str, str]:
    """Return the status of an answer, and the reason where it is not ``ok``.

    An overflowed answer of a rival holds a number that cannot be a length, which the proof read as "not
    reached".

    Parameters
    ----------
    overflowed : bool
    certificate : Certificate
    too_long : str
        As :meth:`relaxometer.problems.certificate.Certificate.outcome` takes it.
    is_rival : bool
    """
    if certificate.holds and overflowed and is_rival:
        return "invalid", TOO_LONG
    return certificate.outcome(overflowed=overflowed, too_long=too_long)
