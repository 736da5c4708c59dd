"""Measures a contestant on one graph: searches, then proofs, and the rows that result.

A contestant is a variant (`variant.py`) or a rival (`rival.py`), in a process of its own; a second process
proves, and neither sees the other. This process opens no device.
"""

import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from relaxometer.core.environment import cpu_model, environment
from relaxometer.core.errors import Failed, UserError
from relaxometer.core.files import write_json, write_table
from relaxometer.core.progress import Progress
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import RivalRun, Run
from relaxometer.problems.phases import Phase
from relaxometer.problems.problem import answer_of, load_problem
from relaxometer.problems.queries import QuerySets, content_hash
from relaxometer.problems.records import PHASES, RUNS, WARM_BELOW_MS, certificates_schema
from relaxometer.race.clocks import Span, believed_ms, disagreement, impossible
from relaxometer.race.cost import Spent, planned_s
from relaxometer.race.proofs import Columns, Proof, prove_all
from relaxometer.race.rows import SearchRow
from relaxometer.race.sources import untimed_vertices

MAX_UNPROVEN_BYTES = min(4 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8)
"""Limit on the answers kept; beyond it the contestant waits while they are proven."""

WARMED_ON = 8  # untimed vertices, over which untimed searches cycle: remembering their answers gains nothing

FEWEST_CALLS, CALLS_S = 6, 3.0  # minimum number of calls, and the seconds after which no further one begins

MAX_CONFIRMING, CONFIRMING_S = 8, 3.0
"""Limit on the searches that confirm a dispute, and the seconds after which no further one begins."""

MAX_REASON = 1000  # limit on the characters of a reason

DURING = {
    **dict.fromkeys(("", "load", "loaded", "prepare", "ready"), "preparation"),
    **dict.fromkeys(("call", "called", "release"), "a call"),
    "give": "the transfer of an answer",
    **dict.fromkeys(("take", "weights", "reweight", "customize"), "a change of weights"),
}
"""What a contestant does on a request, other than to search."""


def late(timeout_s: float, request: str) -> str:
    """Return the reason of a timeout on a request, or before a reply that is due without one."""
    during = DURING.get(request.partition(" ")[0], "a search")
    return f"not finished within timeout_s = {timeout_s:g}, during {during}"


@dataclass
class Measurement:
    """Results of one round of a variant on one graph; rounds count from 1.

    `certificates` and `phases` are rows of the tables :func:`certificates_schema` and `PHASES`. `answer` has
    the columns of the first source's answer; empty arrays if there is none. `context` describes the machine,
    versions and parameters in force. Later rounds have no phases and keep no answer.
    """

    round: int = 1
    runs: list[SearchRow] = field(default_factory=list)
    certificates: list[dict[str, Any]] = field(default_factory=list)
    phases: list[dict[str, Any]] = field(default_factory=list)
    answer: Columns = field(default_factory=dict)
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
            return cls.model_validate_json(json.dumps(reply))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise Failed("error", f"{where}: {first['msg']}, got {repr(first['input'])[:80]}") from error


class Begun(Reply):
    """Where a contestant runs, and the state of the device before; see `reference.py`."""

    runs_on: Literal["device", "cpu"]
    emulated: bool = False
    gives: list[str] | None = None  # columns of its answers; None if all
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
    waited_ms: float = 0.0  # by the clock of this process, how much either side waited for a core,
    sending_ms: float = 0.0  # and how much this one did while it asked for the search
    proven: bool = True  # whether there is an answer to prove
    throttled: str | None = None  # why the clocks were held back right after the search; None if unknown
    prepare_ms: Milliseconds | None = None  # of a call: another preparation,
    cold_ms: Milliseconds | None = None  # and that with the search after it, without the way back

    @property
    def span(self) -> Span:
        """The time by our clock."""
        return Span(self.clock_ms, self.waited_ms, self.sending_ms)


class Reweighted(Reply):
    """How new weights were taken, the time, the fingerprints of the graph that has them, and facts."""

    way: Literal["customized", "prepared anew"]
    update_ms: Milliseconds
    graph: dict[str, int] = {}
    facts: str | None = None


class Costs(Reply):
    """Costs of searches besides time; None where unknown."""

    peak_bytes: Count | None = None
    leaked_bytes: int | None = None
    nvml_before_bytes: int | None = None
    kernel_bytes: int | None = None
    nvml_peak_bytes: Count | None = None
    spent: Spent | None = None
    copy_gb_s: float | None = None


class Contestant(Protocol):
    """A started contestant as the job sees it; each method raises :class:`Failed` if it fails."""

    begun: Begun

    def extend(self) -> None:
        """Give the contestant its whole time limit again, from now."""

    def prepare(self, sources: Sequence[int | None]) -> Prepared:
        """Have the graph loaded and prepared.

        A variant first prepares it once without the clock and searches from each of the sources, so that all
        kernels are compiled and loaded.
        """

    def warm_up(self, source: int | None) -> float:
        """Have an untimed search made; return its milliseconds by the host's clock."""

    def solve(self, source: int | None) -> tuple[Found, Columns]:
        """Make a timed search, and return the columns of its answer."""

    def call(self, source: int | None) -> tuple[Found, Columns] | None:
        """Make a call: `time_ms` is from arrays in host memory to the answer there, all included.

        It replaces what was prepared, and has a time limit of its own. None if the contestant cannot do it.
        """

    def reweight(self, changed: Graph) -> Reweighted:
        """Have the graph's weights replaced by those of `changed`, within a new time limit."""

    def instrument(self, source: int | None) -> list[Phase] | None:
        """Return the phases of a search; None if the contestant does not report them."""

    def cost(self, sources: Sequence[int | None], more_s: float) -> Costs | None:
        """Return the costs of searches other than time, within another `more_s` seconds; None if unknown."""

    def state_of_device(self) -> dict[str, Any]:
        """Return the state of the device after the searches, for the context."""


def measure(
    opening: AbstractContextManager[Contestant],
    run: Run,
    graph: Graph | Batch,
    sources: np.ndarray,
    device: str,
    number: int = 1,
    queries: QuerySets | None = None,
) -> Measurement:
    """Run a contestant from every source, prove every answer, and keep all samples.

    A failure of the contestant is a result: its rows carry status and reason. So is the death of its process.
    UserError if a source is not a vertex of the graph, or the device is missing.

    `opening` starts the contestant, or raises `Failed`, and ends it. `sources` is a single 0 where searches
    have no source, on a batch or in a problem without sources; with `queries`, which searches then answer, it
    holds the numbers of sets. The calling process must not have opened CUDA, which does not survive a fork.
    Rounds have a `number` from 1.
    """
    outside = sources[(sources < 0) | (sources >= graph.n_vertices)]
    if len(outside) and queries is None:
        raise UserError(
            f"graph {graph.name}: source {outside[0]} is out of range; expected 0 to {graph.n_vertices - 1}"
        )
    job = _Job(opening, run, graph, sources, device, number, queries)
    job.search_all()
    job.prove()
    return job.finish()


def not_measured(run: Run, device_kind: str, device: str, number: int, reason: str) -> Measurement:
    """Return a round without searches; `reason` says why it has none."""
    context = {"device_kind": device_kind, "device": device, "round": number, "not_measured": reason}
    return Measurement(number, context={**context, **environment(), "run": run.model_dump()})


def write_measurement(result: Measurement, problem: str, folder: Path) -> None:
    """Write ``runs``, ``certificates`` and ``context.json``, and of round 1 ``phases`` and ``answer``."""
    kept = load_problem(problem)
    certificates = certificates_schema(kept)
    write_table(pa.Table.from_pylist([asdict(row) for row in result.runs], RUNS), folder / "runs.parquet")
    write_table(pa.Table.from_pylist(result.certificates, certificates), folder / "certificates.parquet")
    if result.round == 1:
        write_table(pa.Table.from_pylist(result.phases, PHASES), folder / "phases.parquet")
        write_table(kept.as_table(result.answer), folder / "answer.parquet")
    write_json(result.context, folder / "context.json")


@dataclass(frozen=True, eq=False)
class _Search:
    source: int
    repetition: int
    found: Found


class _Job:
    """One round of a contestant on one graph: the requests to it, and the resulting rows."""

    def __init__(
        self,
        opening: AbstractContextManager[Contestant],
        run: Run,
        graph: Graph | Batch,
        sources: np.ndarray,
        device: str,
        number: int,
        queries: QuerySets | None,
    ) -> None:
        self._opening = opening
        self._run, self._graph, self._device, self._queries = run, graph, device, queries
        self._sources: list[int] = sources.tolist()
        self._problem = load_problem(run.problem)
        self._has_source = self._problem.has_source and isinstance(graph, Graph)
        self._what = f"{run.problem} {run.graph} {run.variant}"
        self._emulated = False
        self._gives: list[str] = []  # columns of its answers
        passes = run.timing.passes
        self._repetitions = range((number - 1) * passes, number * passes)
        self._untimed = itertools.cycle(self._untimed_sources(sources))
        self._fingerprints: dict[str, int] = {}
        self._fixed: dict[str, Any] = {}
        self._costs: dict[str, Any] = {}
        self._relaxed: dict[int, int] = {}
        self._searches: list[_Search] = []
        self._confirming: list[Found] = []
        self._calls: dict[tuple[int, int], _Search] = {}  # by source and repetition of the row that shows it
        self._unproven: dict[_Search, Columns] = {}
        self._proofs: dict[_Search, Proof] = {}
        self._failure: Failed | None = None
        self._later_failures: dict[int, tuple[str, str]] = {}  # by source; of requests after timed searches
        self._result = Measurement(number)
        self._result.context |= {"round": number, "before": {}, "began": datetime.now(UTC).isoformat()}
        self._result.answer = {
            column: np.empty(0, dtype) for column, dtype in self._problem.columns_on(graph).items()
        }

    def _untimed_sources(self, sources: np.ndarray) -> list[int]:
        if self._queries is not None:
            return self._queries.untimed
        graph = self._graph
        return untimed_vertices(graph, sources, WARMED_ON) if isinstance(graph, Graph) else [0]

    def search_all(self) -> None:
        """Prepare and make the timed passes over all sources; in round 1, instrument a search from each."""
        try:
            with self._opening as self._contestant:
                self._prepare()
                self._make_passes()
                self._confirm_dispute()
                self._take_costs()
                if self._result.round == 1:
                    self._instrument_all()
                self._finish_context(self._contestant.state_of_device())
                self._make_calls()
        except Failed as failure:
            if failure.status == "usage":
                raise UserError(failure.reason) from failure
            self._failure = failure

    def prove(self) -> None:
        """Prove all unproven answers, in a process that has the device to itself."""
        answers, self._unproven = self._unproven, {}
        part = [(self._root(search.source), answer) for search, answer in answers.items()]
        parts = [(self._graph, part)]
        context, proofs = prove_all(self._what, self._problem, parts, self._device, self._queries)
        self._result.context = context | self._result.context
        self._proofs |= zip(answers, proofs, strict=True)
        if self._searches and (first := self._proofs.get(self._searches[0])):
            self._result.answer |= first.made

    def finish(self) -> Measurement:
        """Build the rows and return the results."""
        dispute, result = self._dispute(), self._result
        for call in self._calls.values():
            status, reason = self._outcome(call)
            if status not in ("ok", "unproven"):
                self._later_failures[call.source] = status, f"call: {reason}"
        result.runs = [self._row(search, dispute) for search in self._searches]
        result.runs += self._missing_rows()
        result.certificates = list(self._certificates())
        types = self._problem.columns_on(self._graph)
        if result.answer.keys() != types.keys():  # the proof that would have completed it failed
            result.answer = {name: np.empty(0, dtype) for name, dtype in types.items()}
        result.answer = {name: result.answer[name] for name in types}
        result.context |= {**environment(), "run": self._run.model_dump()}
        return result

    def _row(self, search: _Search, dispute: str) -> SearchRow:
        """Return the row of a search; `dispute` says why our times count, if they do."""
        found, proof = search.found, self._proofs.get(search)
        status, reason = self._outcome(search)
        call = self._calls.get((search.source, search.repetition))
        time_ms = found.clock_ms if dispute else self._believed_ms(found)
        if status == "ok" and (too_short := self._impossible(time_ms, proof)):
            status, reason = "invalid", too_short
        elif dispute and status == "ok":
            status, reason = "disputed", dispute
        elif dispute and status == "unproven":
            reason += f"; {dispute}"
        return SearchRow(
            **self._key(search.source, search.repetition),
            **self._asked(search.source),
            status=status,
            reason=reason,
            time_ms=time_ms,
            call_ms=call.found.time_ms if call else None,
            call_prepare_ms=call.found.prepare_ms if call else None,
            call_cold_ms=call.found.cold_ms if call else None,
            relaxed_arcs=self._relaxed.get(search.source),
            **found.model_dump(include={"clock_ms", "download_ms", "phases", "throttled"}),
            **self._fixed,
            **self._costs,
            **(proof.facts if proof else {}),
        )

    def _dispute(self) -> str:
        """Return how the two clocks of all searches differ; empty if they agree, or if times mean nothing."""
        if self._emulated:
            return ""
        found = [*(search.found for search in self._searches), *self._confirming]
        return disagreement([one.time_ms for one in found], [one.span for one in found])

    def _believed_ms(self, found: Found) -> float:
        return found.time_ms if self._emulated else believed_ms(found.time_ms, found.span)

    def _impossible(self, ms: float, proof: Proof | None) -> str:
        if self._emulated or proof is None:
            return ""
        # The first column: some rivals give no predecessors.
        width = next(iter(self._result.answer.values())).dtype.itemsize
        return impossible(ms, width * int(proof.facts.get("reached", 0)))

    def _outcome(self, search: _Search) -> tuple[str, str]:
        """Return status and reason of a search; a later failure hides no wrong answer."""
        status, reason = "unproven", "it gives no answer that could be proven"
        if proof := self._proofs.get(search):
            status, reason = proof.outcome(
                overflowed=search.found.overflowed,
                changed=changes_of(self._fingerprints, search.found.graph),
                too_long=self._graph.lengths.too_long if isinstance(self._graph, Graph) else "",
                is_rival=isinstance(self._run, RivalRun),
            )
        if status in ("ok", "unproven"):
            return self._later_failures.get(search.source, (status, reason))
        return status, reason

    def _missing_rows(self) -> Iterator[SearchRow]:
        """Yield a row for every search that was not made because of a failure."""
        if self._failure is None:
            return
        status, reason = self._failure.status, self._failure.reason
        done = {(search.source, search.repetition) for search in self._searches}
        for key in itertools.product(self._repetitions, self._sources):
            if key[::-1] not in done:
                named = self._key(key[1], key[0]) | self._asked(key[1])
                yield SearchRow(**named, status=status, reason=reason)

    def _certificates(self) -> Iterator[dict[str, Any]]:
        for search in self._searches:
            proof = self._proofs.get(search)
            if proof and proof.certificate:
                changed = changes_of(self._fingerprints, search.found.graph)
                rules = {f"rule_{rule}": count for rule, count in proof.certificate.violations.items()}
                holds = proof.certificate.holds and not changed
                yield self._key(search.source, search.repetition) | {"holds": holds} | rules

    def _key(self, source: int, repetition: int) -> dict[str, Any]:
        return {"source": source, "round": self._result.round, "repetition": repetition}

    def _asked(self, source: int) -> dict[str, Any]:
        """Return what is asked: the answer's name and, if there are query sets, name and hash of that set."""
        if self._queries is None:
            return {"answer": answer_of(self._gives) or None}
        asked = self._queries.sets[source]
        wanted = [name for name, rows in asked.rows(1).items() if rows.stop > 1]
        return {"queries": asked.name, "queries_hash": content_hash(asked), "answer": answer_of(wanted)}

    def _prepare(self) -> None:
        begun = self._contestant.begun
        context = self._result.context
        context["before"] = begun.before
        context["reference_ms"] = {"before": begun.reference_ms, "after": None}
        if begun.runs_on == "cpu":
            context |= {"device_kind": "cpu", "device": cpu_model()}
        self._emulated = begun.emulated
        self._gives = [*self._problem.columns] if begun.gives is None else begun.gives
        timing = self._run.timing
        prepared = self._contestant.prepare([self._untimed_root()] if timing.warmup else [])
        context["parameters"] = prepared.resolved
        self._fixed = {"upload_ms": prepared.upload_ms, "prepare_ms": prepared.prepare_ms}
        self._fingerprints = prepared.graph

    def _finish_context(self, state: dict[str, Any]) -> None:
        """Add the state after the searches, of the device and of what the solver decides by them."""
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

    def _confirm_dispute(self) -> None:
        """Make further searches as long as the clocks of most disagree, since there may be only one."""
        begin = time.monotonic()
        self._contestant.extend()
        for _ in range(MAX_CONFIRMING):
            if not self._dispute() or time.monotonic() > begin + CONFIRMING_S:
                return
            with self._noting_failure("further search", self._sources):
                found, _answer = self._contestant.solve(self._untimed_root())
            self._confirming.append(found)

    def _warm_up(self) -> float:
        return self._contestant.warm_up(self._untimed_root())

    def _untimed_root(self) -> int | None:
        return self._root(next(self._untimed))

    def _set_cold(self, search_ms: float) -> None:
        """Set the time from the arrival of the graph to the first answer, unless it is set."""
        self._fixed.setdefault("cold_ms", self._fixed["prepare_ms"] + search_ms)

    def _is_short(self) -> bool:
        """Return whether the last search took less than `WARM_BELOW_MS`, unless no warm-up is wanted."""
        made = self._searches
        return bool(made and self._run.timing.warmup) and made[-1].found.time_ms < WARM_BELOW_MS

    def _root(self, source: int) -> int | None:
        return source if self._has_source else None

    def _search(self, source: int, repetition: int) -> None:
        found, answer = self._contestant.solve(self._root(source))
        self._set_cold(found.clock_ms)  # without a warm-up, this is the first search
        search = _Search(source, repetition, found)
        if found.proven and not self._searches:
            self._result.answer = answer
        self._searches.append(search)
        if self._keep(search, answer):
            # The GPU has worked for another process.
            self._warm_up()
            self._contestant.extend()

    def _keep(self, search: _Search, answer: Columns) -> bool:
        """Keep an answer until it is proven; return whether all were proven now, since they are too many."""
        if search.found.proven:
            self._unproven[search] = answer
        columns = (column for answer in self._unproven.values() for column in answer.values())
        if sum(column.nbytes for column in columns) <= MAX_UNPROVEN_BYTES:
            return False
        self.prove()
        return True

    def _make_calls(self) -> None:
        """Time what a caller waits for, from each source in turn; once on the emulated device."""
        begin, most = time.monotonic(), self._run.timing.calls
        for number, search in enumerate(self._searches[: min(most, 1) if self._emulated else most]):
            if number >= FEWEST_CALLS and time.monotonic() > begin + CALLS_S:
                break
            with self._noting_failure("call", [search.source]):
                made = self._contestant.call(self._root(search.source))
            if made is None:
                return
            # Of a graph that a call has uploaded for itself, only the answer counts.
            found = made[0].model_copy(update={"graph": self._fingerprints})
            call = replace(search, found=found)
            self._calls[search.source, search.repetition] = call
            self._keep(call, made[1])
        # Unlike the first ones of a process, these do not set up a library, and they are many.
        for name in ("prepare_ms", "cold_ms") if self._calls else ():
            values = [getattr(call.found, name) for call in self._calls.values()]
            if None not in values:
                self._fixed[name] = statistics.median(values)

    def _take_costs(self) -> None:
        slowest_s = max((search.found.time_ms for search in self._searches), default=0.0) / 1e3
        more_s = planned_s(self._run.cost, slowest_s) if self._run.cost.energy_s else 0.0
        with self._noting_failure("repeated searches", self._sources):
            costs = self._contestant.cost([self._root(source) for source in self._sources], more_s)
        if costs is not None:
            known = {name: value for name, value in costs.model_dump().items() if value is not None}
            spent = known.pop("spent", {})
            self._result.context["cost"] = known | spent
            columns = ("energy_j", "energy_low_j", "energy_high_j", "gross_j", "idle_w", "nvml_peak_bytes")
            self._costs = known | {key: value for key, value in spent.items() if key in columns}

    def _instrument_all(self) -> None:
        self._contestant.extend()
        progress = Progress(f"{self._what}: instrumented searches", len(self._sources))
        begin, enough_s = time.monotonic(), self._run.timing.enough_s
        for number, source in enumerate(self._sources):
            if number and enough_s and time.monotonic() > begin + enough_s:
                return
            with self._noting_failure("instrumented search", [source]):
                phases = self._contestant.instrument(self._root(source))
            if phases is None:
                return
            self._relaxed[source] = sum(phase.relaxed_arcs for phase in phases)
            for place, phase in enumerate(phases, start=1):
                self._result.phases.append({"source": source, "phase": place, **asdict(phase)})
            progress.step()

    @contextmanager
    def _noting_failure(self, what: str, sources: Sequence[int]) -> Iterator[None]:
        """Mark timed searches from these sources with a failure in the block, unless it was only too slow."""
        try:
            yield
        except Failed as failure:
            print(f"{self._what}: {what}: {failure.reason}", file=sys.stderr)
            if failure.status != "timeout":
                outcome = failure.status, f"{what}: {failure.reason}"
                self._later_failures |= dict.fromkeys(sources, outcome)
            raise


def changes_of(loaded: Mapping[str, int], after: Mapping[str, int]) -> str:
    """Return which arrays of its graph a contestant has changed, by their fingerprints; empty if none."""
    return ", ".join(name for name, value in loaded.items() if after.get(name) != value)
