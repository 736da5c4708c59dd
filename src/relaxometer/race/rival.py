"""Measures one rival on one graph: its searches as the job sees them, and its answers."""

from __future__ import annotations

import itertools
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.environment import cpu_model
from relaxometer.core.errors import Failed
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import RivalRun, Run
from relaxometer.problems.problem import Problem
from relaxometer.problems.queries import QuerySets
from relaxometer.race import measurement, reference
from relaxometer.race.clocks import RESTED, Clocks, Rested, Sample, Span, time_to_convert
from relaxometer.race.entrant import Entrant
from relaxometer.race.measurement import Begun, Found, Measurement, Phase, Prepared
from relaxometer.rivals.answers import completed_answer, read_answer
from relaxometer.rivals.definition import Rival
from relaxometer.rivals.installation import Installed


def measure_rival(
    run: RivalRun,
    rival: Rival,
    installed: Installed | str,
    graph: Graph | Batch,
    exchange: Path,
    sources: np.ndarray,
    device: str,
    number: int = 1,
    queries: QuerySets | None = None,
) -> Measurement:
    """Run a rival from every source; see :func:`relaxometer.race.measurement.measure`.

    Parameters
    ----------
    run : RivalRun
    rival : Rival
    installed : Installed or str
        How to start the adapter, or why it is absent.
    graph : Graph or Batch
    exchange : Path
        The folder of the graph's raw arrays.
    sources : ndarray of shape (n_sources,), integers
    device : {"auto", "cuda", "host"}
        Where the answers are proven.
    number : int
        The round that this is, from 1.
    queries : QuerySets, optional
        The query sets that the searches answer; `sources` are their numbers.

    Returns
    -------
    Measurement
        Times are by the rival's own clock. If it is not to be trusted, the rows have status ``disputed`` and
        times by ours.
    """
    entrant = Entrant(run, rival, installed, graph, exchange, queries)
    given = rival.definition.problems[run.problem].answers
    parts = len(graph) if isinstance(graph, Batch) else 1
    clocks = Clocks(time_to_convert(len(given) * graph.n_vertices, parts), is_cold=run.timing.warmup == 0)

    @contextmanager
    def opener(_: Run, problem: Problem, graph: Graph | Batch) -> Iterator[_RivalClient]:
        with ExitStack() as stack:
            yield _RivalClient(entrant, problem, sources, clocks, stack)

    before = _reference_ms(run, installed, device)
    result = measurement.measure(opener, run, graph, sources, device, number, queries)
    result.context["reference_ms"] = {"before": before, "after": _reference_ms(run, installed, device)}
    if run.kind != "gpu":
        result.context |= {"device_kind": "cpu", "device": cpu_model()}
    elif result.context["device_kind"] != "cuda":  # that of the proof
        result.context |= {"device_kind": "cuda", "device": "a GPU"}
    if isinstance(installed, str):
        result.context["absent"] = installed
    clocks.judge(result)
    return result


def _reference_ms(run: RivalRun, installed: Installed | str, device: str) -> float | None:
    """Return the time of a fixed piece of work where a rival runs."""
    if isinstance(installed, str):
        return None
    return reference.apart_ms(device) if run.kind == "gpu" else reference.cpu_ms()


class _RivalClient:
    """A rival as the job sees it; implements :class:`relaxometer.race.measurement.Contestant`."""

    def __init__(
        self, entrant: Entrant, problem: Problem, sources: np.ndarray, clocks: Clocks, stack: ExitStack
    ) -> None:
        self._entrant, self._problem, self._sources = entrant, problem, sources
        self._clocks, self._stack = clocks, stack
        answers = entrant.rival.definition.problems[entrant.run.problem].answers
        self._given = [column for column in problem.columns if column in answers]
        self._round_trips: list[float] = []

    def extend(self) -> None:
        """Give the rival its whole time limit again, from now."""
        self._running.extend()

    def begin(self) -> Begun:
        """Tune the rival if that is asked for, and start it."""
        self._entrant.check()
        run = self._entrant.run
        scratch = tempfile.TemporaryDirectory(prefix="rival-", ignore_cleanup_errors=True)
        self._folder = Path(self._stack.enter_context(scratch))
        has_source = self._problem.has_source and isinstance(self._entrant.graph, Graph)
        self._parameters = self._entrant.tuned(self._sources if has_source else None, self._folder)
        self._began = time.perf_counter()
        self._running = self._stack.enter_context(self._entrant.start(self._parameters, self._folder))
        return Begun(runs_on="device" if run.kind == "gpu" else "cpu", before={})

    def prepare(self, sources: Sequence[int | None]) -> Prepared:
        """Have the graph loaded and prepared, once: an adapter cannot do it again."""
        loaded = self._running.load()
        self._start_ms = _ms_since(self._began)
        options, definition = self._entrant.options(self._parameters), self._entrant.rival.definition
        facts = {"version": definition.version or "unknown", **loaded.facts, "threads": options["threads"]}
        return Prepared(
            upload_ms=loaded.load_ms, prepare_ms=loaded.prepare_ms, resolved=options | facts, graph={}
        )

    def warm_up(self, source: int | None) -> float:
        """Have an untimed search made; return its milliseconds by our clock."""
        self._entrant.pose(self._running, source)
        _, search = self._running.solve(source)
        if self._given:
            with self._new_folder() as folder:
                self._running.give(folder)
        return search.ms

    def solve(self, source: int | None) -> tuple[Found, dict[str, npt.NDArray[Any]]]:
        """Time a search by both clocks, then ask for its answer.

        The answer goes to a new folder, so it is not that of an earlier search. It is requested twice, since
        an adapter that worked on after `done` is slower the first time.
        """
        running = self._running
        read = self._entrant.pose(running, source)
        running.ping()  # wakes the process
        self._round_trips.append(running.ping().busy)
        if not self._given:
            theirs, search = running.solve(source)
            nothing = Span(0.0, 0.0)
            self._clocks.add(
                Sample(source, theirs, search, search.ms, self._round_trips[-1], nothing, nothing)
            )
            return _found(theirs, search, proven=False), {}
        with self._new_folder() as folder:
            begin = time.perf_counter()
            theirs, search = running.solve(source)
            give = running.give(folder)
            given_ms = _ms_since(begin)
            columns, overflowed = self._read(folder, source)
        with self._new_folder() as folder:
            running.ping()  # as before the search, so that it waits for a message
            again = running.give(folder)
        convert_ms, read_ms = self._allowed(source, sum(map(len, columns.values())))
        spans = self._round_trips[-1], give, again
        self._clocks.add(Sample(source, theirs, search, given_ms, *spans, convert_ms, read, read_ms))
        found = _found(theirs, search, download_ms=give.ms, overflowed=overflowed)
        return found, completed_answer(self._problem, self._entrant.graph, columns, source)

    def instrument(self, source: int | None) -> list[Phase] | None:
        """Return None: rivals do not report phases."""
        return None

    def cost(self, sources: Sequence[int | None], more_s: float) -> None:
        """Return nothing: an adapter has no request for it."""

    def state_of_device(self) -> dict[str, Any]:
        """Look for searches that outlast their ``done``; return further facts about the process."""
        pause_s = self._clocks.pause_s
        if self._given and pause_s is not None:
            self._running.extend()
            sources = itertools.cycle(dict.fromkeys(sample.source for sample in self._clocks.samples))
            self._clocks.fell = True  # until the last of them
            for source in itertools.islice(sources, RESTED):
                later_ms, at_once_ms = (self._time_to_give(source, pause) for pause in (pause_s, 0.0))
                self._clocks.rested.append(Rested(at_once_ms, later_ms))
            self._clocks.fell = False
        return {
            "start_ms": self._start_ms,
            "first_search_ms": self._running.first_search_ms,
            "ping_ms": statistics.median(self._round_trips),
            "variables": self._entrant.thread_variables,
        }

    def _read(self, folder: Path, source: int | None) -> tuple[dict[str, npt.NDArray[np.uint32]], bool]:
        """Return the columns of an answer, empty if not requested, and whether it overflowed."""
        rows = self._entrant.rows(source)
        asked = [name for name in self._given if rows[name].stop > 1]
        columns, overflowed = read_answer(folder, asked, self._entrant.graph.n_vertices, rows)
        empty = (name for name, fitting in rows.items() if fitting.stop == 1)
        return {**columns, **{name: np.empty(0, np.uint32) for name in empty}}, overflowed

    def _allowed(self, source: int | None, values: int) -> tuple[float | None, float]:
        """Return the times allowed to convert an answer of this number of values, and the queries."""
        queries = self._entrant.queries
        if queries is None or source is None:
            return None, 0.0
        asked = sum(map(len, queries.sets[source].arrays.values()))
        return time_to_convert(values, 1), time_to_convert(asked, 1)

    def _time_to_give(self, source: int | None, pause_s: float) -> float:
        """Return the milliseconds to write an answer, requested `pause_s` after the search."""
        self._entrant.pose(self._running, source)
        with self._new_folder() as folder:
            self._running.solve(source)
            time.sleep(pause_s)
            # The ping wakes the process; it counts, since the search may end there.
            return self._running.ping().busy + self._running.give(folder).busy

    @contextmanager
    def _new_folder(self) -> Iterator[Path]:
        """Make a folder with an unpredictable name; remove it at the end of the block."""
        try:
            folder = tempfile.mkdtemp(prefix="answer-", dir=self._folder)
        except OSError as error:
            raise Failed("error", f"no folder for its answer: {error.strerror}") from error
        try:
            yield Path(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _found(theirs: float, search: Span, **more: Any) -> Found:
    """Return the record of a search; our clock replaces a reported time of 0."""
    usual = {"download_ms": 0.0, "overflowed": False, "phases": None}
    return Found(time_ms=theirs or search.ms, clock_ms=search.ms, **{**usual, **more})


def _ms_since(begin: float) -> float:
    return (time.perf_counter() - begin) * 1e3
