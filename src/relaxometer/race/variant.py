"""Measures one variant on one graph: the contestant (`contestant.py`) as the job sees it.

The contestant is alone on the GPU while it is timed: a second open context, even an idle one, made searches
up to 0.3 ms slower. So its answers, which arrive as bytes, are kept until it has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator

from relaxometer.core.errors import Failed
from relaxometer.core.supervision import Child, ChildDied, DeadlinePassed
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import Run
from relaxometer.problems.phases import Phase
from relaxometer.problems.problem import added_folders, load_problem
from relaxometer.problems.queries import QuerySets
from relaxometer.problems.variants import kernel_hash
from relaxometer.race import contestant, measurement
from relaxometer.race.clocks import Span, believed_ms
from relaxometer.race.measurement import MAX_REASON, Begun, Costs, Count, Found, Prepared, Reply, Reweighted
from relaxometer.race.proofs import Columns

FAILURES = frozenset({"skipped", "oom", "error", "usage"})
"""Failures that a contestant may report; "usage" is a mistake of the user."""

COMPILING_S = 60.0
"""Seconds beyond `timeout_s` for the first preparation, which compiles all kernels that are not cached."""


def measure(
    run: Run,
    graph: Graph | Batch,
    sources: np.ndarray,
    device: str,
    number: int = 1,
    queries: QuerySets | None = None,
) -> measurement.Measurement:
    """Run a variant from every source; see :func:`relaxometer.race.measurement.measure`."""
    opening = open_variant(run, graph, device, queries)
    result = measurement.measure(opening, run, graph, sources, device, number, queries)
    result.context["kernels"] = kernel_hash(run.problem, run.solver)
    return result


@contextmanager
def open_variant(
    run: Run,
    graph: Graph | Batch,
    device: str,
    queries: QuerySets | None = None,
    changes: Iterable[npt.NDArray[Any]] = (),
) -> Iterator[_VariantClient]:
    """Start a variant in a process of its own, and end it; `changes` are the weights of `reweight`."""
    columns = load_problem(run.problem).columns_on(graph)
    with Child(contestant.serve, run, graph, device, added_folders(), queries, changes) as child:
        yield _VariantClient(child, columns, graph.n_vertices, run.timing.timeout_s, queries)


class _Column(Reply):
    name: str
    dtype: str
    shape: list[Count]


class _Columns(Reply):
    columns: list[_Column]


def _countable(phase: Phase) -> Phase:
    if not 0 <= min(phase.updated, phase.relaxed_arcs) <= max(phase.updated, phase.relaxed_arcs) < 2**63:
        raise ValueError("counts should be from 0 to 2**63 - 1")
    return phase


class _Phases(Reply):
    phases: list[Annotated[Phase, AfterValidator(_countable)]]


class _VariantClient:
    """The contestant as the job sees it: validated replies, or a failure."""

    def __init__(
        self,
        child: Child,
        columns: Mapping[str, np.dtype[Any]],
        n_vertices: int,
        timeout_s: float,
        queries: QuerySets | None = None,
    ) -> None:
        self._child, self._columns, self._n, self._timeout_s = child, columns, n_vertices, timeout_s
        self._queries = queries
        self.extend()
        self.begun = Begun.read(self._ask())

    def extend(self, more_s: float = 0) -> None:
        """Give the contestant another `timeout_s` from now, and `more_s`."""
        self._deadline = time.monotonic() + self._timeout_s + more_s

    def prepare(self, sources: Sequence[int | None]) -> Prepared:
        self.extend(COMPILING_S)
        loaded = self._ask(load=list(sources))
        self.extend()
        prepared = Prepared.read(loaded | self._ask(prepare=None))
        return prepared.model_copy(update={"prepare_ms": self._believed_ms(prepared.prepare_ms)})

    def _believed_ms(self, theirs: float) -> float:
        """Return the time of the last request."""
        return believed_ms(theirs, Span(self._child.reply_ms, self._child.reply_waited_ms))

    def warm_up(self, source: int | None) -> float:
        search_ms: float = self._ask(warm_up=source)["search_ms"]
        return search_ms

    def solve(self, source: int | None) -> tuple[Found, Columns]:
        """Return the reply to a search, and the columns of its answer."""
        self._ask(pose=source)
        return self._answer(source, self._ask(solve=None)["time_ms"])

    def call(self, source: int | None) -> tuple[Found, Columns]:
        """Have the graph uploaded, prepared and searched, then prepared and searched again where it is."""
        self.extend()
        self._ask(clear=source)
        call_ms = self._ask(call=source)["time_ms"]
        found, columns = self._answer(source, self._believed_ms(call_ms))
        self._ask(release=None)
        prepare_ms = self._believed_ms(self._ask(prepare=None)["prepare_ms"])
        cold_ms = prepare_ms + self.warm_up(source)
        return found.model_copy(update={"prepare_ms": prepare_ms, "cold_ms": cold_ms}), columns

    def _answer(self, source: int | None, time_ms: float) -> tuple[Found, Columns]:
        times = {"time_ms": time_ms, "clock_ms": self._child.reply_ms}
        times["waited_ms"] = self._child.reply_waited_ms
        given = self._ask(give=None)
        described = _Columns.read({"columns": given.pop("columns", None)}).columns
        self._check_columns(described, self._rows(source))
        shapes = {column.name: column.shape for column in described}
        columns = {name: np.empty(shapes[name], dtype) for name, dtype in self._columns.items()}
        for column in described:
            self._within(partial(self._child.receive_array, array=columns[column.name]))
        return Found.read(given | times), columns

    def reweight(self, changed: Graph) -> Reweighted:
        """Have the next weights taken, which the contestant's process draws as this one did."""
        self.extend()
        taken = self._ask(take=None)
        reweighted = Reweighted.read(taken | self._ask(reweight=None))
        return reweighted.model_copy(update={"update_ms": self._believed_ms(reweighted.update_ms)})

    def instrument(self, source: int | None) -> list[Phase]:
        return _Phases.read(self._ask(instrument=source)).phases

    def cost(self, sources: Sequence[int | None], more_s: float) -> Costs | None:
        self.extend(more_s)
        return Costs.read(self._ask(cost=list(sources)))

    def state_of_device(self) -> dict[str, Any]:
        return self._ask(context=None)

    def _rows(self, source: int | None) -> Mapping[str, range]:
        if self._queries is not None and source is not None:
            return self._queries.sets[source].rows(self._n)
        return dict.fromkeys(self._columns, range(self._n, self._n + 1))

    def _check_columns(self, columns: list[_Column], rows: Mapping[str, range]) -> None:
        """Compare the columns of an answer with those of the problem, before their bytes are read."""
        expected = {name: str(dtype) for name, dtype in self._columns.items()}
        if sorted(column.name for column in columns) != sorted(expected):
            names = ", ".join(column.name for column in columns)[:80]
            raise Failed("invalid", f"the answer has columns {names}; expected {', '.join(expected)}")
        for column in columns:
            fitting = rows[column.name]
            fits = len(column.shape) == 1 and column.shape[0] in fitting
            if column.dtype != expected[column.name] or not fits:
                wanted = f"({fitting.start},)" if len(fitting) == 1 else f"at most {fitting.stop - 1} rows"
                raise Failed(
                    "invalid",
                    f"column {column.name} has type {column.dtype[:80]} and shape {tuple(column.shape)[:8]}; "
                    f"expected {expected[column.name]} and {wanted}",
                )

    def _ask(self, **request: Any) -> dict[str, Any]:
        (what,) = request or ("",)
        reply: dict[str, Any] = self._within(lambda seconds: self._child.ask(seconds, **request), what)
        if "status" in reply:
            # A contestant says why it failed, never that it is right.
            status = reply["status"] if reply["status"] in FAILURES else "error"
            raise Failed(status, str(reply.get("reason", ""))[:MAX_REASON])
        return reply

    def _within(self, do: Callable[[float], Any], request: str = "give") -> Any:
        try:
            return do(self._deadline - time.monotonic())
        except DeadlinePassed as error:
            raise Failed("timeout", measurement.late(self._timeout_s, request)) from error
        except ChildDied as error:
            raise Failed("error", str(error)) from error
