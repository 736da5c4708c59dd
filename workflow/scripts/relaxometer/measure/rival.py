"""Measures one rival on one graph: its adapter as the job sees it, and the two clocks."""

from __future__ import annotations

import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.environment import cpu_model
from relaxometer.core.errors import UserError, quoted
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.measure import measurement
from relaxometer.measure.measurement import (
    MAX_REASON,
    Begun,
    Failed,
    Found,
    Measurement,
    Phase,
    Prepared,
)
from relaxometer.plan.models import RivalRun, Run
from relaxometer.problems.problem import Problem
from relaxometer.rivals.adapter import Adapter, AdapterFailed
from relaxometer.rivals.answers import Unfit, clear, read_answer
from relaxometer.rivals.definition import Rival
from relaxometer.rivals.installation import Installed

MESSAGE_MS = 0.1
"""Time for which an adapter may handle a message outside its own clock."""

CLOCK_TOLERANCE = 0.05
"""Share of a search by which the two clocks may differ beyond the way of the messages."""

LATE_TOLERANCE = 0.25
"""Share of a search by which the first writing of an answer may take longer than the second."""

LATE_MS = 1.0
"""Difference of two writings of an answer that tells nothing."""

MAX_COMBINATIONS = 64
"""Limit on the combinations of values that are tried to tune a rival."""

TUNED_ON = 2
"""Sources on which a rival is tuned."""

SPARE_BYTES = 1 << 26
"""Size that a file of the adapter may have beyond an answer: caches of compiled code."""


def measure_rival(
    run: RivalRun,
    rival: Rival,
    installed: Installed | str,
    graph: Graph | Batch,
    exchange: Path,
    sources: np.ndarray,
    device: str,
) -> Measurement:
    """Run a rival from every source; see :func:`relaxometer.measure.measurement.measure`.

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

    Returns
    -------
    Measurement
        Times are by the rival's own clock. If it is not to be trusted, the rows have status ``disputed`` and
        times by ours.
    """
    clocks = _Clocks()

    @contextmanager
    def opener(_: Run, problem: Problem, graph: Graph | Batch) -> Iterator[_Contestant]:
        with ExitStack() as stack:
            yield _Contestant(run, rival, installed, exchange, problem, graph, sources, clocks, stack)

    result = measurement.measure(opener, run, graph, sources, device)
    if run.kind != "gpu":
        result.context |= {"device_kind": "cpu", "device": cpu_model()}
    clocks.judge(result)
    return result


@dataclass
class _Clocks:
    """What our clock says of a rival: all times are in milliseconds, an element per search."""

    pings: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    """By how much the first writing of an answer took longer than the second."""
    rewriting: list[float] = field(default_factory=list)

    def objection(self) -> str:
        """Return why the rival's own times are not to be trusted; empty if they are."""
        if not self.ours:
            return ""
        ours, way = statistics.median(self.ours), statistics.median(self.pings)
        gap = statistics.median(mine - own for mine, own in zip(self.ours, self.theirs, strict=True))
        if gap > MESSAGE_MS + 3 * way + CLOCK_TOLERANCE * ours:
            return f"it says {ours - gap:.3g} ms where our clock says {ours:.3g} ms"
        if gap < -CLOCK_TOLERANCE * ours:
            return f"it says {ours - gap:.3g} ms, more than the {ours:.3g} ms of our clock"
        late = statistics.median(self.late)
        if late > max(LATE_MS, LATE_TOLERANCE * ours, 0.5 * statistics.median(self.rewriting)):
            return f"it worked on for about {late:.3g} ms after it had said `done` in {ours:.3g} ms"
        return ""

    def judge(self, result: Measurement) -> None:
        """Mark the rows of a rival whose times are not to be trusted, and give them ours."""
        reason = self.objection()
        if not reason:
            return
        late = statistics.median(self.late)
        late = late if "worked on" in reason else 0.0
        for row in result.runs:
            if row["status"] == "ok":
                row |= {"status": "disputed", "reason": reason, "time_ms": row["clock_ms"] + late}


class _Contestant:
    """A rival as the job sees it; implements :class:`relaxometer.measure.measurement.Contestant`."""

    def __init__(
        self,
        run: RivalRun,
        rival: Rival,
        installed: Installed | str,
        exchange: Path,
        problem: Problem,
        graph: Graph | Batch,
        sources: np.ndarray,
        clocks: _Clocks,
        stack: ExitStack,
    ) -> None:
        self._run, self._rival, self._installed = run, rival, installed
        self._exchange, self._problem, self._graph = exchange, problem, graph
        self._sources, self._clocks, self._stack = sources, clocks, stack
        self._given = rival.definition.problems[run.problem].answers
        self._seen: set[int | None] = set()
        self.extend()

    def extend(self) -> None:
        """Give the rival its whole time limit again, from now."""
        self._deadline = time.monotonic() + self._run.timing.timeout_s

    def begin(self) -> Begun:
        """Tune the rival if that is asked for, and start it."""
        if isinstance(self._installed, str):
            raise Failed("absent", self._installed)
        self._scratch = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="rival-")))
        self._parameters = self._tuned() if self._run.tune else self._run.parameters
        self.extend()
        self._adapter = self._start(self._parameters, self._stack)
        return Begun(runs_on="device" if self._run.kind == "gpu" else "cpu", before={})

    def prepare(self) -> Prepared:
        """Have the graph loaded and prepared."""
        loaded_ms, ready_ms, facts = self._load(self._adapter)
        definition = self._rival.definition
        version = facts.pop("version", definition.version or "unknown")
        resolved = {**self._options(self._parameters), **facts, "version": version}
        return Prepared(upload_ms=loaded_ms, prepare_ms=ready_ms, resolved=resolved, graph={})

    def warm_up(self, source: int | None) -> None:
        """Have a search made that does not count, and its answer, since the first of either takes longer."""
        self._ask(_request("solve", source), "done")
        if self._given:
            self._give(self._empty_folder())

    def solve(self, source: int | None) -> tuple[Found, dict[str, npt.NDArray[Any]]]:
        """Time a search by both clocks, then ask for its answer."""
        folder = self._empty_folder()
        self._ping()  # wakes the process
        self._clocks.pings.append(self._ping())
        begin = time.perf_counter()
        words = self._ask(_request("solve", source), "done")
        clock_ms = (time.perf_counter() - begin) * 1e3
        time_ms = _milliseconds(words, "done")
        if not self._given:
            found = Found(
                time_ms=time_ms,
                download_ms=0,
                phases=None,
                overflowed=False,
                clock_ms=clock_ms,
                proven=False,
            )
            return found, {}
        give_ms = self._give(folder)
        if source not in self._seen:
            self._seen.add(source)
            clear(folder)
            again_ms = self._give(folder)
            self._clocks.ours.append(clock_ms)
            self._clocks.theirs.append(time_ms)
            self._clocks.late.append(give_ms - again_ms)
            self._clocks.rewriting.append(again_ms)
        columns, overflowed = self._answer(folder, source)
        found = Found(
            time_ms=time_ms, download_ms=give_ms, phases=None, overflowed=overflowed, clock_ms=clock_ms
        )
        return found, columns

    def instrument(self, source: int | None) -> list[Phase] | None:
        """Rivals do not tell their phases."""
        return None

    def state_of_device(self) -> dict[str, Any]:
        """Return what else is known of the process."""
        return {"ping_ms": statistics.median(self._clocks.pings)}

    def _options(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters of the adapter, and its number of threads."""
        defaults = {name: one.default for name, one in self._rival.definition.parameters.items()}
        return {**defaults, **parameters, "threads": self._threads}

    @property
    def _threads(self) -> int:
        if self._run.kind == "cpu-1":
            return 1
        return self._run.threads or len(os.sched_getaffinity(0))

    def _start(self, parameters: Mapping[str, Any], stack: ExitStack) -> Adapter:
        assert isinstance(self._installed, Installed)
        options = [f"{name}={_word(value)}" for name, value in self._options(parameters).items()]
        command = [*self._installed.command, str(self._exchange.absolute()), self._run.problem, *options]
        threads = str(self._threads)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), threads
        )
        if self._threads > 1:
            environment |= {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
        limit = SPARE_BYTES + 8 * self._graph.n_vertices
        with _failing(self._run):
            return stack.enter_context(
                Adapter(command, environment | self._installed.environment, self._scratch, limit)
            )

    def _load(self, adapter: Adapter) -> tuple[float, float, dict[str, str]]:
        """Wait until the adapter is ready; return times and facts."""
        with _failing(self._run):
            loaded = adapter.expect("loaded", self._rest())
            ready = adapter.expect("ready", self._rest())
        facts = dict(word.split("=", 1) for word in ready[1:] if "=" in word)
        return _milliseconds(loaded, "loaded"), _milliseconds(ready, "ready"), facts

    def _tuned(self) -> dict[str, Any]:
        """Return the parameters with the values that were fastest on sources that are not timed."""
        tune = self._run.tune
        combinations = [dict(zip(tune, values, strict=True)) for values in itertools.product(*tune.values())]
        if len(combinations) > MAX_COMBINATIONS:
            raise UserError(
                f"{self._run.problem}.rivals.{self._run.variant}: tune has {len(combinations)} combinations "
                f"of values, at most {MAX_COMBINATIONS}"
            )
        others = np.setdiff1d(np.flatnonzero(self._graph.degrees), self._sources)
        others = others[:: max(1, len(others) // TUNED_ON)][:TUNED_ON] if len(others) else self._sources[:1]
        times: dict[int, float] = {}
        for number, values in enumerate(combinations):
            self.extend()
            with ExitStack() as stack:
                adapter = self._start({**self._run.parameters, **values}, stack)
                try:
                    self._load(adapter)
                    for source in [*others, *others]:  # the second pass counts
                        with _failing(self._run):
                            words = adapter.ask(_request("solve", int(source)), "done", self._rest())
                        times[number] = times.get(number, 0.0) + _milliseconds(words, "done")
                except Failed:
                    times.pop(number, None)
        best = min(times, key=times.__getitem__, default=0)
        return {**self._run.parameters, **combinations[best]}

    def _ping(self) -> float:
        """Return the time that a message takes there and back, in milliseconds."""
        begin = time.perf_counter()
        self._ask("ping", "pong")
        return (time.perf_counter() - begin) * 1e3

    def _empty_folder(self) -> Path:
        """Return the folder of answers, without those of the search before."""
        folder = self._scratch / "answer"
        folder.mkdir(exist_ok=True)
        clear(folder)
        return folder

    def _give(self, folder: Path) -> float:
        begin = time.perf_counter()
        self._ask(f"give {folder}", "given")
        return (time.perf_counter() - begin) * 1e3

    def _answer(self, folder: Path, source: int | None) -> tuple[dict[str, npt.NDArray[Any]], bool]:
        """Read an answer, and make the columns that the rival does not give."""
        try:
            columns, overflowed = read_answer(folder, self._given, self._graph.n_vertices)
        except Unfit as error:
            raise Failed(error.status, str(error)) from None
        missing = self._problem.columns.keys() - columns.keys()
        if missing and self._problem.complete and isinstance(self._graph, Graph) and source is not None:
            columns = {**self._problem.complete(self._graph, source, columns), **columns}
        return {name: columns[name] for name in self._problem.columns}, overflowed

    def _ask(self, request: str, answer: str) -> list[str]:
        with _failing(self._run):
            return self._adapter.ask(request, answer, self._rest())

    def _rest(self) -> float:
        return self._deadline - time.monotonic()


@contextmanager
def _failing(run: RivalRun) -> Iterator[None]:
    """Turn what became of an adapter into the status of the rows."""
    try:
        yield
    except AdapterFailed as error:
        late = f"not finished within timeout_s = {run.timing.timeout_s:g}"
        reason = late if error.status == "timeout" else error.reason
        raise Failed(error.status, reason[:MAX_REASON]) from error


def _request(word: str, source: int | None) -> str:
    return word if source is None else f"{word} {source}"


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _milliseconds(words: list[str], message: str) -> float:
    """Return the time that a message carries."""
    try:
        value = float(words[0])
    except (IndexError, ValueError):
        value = -1.0
    if not 0 <= value < float("inf"):
        raise Failed(
            "error", f"wrote {quoted(' '.join([message, *words]))}, expected `{message} MILLISECONDS`"
        )
    return value
