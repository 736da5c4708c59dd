"""A rival in the study of new weights: it customizes what it has prepared; its answers are completed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import RivalRun
from relaxometer.problems.problem import Problem, load_problem
from relaxometer.race.clocks import CONVERT_NS, COPY_NS, Span, allowed_ms, believed_ms, late_ms
from relaxometer.race.contestant import CUSTOMIZED
from relaxometer.race.entrant import Entrant, Running
from relaxometer.race.proofs import Search
from relaxometer.rivals.answers import completed_answer, read_answer
from relaxometer.rivals.definition import Rival
from relaxometer.rivals.exchange import export
from relaxometer.rivals.installation import installation
from relaxometer.studies.study import Row


@contextmanager
def rival_in_traffic(run: RivalRun, rival: Rival, graph: Graph, source: int) -> Iterator[RivalInTraffic]:
    """Start a rival, which prepares the graph with its first weights and searches once; end it after.

    Parameters
    ----------
    run : RivalRun
    rival : Rival
    graph : Graph
    source : int
        Source of the warm-up search.

    Raises
    ------
    Failed
        If it is absent, does not suit the graph, or fails.
    """
    exchange = Path("results/exchange", graph.name)
    entrant = Entrant(run, rival, installation(rival, run.command), graph, exchange)
    entrant.check()
    export(graph, exchange, rival.definition.formats)
    with (
        tempfile.TemporaryDirectory(prefix="rival-", ignore_cleanup_errors=True) as folder,
        entrant.start(run.parameters, Path(folder)) as running,
    ):
        facts = {"version": rival.definition.version or "unknown", **running.load().facts}
        running.solve(source)
        answers = rival.definition.problems[run.problem].answers
        runs_python = rival.definition.adapter == "adapter.py" and not run.command
        take_ns = CONVERT_NS if runs_python else COPY_NS
        yield RivalInTraffic(running, load_problem(run.problem), answers, facts, Path(folder), take_ns)


class RivalInTraffic:
    """A rival at work; implements :class:`relaxometer.studies.traffic.TrafficContestant`.

    Parameters
    ----------
    running : Running
    problem : Problem
    answers : list of str
        Columns that it gives.
    facts : dict of str to str
        Told by the adapter so far.
    folder : Path
        The adapter's working directory.
    take_ns : float
        Nanoseconds per arc within which an honest adapter converts new weights.
    """

    def __init__(
        self,
        running: Running,
        problem: Problem,
        answers: list[str],
        facts: dict[str, str],
        folder: Path,
        take_ns: float,
    ) -> None:
        self._running, self._problem, self._answers = running, problem, answers
        self._facts, self._folder, self._take_ns = facts, folder, take_ns
        self._changed: Graph

    def take(self, changed: Graph) -> Row:
        """Have the rival convert the new weights, and then customize.

        The conversion is free up to the time that its language needs; the rest counts. The fact
        ``weights_ms`` is the whole time.
        """
        self._changed = changed
        self._running.extend()
        weights = changed.weights
        with tempfile.NamedTemporaryFile(dir=self._folder) as file:
            weights.astype("<u4", copy=False).tofile(file)
            file.flush()
            self._running.ping()  # wakes the process
            converting = self._running.take(Path(file.name))
        update_ms, facts = self._running.customize()
        self._facts |= facts | {"weights_ms": f"{converting.busy:.3f}"}
        early_ms = max(0.0, converting.busy - allowed_ms(weights.size, value_ns=self._take_ns))
        told = " ".join(f"{name}={value}" for name, value in self._facts.items())
        return {"way": CUSTOMIZED, "update_ms": update_ms + early_ms, "facts": told}

    def search(self, source: int) -> Search:
        """Time a search, including any work that it defers to `give`, and read the answer."""
        running, host = self._running, self._changed
        given = [column for column in self._problem.columns if column in self._answers]
        running.ping()
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            theirs, span = running.solve(source)
            give = running.give(Path(folder))
            columns, overflowed = read_answer(Path(folder), given, host.n_vertices)
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            running.ping()  # as before the search, so that it waits for a message
            again = running.give(Path(folder))
        answer = completed_answer(self._problem, host, dict(columns), source)
        late = late_ms(give, [again], allowed_ms(len(given) * host.n_vertices))
        row = {"time_ms": believed_ms(theirs, Span(span.ms + late, span.waited)) or span.ms}
        return Search(row, source, answer, overflowed)
