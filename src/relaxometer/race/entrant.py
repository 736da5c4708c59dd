"""Starts a rival's adapter, tunes it, and talks with it under a time limit."""

import itertools
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.core.environment import usable_cores
from relaxometer.core.errors import Failed, escaped, quoted
from relaxometer.core.supervision import waited_ms
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import RivalRun
from relaxometer.problems.problem import load_problem
from relaxometer.problems.queries import QuerySets
from relaxometer.problems.variants import Skipped, refuse_weights
from relaxometer.race.clocks import Span, believed_ms
from relaxometer.race.measurement import MAX_REASON, late
from relaxometer.race.sources import untimed_vertices
from relaxometer.rivals.adapter import Adapter
from relaxometer.rivals.definition import Rival
from relaxometer.rivals.exchange import export, obstacle, write_queries
from relaxometer.rivals.installation import Installed, installation

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON")
"""Libraries that take their number of threads from a variable ``{library}_NUM_THREADS``."""

OWN = {"PYTHONPATH", "PYTHONHOME"}  # variables of our own environment that an adapter must not see
TUNED_ON = 2  # sources on which a rival is tuned
SPARE_BYTES = 1 << 26  # bytes that a file of the adapter may have beyond an answer: caches of compiled code

MAX_LISTED = 1 << 28
"""Values that the longest column of an answer to queries may have: paths may be longer than memory."""


@dataclass(frozen=True)
class Called:
    """Milliseconds of a call, by the adapter's clock: building, all after it, and two parts of the latter."""

    building_ms: float
    answering_ms: float
    prepare_ms: float
    fetch_ms: float
    building: Span
    answering: Span  # the first two by our clock


class Running:
    """An adapter at work; each method raises :class:`Failed` if it fails.

    `first_search_ms`, by our clock, shows libraries that prepare with the first search. `rebuilds` says, once
    it is loaded, whether it can build the graph anew, for :meth:`call`.
    """

    def __init__(self, adapter: Adapter, timeout_s: float) -> None:
        self._adapter, self._timeout_s = adapter, timeout_s
        self.first_search_ms: float | None = None
        self.rebuilds = False
        self.extend()

    def extend(self) -> None:
        """Restart its time limit."""
        self._deadline = time.monotonic() + self._timeout_s

    def load(self) -> tuple[float, float, dict[str, str]]:
        """Wait until the graph is loaded and prepared; return the milliseconds of both, and facts.

        The preparation takes our time if that is clearly more.
        """
        loaded, _ = self._ask("loaded")
        self.rebuilds = "rebuilds" in loaded[1:]
        ready, span = self._ask("ready")
        prepare_ms = believed_ms(_milliseconds(ready, "ready"), span)
        return _milliseconds(loaded, "loaded"), prepare_ms, _facts(ready)

    def take(self, weights: Path) -> Span:
        """Have new weights, uint32 of shape (n_arcs,), read from a file; return the time."""
        return self._ask("taken", f"weights {weights}")[1]

    def customize(self) -> tuple[float, dict[str, str]]:
        """Have the weights of the last `take` replace the others; return milliseconds and facts."""
        words, span = self._ask("customized", "customize")
        return believed_ms(_milliseconds(words, "customized"), span), _facts(words)

    def ping(self) -> Span:
        """Return the time of a round trip of messages."""
        return self._ask("pong", "ping")[1]

    def ask(self, queries: Path) -> Span:
        """Have a query set read from a folder; return the time."""
        return self._ask("taken", f"queries {queries}")[1]

    def solve(self, source: int | None) -> tuple[float, Span]:
        """Have a search made; return its milliseconds by the adapter's clock, and its time by ours."""
        words, span = self._ask("done", "solve" if source is None else f"solve {source}")
        self.first_search_ms = self.first_search_ms or span.ms
        return _milliseconds(words, "done"), span

    def call(self, source: int | None) -> Called:
        """Have the graph built anew, prepared and searched, and the answer fetched."""
        self._ask("cleared", "clear")
        built, building = self._ask("built", "call" if source is None else f"call {source}")
        called, answering = self._ask("called")
        answering_ms, parts = _milliseconds(called, "called"), _facts(called)
        prepared_ms, solved_ms = (
            _milliseconds([parts.get(part, "")], f"called: {part}") for part in ("prepared", "solved")
        )
        times = _milliseconds(built, "built"), answering_ms, prepared_ms, answering_ms - solved_ms
        return Called(*times, building, answering)

    def give(self, folder: Path) -> Span:
        """Have the last answer written; return the time."""
        return self._ask("given", f"give {folder}")[1]

    def _ask(self, answer: str, request: str = "") -> tuple[list[str], Span]:
        """Send a request, if there is one; return the words of the reply, and the time."""
        with _failing(self._timeout_s, request or answer):
            if request:
                self._adapter.settle()
            before, ours, begin = self._adapter.waited_ms(), waited_ms(), time.perf_counter()
            if request:
                self._adapter.tell(request)
            # While we send, the adapter may work on the core that we wait for: no excuse.
            sent = waited_ms()
            words = self._adapter.expect(answer, self._deadline - time.monotonic())
            ms = (time.perf_counter() - begin) * 1e3
            return words, Span(ms, self._adapter.waited_ms() - before + waited_ms() - sent, sent - ours)


@dataclass(frozen=True)
class Entrant:
    """A rival and what it runs on.

    `installed` says how to start the adapter, or why it is absent; `exchange` is the folder of the graph's
    raw arrays. Searches answer `queries`, if they do not start from vertices.
    """

    run: RivalRun
    rival: Rival
    installed: Installed | str
    graph: Graph | Batch
    exchange: Path
    queries: QuerySets | None = None

    def check(self) -> None:
        """Raise Failed if the adapter cannot be started, or not on this graph."""
        if isinstance(self.installed, str):
            raise Failed("absent", self.installed)
        try:
            refuse_weights(load_problem(self.run.problem), self.rival, self.graph)
        except Skipped as skipped:
            raise Failed("skipped", str(skipped)) from None
        for ending in self.rival.definition.formats:
            if why := obstacle(self.graph, ending):
                raise Failed("skipped", why)
        self._check_columns()

    def _check_columns(self) -> None:
        """Raise Failed if a query set asks for a column that the rival does not give."""
        answers = self.rival.definition.problems[self.run.problem].answers
        for one in self.queries.sets.values() if self.queries and answers else ():
            wanted = [name for name, rows in one.rows(1).items() if rows.stop > 1]
            if lacking := [name for name in wanted if name not in answers]:
                raise Failed("skipped", f"it gives no {' and '.join(lacking)}, which {one.name} asks for")

    def rows(self, source: int | None) -> dict[str, range]:
        """Return the numbers of values that each column of an answer may have."""
        n, answers = self.graph.n_vertices, self.rival.definition.problems[self.run.problem].answers
        if self.queries is None or source is None:
            return dict.fromkeys(answers, range(n, n + 1))
        return dict(self.queries.sets[source].rows(n))

    def pose(self, running: Running, source: int | None) -> Span:
        """Have the query set of the next search read, if there are sets; return the time."""
        if self.queries is None or source is None:
            return Span(0.0, 0.0)
        with tempfile.TemporaryDirectory(prefix="queries-") as folder:
            write_queries(self.queries.sets[source], Path(folder))
            return running.ask(Path(folder))

    def options(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters of the adapter, and its number of threads."""
        defaults = {name: one.default for name, one in self.rival.definition.parameters.items()}
        return {**defaults, **parameters, "threads": threads_of(self.run)}

    @property
    def thread_variables(self) -> dict[str, str]:
        """The variables by which libraries set the number and the placement of threads."""
        threads = threads_of(self.run)
        variables = {f"{library}_NUM_THREADS": str(threads) for library in THREADS}
        if threads > 1:
            variables |= {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
        return variables

    @contextmanager
    def start(self, parameters: Mapping[str, Any], folder: Path) -> Iterator[Running]:
        """Start the adapter in its working directory, and end it with the block."""
        assert isinstance(self.installed, Installed)
        options = [f"{name}={_word(value)}" for name, value in self.options(parameters).items()]
        command = [*self.installed.command, str(self.exchange.absolute()), self.run.problem, *options]
        environment = {name: value for name, value in os.environ.items() if name not in OWN}
        environment |= self.thread_variables | self.installed.environment
        longest = max([self.graph.n_vertices, *self._lengths_of_answers()])
        limit = SPARE_BYTES + 8 * longest
        timeout_s = self.run.timing.timeout_s
        with _failing(timeout_s):
            adapter = Adapter(command, environment, folder, limit, one_core=self.run.kind == "cpu-1")
        with adapter:
            yield Running(adapter, timeout_s)

    def _lengths_of_answers(self) -> Iterator[int]:
        """Yield the values that columns of answers to query sets may have."""
        for one in self.queries.sets.values() if self.queries else ():
            yield from (min(rows.stop - 1, MAX_LISTED) for rows in one.rows(self.graph.n_vertices).values())

    def tuned(self, sources: np.ndarray | None, folder: Path) -> dict[str, Any]:
        """Return the parameters of the run, those of its `tune` with the values that make it fastest.

        `sources` are those of the timed searches, or None if searches have no source; it is tuned on others,
        in the adapter's working directory `folder`.
        """
        tune, given = self.run.tune, self.run.parameters
        if not tune:
            return given
        combinations = [dict(zip(tune, values, strict=True)) for values in itertools.product(*tune.values())]
        others: list[int | None] = [None]
        if self.queries is not None:
            others = [*self.queries.untimed[:TUNED_ON]]
        elif sources is not None and isinstance(self.graph, Graph):
            others = [*untimed_vertices(self.graph, sources, TUNED_ON)]
        times = [self._time({**given, **values}, others, folder) for values in combinations]
        return {**given, **combinations[times.index(min(times))]}

    def _time(self, parameters: Mapping[str, Any], sources: list[int | None], folder: Path) -> float:
        try:
            with self.start(parameters, folder) as running:
                running.load()
                for source in sources:  # warms up
                    self._time_of(running, source)
                return sum(self._time_of(running, source) for source in sources)
        except Failed:
            return float("inf")

    def _time_of(self, running: Running, source: int | None) -> float:
        self.pose(running, source)
        return running.solve(source)[0]


def enter(
    run: RivalRun,
    rival: Rival,
    graph: Graph | Batch,
    absent: str | None = None,
    queries: QuerySets | None = None,
) -> Entrant:
    """Write the graph's files for a rival, and find out how to start it unless it is known to be absent."""
    exchange = export(graph, Path("results/exchange", graph.name), rival.definition.formats)
    return Entrant(run, rival, absent or installation(rival, run.command), graph, exchange, queries)


@contextmanager
def _failing(timeout_s: float, request: str = "") -> Iterator[None]:
    """Shorten the reason of a failure, and name time limit and request in that of a timeout."""
    try:
        yield
    except Failed as error:
        reason = late(timeout_s, request) if error.status == "timeout" else error.reason
        raise Failed(error.status, reason[:MAX_REASON]) from error


def threads_of(run: RivalRun) -> int:
    """Return the number of threads that a rival may use."""
    if run.kind == "cpu-1":
        return 1
    return run.threads or usable_cores()


def _facts(words: list[str]) -> dict[str, str]:
    """Return the facts that follow the time in a message, as words ``name=value``."""
    shown = (escaped(word) for word in words[1:])
    return dict(word.split("=", 1) for word in shown if re.match("[a-z][a-z0-9_]*=", word))


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _milliseconds(words: list[str], message: str) -> float:
    try:
        value = float(words[0])
    except (IndexError, ValueError):
        value = -1.0
    if not 0 <= value < float("inf"):
        raise Failed(
            "error", f"wrote {quoted(' '.join([message, *words]))}, expected `{message} MILLISECONDS`"
        )
    return value
