"""Measures one rival on one graph: its searches as the job sees them, and its answers."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from relaxometer.core.environment import cpu_model
from relaxometer.core.errors import Failed
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import RivalRun
from relaxometer.problems.problem import load_problem
from relaxometer.race import measurement, reference
from relaxometer.race.clocks import CONVERT_NS, COPY_NS, Span, allowed_ms, believed_ms, late_ms
from relaxometer.race.entrant import Entrant, Running
from relaxometer.race.measurement import Begun, Found, Measurement, Prepared, Reweighted
from relaxometer.race.proofs import Columns
from relaxometer.rivals.answers import read_answer, typed_answer
from relaxometer.rivals.installation import Installed

MAX_PAUSE_S = 0.5  # longest pause after a search before its answer is requested


def measure_rival(
    entrant: Entrant, sources: npt.NDArray[np.integer], device: str, number: int = 1
) -> Measurement:
    """Run a rival from every source; see :func:`relaxometer.race.measurement.measure`."""
    run, installed = entrant.run, entrant.installed
    opening = open_rival(entrant, sources)
    before = _reference_ms(run, installed, device)
    result = measurement.measure(opening, run, entrant.graph, sources, device, number, entrant.queries)
    result.context["reference_ms"] = {"before": before, "after": _reference_ms(run, installed, device)}
    result.context |= place_of(run, result.context["device_kind"])
    if isinstance(installed, str):
        result.context["absent"] = installed
    return result


@contextmanager
def open_rival(entrant: Entrant, sources: npt.NDArray[np.integer]) -> Iterator[_RivalClient]:
    """Tune a rival if that is asked for, start it, and end it; `sources` are those of the timed searches."""
    entrant.check()
    has_source = load_problem(entrant.run.problem).has_source and isinstance(entrant.graph, Graph)
    with tempfile.TemporaryDirectory(prefix="rival-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        parameters = entrant.tuned(sources if has_source else None, folder)
        began = time.perf_counter()
        with entrant.start(parameters, folder) as running:
            yield _RivalClient(entrant, running, folder, parameters, began)


def place_of(run: RivalRun, device_kind: str) -> dict[str, str]:
    """Return the columns that say where a rival runs, if not on the device that proves its answers."""
    if run.kind != "gpu":
        return {"device_kind": "cpu", "device": cpu_model()}
    return {} if device_kind == "cuda" else {"device_kind": "cuda", "device": "a GPU"}


def _reference_ms(run: RivalRun, installed: Installed | str, device: str) -> float | None:
    if isinstance(installed, str):
        return None
    return reference.apart_ms(device) if run.kind == "gpu" else reference.cpu_ms()


class _RivalClient:
    """A rival as the job sees it; implements :class:`relaxometer.race.measurement.Contestant`."""

    def __init__(
        self, entrant: Entrant, running: Running, folder: Path, parameters: Mapping[str, Any], began: float
    ) -> None:
        self._entrant, self._running, self._folder = entrant, running, folder
        self._parameters, self._began = parameters, began
        self._graph = entrant.graph
        self._problem = load_problem(entrant.run.problem)
        answers = entrant.rival.definition.problems[entrant.run.problem].answers
        self._given = [column for column in self._problem.columns if column in answers]
        runs_on: Literal["device", "cpu"] = "device" if entrant.run.kind == "gpu" else "cpu"
        self.begun = Begun(runs_on=runs_on, gives=self._given, before={})
        self._round_trips: list[float] = []
        self._idle: list[Span] = []  # writing of answers whose searches were over

    def extend(self) -> None:
        self._running.extend()

    def prepare(self, sources: Sequence[int | None]) -> Prepared:
        load_ms, prepare_ms, facts = self._running.load()
        self._start_ms = (time.perf_counter() - self._began) * 1e3
        options, definition = self._entrant.options(self._parameters), self._entrant.rival.definition
        self._facts = {"version": definition.version or "unknown", **facts}
        resolved = {**options, **self._facts, "threads": options["threads"]}
        return Prepared(upload_ms=load_ms, prepare_ms=prepare_ms, resolved=resolved, graph={})

    def warm_up(self, source: int | None) -> float:
        """Have an untimed search made; return its milliseconds by our clock.

        Its answer is requested after a pause as long as the search, so that no work that was left counts as
        conversion.
        """
        self._entrant.pose(self._running, source)
        _, search = self._running.solve(source)
        if self._given:
            time.sleep(min(search.ms / 1e3, MAX_PAUSE_S))
            with self._new_folder() as folder:
                self._running.ping()  # wakes the process
                self._idle.append(self._running.give(Path(folder)))
        return search.ms

    def solve(self, source: int | None) -> tuple[Found, Columns]:
        """Time a search by both clocks, then ask for its answer."""
        running = self._running
        read = self._entrant.pose(running, source)
        running.ping()  # wakes the process
        self._round_trips.append(running.ping().busy)
        theirs, search = running.solve(source)
        return self._answer(source, theirs, search, read)

    def call(self, source: int | None) -> tuple[Found, Columns] | None:
        """Have the graph built anew, prepared and searched, within a new time limit."""
        running = self._running
        if not running.rebuilds:
            return None
        self.extend()
        read = self._entrant.pose(running, source)
        running.ping()  # wakes the process
        made = running.call(source)
        found, columns = self._answer(source, made.answering_ms, made.answering, read)
        answering_ms = believed_ms(found.time_ms, found.span)
        times = {
            "time_ms": believed_ms(made.building_ms, made.building) + answering_ms,
            "prepare_ms": made.prepare_ms,
            "cold_ms": max(0.0, answering_ms - made.fetch_ms),
        }
        return found.model_copy(update=times), columns

    def _answer(self, source: int | None, theirs: float, search: Span, read: Span) -> tuple[Found, Columns]:
        """Ask for the answer of a search.

        It goes to a new folder, so it is not that of an earlier search. Work after the search, and on the
        queries before (`read`), counts as part of it.
        """
        running = self._running
        if not self._given:
            return _found(theirs, search, proven=False), {}
        with self._new_folder() as folder:
            give = running.give(Path(folder))
            columns, overflowed = self._read(Path(folder), source)
        convert_ms, read_ms = self._allowed(source, sum(map(len, columns.values())))
        early = max(0.0, read.busy - read_ms)
        late = late_ms(give, self._idle, convert_ms)
        if late:
            # The machine may have become slower since answers were last written.
            with self._new_folder() as folder:
                self._idle.append(running.give(Path(folder)))
            late = late_ms(give, self._idle, convert_ms)
        sending = search.sending + (read.sending if early else 0) + (give.sending if late else 0)
        ours = Span(early + search.ms + late, search.waited, sending)
        found = _found(theirs, ours, download_ms=give.ms, overflowed=overflowed)
        return found, typed_answer(self._problem, self._graph, columns)

    def reweight(self, changed: Graph) -> Reweighted:
        """Have the new weights converted, then customize.

        The conversion is free up to the time that its language needs; the rest counts. The fact
        ``weights_ms`` is the whole time.
        """
        running, weights = self._running, changed.weights
        self._graph = changed
        running.extend()
        with tempfile.NamedTemporaryFile(dir=self._folder) as file:
            weights.astype("<u4", copy=False).tofile(file)
            file.flush()
            running.ping()  # wakes the process
            converting = running.take(Path(file.name))
        update_ms, facts = running.customize()
        runs_python = self._entrant.rival.definition.adapter == "adapter.py" and not self._entrant.run.command
        free_ms = allowed_ms(weights.size, value_ns=CONVERT_NS if runs_python else COPY_NS)
        self._facts |= facts | {"weights_ms": f"{converting.busy:.3f}"}
        told = " ".join(f"{name}={value}" for name, value in self._facts.items())
        early_ms = max(0.0, converting.busy - free_ms)
        return Reweighted(way="customized", update_ms=update_ms + early_ms, facts=told)

    def instrument(self, source: int | None) -> None:
        """Return nothing: rivals do not report phases."""

    def cost(self, sources: Sequence[int | None], more_s: float) -> None:
        """Return nothing: an adapter has no request for it."""

    def state_of_device(self) -> dict[str, Any]:
        """Return further facts about the process."""
        return {
            "start_ms": self._start_ms,
            "first_search_ms": self._running.first_search_ms,
            "ping_ms": statistics.median(self._round_trips),
            "variables": self._entrant.thread_variables,
        }

    def _read(self, folder: Path, source: int | None) -> tuple[dict[str, npt.NDArray[np.uint32]], bool]:
        rows = self._entrant.rows(source)
        asked = {name: rows[name] for name in self._given if rows[name].stop > 1}
        columns, overflowed = read_answer(folder, asked)
        empty = (name for name, fitting in rows.items() if fitting.stop == 1)
        return {**columns, **{name: np.empty(0, np.uint32) for name in empty}}, overflowed

    def _allowed(self, source: int | None, values: int) -> tuple[float, float]:
        """Return the times allowed to convert an answer of this number of values, and its queries."""
        queries, graph = self._entrant.queries, self._entrant.graph
        if queries is None or source is None:
            return allowed_ms(values, len(graph) if isinstance(graph, Batch) else 1), 0.0
        return allowed_ms(values), allowed_ms(sum(map(len, queries.sets[source].arrays.values())))

    def _new_folder(self) -> tempfile.TemporaryDirectory[str]:
        try:
            return tempfile.TemporaryDirectory("", "answer-", self._folder, ignore_cleanup_errors=True)
        except OSError as error:
            raise Failed("error", f"no folder for its answer: {error.strerror}") from error


def _found(theirs: float, ours: Span, **more: Any) -> Found:
    """Return the record of a search; our clock replaces a reported time of 0."""
    waits = {"waited_ms": ours.waited, "sending_ms": ours.sending}
    usual = {"download_ms": 0.0, "overflowed": False, "phases": None}
    return Found(time_ms=theirs or ours.ms, clock_ms=ours.ms, **{**usual, **waits, **more})
