"""A variant at work, in a process of its own: it loads the graph, prepares, and searches when asked.

`variant.py` asks and judges. Each request is one word and its argument, a source, the number of a query set,
or null; the method of this name makes the reply. A failure is the last reply: ``status`` and ``reason``.
"""

import contextlib
import dataclasses
import gc
import itertools
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.environment import keep_to_one_core
from relaxometer.core.errors import UserError
from relaxometer.core.supervision import Link
from relaxometer.device import DeviceOutOfMemory, counters, get_device, stopwatch
from relaxometer.device.rates import copy_rate
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.fingerprint import Fingerprint
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.plan.models import Run
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.problem import add_folders, load_problem
from relaxometer.problems.queries import QuerySets
from relaxometer.race import cost, reference

Weights = npt.NDArray[Any]


def serve(
    link: Link,
    run: Run,
    graph: Graph | Batch,
    device: str,
    folders: Sequence[str],
    queries: QuerySets | None = None,
    changes: Iterable[Weights] = (),
) -> None:
    """Answer requests until there are no more or one fails."""
    try:
        add_folders(folders)
        contestant = _VariantProcess(run, graph, device, queries, iter(changes))
    except UserError as error:
        link.reply(status="usage", reason=str(error))
        return
    except BaseException as error:  # SystemExit too
        link.reply(**_failure(error))
        return
    try:
        kinds = {"runs_on": contestant.runs_on, "emulated": contestant.emulated}
        link.reply(**kinds, reference_ms=contestant.reference_ms(), before=contestant.device.context())
        for request in link.requests():
            ((what, argument),) = request.items()
            contestant.answer(link, what, argument)
    except BrokenPipeError:
        raise
    except BaseException as error:  # SystemExit too
        link.reply(**_failure(error, contestant.driver))


def _failure(error: BaseException, driver: str = "") -> dict[str, str]:
    """Return status and reason of a failure, with the line of the driver's file where it arose."""
    if isinstance(error, variants.Skipped):
        return {"status": "skipped", "reason": str(error)}
    if isinstance(error, MemoryError):
        return {"status": "oom", "reason": str(error) or "out of memory"}
    if isinstance(error, UserError):
        return {"status": "error", "reason": str(error)}
    traceback.print_exception(error)
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    frames = traceback.walk_tb(error.__traceback__)
    if lines := [line for frame, line in frames if frame.f_code.co_filename == driver]:
        reason = f"{reason.rstrip()} ({Path(driver).name}:{lines[-1]})"
    return {"status": "error", "reason": reason}


class _VariantProcess:
    def __init__(
        self,
        run: Run,
        graph: Graph | Batch,
        device: str,
        queries: QuerySets | None,
        changes: Iterator[Weights],
    ) -> None:
        self._run, self._host, self._queries, self._changes = run, graph, queries, changes
        self._module = variants.load_solver(run.problem, run.solver)
        self.driver: str = self._module.__file__
        self.runs_on = self._module.Solver.runs_on
        self.device = get_device(device)
        self.emulated = self.runs_on == "device" and self.device.kind == "host"
        self._meter = self._open_meter() if run.cost.energy_s else None
        self._columns: list[npt.NDArray[Any]] = []  # those of an answer, until they are sent
        # Bytes of device memory in use after each timed search, where that is known; and bytes outside the
        # pool before the variant's graph and kernels are loaded, and after.
        self._used: list[int] = []
        self._outside: list[int | None] = []

    def answer(self, link: Link, what: str, argument: Any) -> None:
        link.reply(**getattr(self, what)(argument))
        while self._columns:
            link.send_array(self._columns.pop(0))

    def reference_ms(self) -> float | None:
        """Return the time of a fixed piece of work where this variant runs."""
        return reference.cpu_ms() if self.runs_on == "cpu" else reference.device_ms(self.device)

    def _start(self, source: int | None) -> Any:
        """Return what a search starts from: a source, nothing, or a query set on the device."""
        if self._queries is None or source is None:
            return source
        return self._queries.sets[source].upload(self.device)

    def load(self, sources: Sequence[int | None]) -> dict[str, Any]:
        """Upload the graph, and have a first solver load all kernels by searches that are not timed."""
        parameters, device = self._run.solver_parameters, self.device
        self._outside = [cost.bytes_outside_pool(self._meter, device)]
        variants.refuse_weights(load_problem(self._run.problem), self._module.Solver, self._host)
        with stopwatch() as upload:
            resident = self._upload(self._host)
            device.synchronize()
        self._fingerprint = Fingerprint(resident)
        fingerprints = self._fingerprint.take()
        solver = self._module.Solver(_arrived_again(resident), parameters)
        resolved = solver.resolved
        # If it is not a dict, the parent refuses it with a reason.
        if self.runs_on == "cpu" and isinstance(resolved, dict) and variants.uses_one_core(resolved):
            keep_to_one_core()  # as rivals must
        for source in () if self.emulated else sources:  # the emulation has loaded all kernels
            solver.solve(self._start(source))
        device.synchronize()
        self._outside.append(cost.bytes_outside_pool(self._meter, device))
        self._arrived: Any = _arrived_again(resident)
        return {"upload_ms": upload.ms, "graph": fingerprints}

    def _upload(self, graph: Graph | Batch) -> ResidentGraph | ResidentBatch:
        if isinstance(graph, Batch):
            return ResidentBatch.upload(self.device, graph)
        arcs = self._run.solver_parameters.wants_arcs(graph.n_arcs)
        weights = bool(load_problem(self._run.problem).lengths)
        return ResidentGraph.upload(self.device, graph, arcs=arcs, weights=weights)

    def prepare(self, _: None) -> dict[str, Any]:
        with stopwatch() as prepare:
            self._solver = self._module.Solver(self._arrived, self._run.solver_parameters)
            self.device.synchronize()
        return {"prepare_ms": prepare.ms, "resolved": self._solver.resolved}

    def take(self, _: None) -> dict[str, Any]:
        """Upload the next weights, for the study `traffic.py`."""
        assert isinstance(self._host, Graph)
        weights = next(self._changes)
        # Numba would compile anew for arrays that differ in this.
        weights.setflags(write=self._host.weights.flags.writeable)
        host = dataclasses.replace(self._host, weights=weights)
        self._changed = ResidentGraph.upload(self.device, host)
        self._fingerprint = Fingerprint(self._changed)
        return {"graph": self._fingerprint.take()}

    def reweight(self, _: None) -> dict[str, Any]:
        """Customize the solver with the weights that were taken, or prepare it anew."""
        changed = self._changed
        customizes = hasattr(self._solver, "customize")
        with stopwatch() as update:
            if customizes:
                self._solver.customize(changed.host.weights if self.runs_on == "cpu" else changed.weights)
            else:
                self._solver = self._module.Solver(changed, self._run.solver_parameters)
            self.device.synchronize()
        return {"way": "customized" if customizes else "prepared anew", "update_ms": update.ms}

    def warm_up(self, source: int | None) -> dict[str, Any]:
        start = self._start(source)
        if hasattr(self, "_fingerprint"):
            self._fingerprint.warm_up()
        with stopwatch() as search:
            self._solver.solve(start)
            self.device.synchronize()
        return {"search_ms": search.ms}

    def pose(self, source: int | None) -> dict[str, Any]:
        """Make ready for a timed search; the query set, if there are sets, is on the device from now on."""
        self._posed = self._start(source)
        # A launch, since the first one after an answer was moved is slower.
        self._fingerprint.warm_up()
        if self._run.timing.flush_cache:
            self.device.flush_cache()
        return {}

    def solve(self, _: None) -> dict[str, Any]:
        """Make a timed search; the reply comes as soon as it is done."""
        on_host = self.runs_on == "cpu" or getattr(self._solver, "ends_on_host", False)
        with _uncollected(), stopwatch() if on_host else self.device.timer() as search:
            self._answer = self._solver.solve(self._posed)
        return {"time_ms": search.ms}

    def release(self, _: None) -> dict[str, Any]:
        """Free what a solver has, before the next one is constructed on the same arrays."""
        del self._solver
        self._arrived = _arrived_again(self._arrived)
        gc.collect()  # a solver may refer to itself
        return {}

    def clear(self, source: int | None) -> dict[str, Any]:
        """Free what an earlier solver has, before a call; a CPU program reads and answers in host memory."""
        self.release(None)
        if self.runs_on == "cpu":
            self._posed = self._start(source)
        else:
            del self._arrived, self._posed
            self.__dict__.pop("_fingerprint", None)  # refers to the arrays of the graph
            self._host = dataclasses.replace(self._host)
        return {}

    def call(self, source: int | None) -> dict[str, Any]:
        """Upload the graph, prepare, search and fetch the answer."""
        on_cpu = self.runs_on == "cpu"
        with _uncollected(), stopwatch() as call:
            if not on_cpu:
                self._arrived, self._posed = self._upload(self._host), self._start(source)
            self._solver = self._module.Solver(self._arrived, self._run.solver_parameters)
            answer = self._solver.solve(self._posed)
            columns = answer.columns if on_cpu else self._fetch(answer)
        told = {"phases": answer.phases, "overflowed": getattr(answer, "overflowed", False)}
        self._answer = SimpleNamespace(columns=columns, **told)
        return {"time_ms": call.ms}

    def _fetch(self, answer: Any) -> dict[str, npt.NDArray[Any]]:
        arrays = self.device.asnumpys(*answer.columns.values())
        return dict(zip(answer.columns, map(np.asarray, arrays), strict=True))

    def give(self, _: None) -> dict[str, Any]:
        """Describe the last answer, whose columns follow."""
        answer = self._answer
        del self._answer
        if not hasattr(answer, "columns"):
            kind = type(answer).__name__
            raise UserError(f"{Path(self.driver).name}: solve returned {kind}, not an Answer")
        with stopwatch() as download:
            columns = self._fetch(answer)
        if (memory := cost.pool_bytes(self.device)) is not None:
            self._used.append(memory[0])
        described = [
            {"name": name, "dtype": str(column.dtype), "shape": column.shape}
            for name, column in columns.items()
        ]
        self._columns = list(columns.values())
        return {
            "download_ms": download.ms,
            "phases": answer.phases,
            "overflowed": bool(getattr(answer, "overflowed", False)),
            "columns": described,
            "graph": self._fingerprint.take() if hasattr(self, "_fingerprint") else {},
            "throttled": self._throttled(),
        }

    def instrument(self, source: int | None) -> dict[str, Any]:
        """Make a search that counts what each phase does."""
        phases: list[Phase] = []
        self._solver.solve(self._start(source), phases)
        return {"phases": [dataclasses.asdict(phase) for phase in phases]}

    def context(self, _: None) -> dict[str, Any]:
        """Return the state of the device after the searches, and what the solver has decided by then."""
        resolved = self._solver.resolved
        return {"reference_ms": self.reference_ms(), "after": self.device.context(), "parameters": resolved}

    def _open_meter(self) -> counters.Meter | None:
        """Return the counters of what this variant runs on; None where there are none."""
        if self.runs_on == "cpu":
            return counters.open_rapl()
        return None if self.emulated else counters.open_nvml(self.device.bus_id)

    def _throttled(self) -> str | None:
        """Return why the clocks are held back; None where that is unknown."""
        meter = self._meter
        return counters.in_words(meter.reasons()) if isinstance(meter, counters.Nvml) else None

    def cost(self, sources: Sequence[int | None]) -> dict[str, Any]:
        """Return the costs of a search besides time; energy is that of searches from all sources in turn."""
        found: dict[str, Any] = {"leaked_bytes": cost.growth(self._used) if self._used else None}
        found |= self._memory()
        if self._meter is None:
            # A pool does not shrink, so the driver's count is at its peak. Opened after all timed searches.
            driver = counters.open_nvml(self.device.bus_id) if "peak_bytes" in found else None
            return found | ({"nvml_peak_bytes": driver.used_bytes()} if driver else {})
        turn = itertools.cycle([self._start(source) for source in sources])

        def search() -> None:
            self._solver.solve(next(turn))
            self.device.synchronize()

        spent = cost.spend(self._meter, search, len(sources), self._run.cost)
        if spent is not None:
            found |= {"spent": dataclasses.asdict(spent), **self._memory()}
        if self.device.kind == "cuda" and self.runs_on == "device":
            with contextlib.suppress(DeviceOutOfMemory):
                found["copy_gb_s"] = copy_rate(self.device)["copy_gb_s"]
        return found

    def _memory(self) -> dict[str, int]:
        """Return the peak size of the pool and the memory in use outside it; empty where unknown."""
        memory = cost.pool_bytes(self.device)
        if memory is None or self.runs_on != "device":
            return {}
        before, loaded = self._outside
        if before is None or loaded is None:
            return {"peak_bytes": memory[1]}
        return {"peak_bytes": memory[1], "nvml_before_bytes": before, "kernel_bytes": loaded - before}


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Disable the garbage collector, whose work would count in the search that it interrupts."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _arrived_again(resident: Any) -> Any:
    """Return the same arrays as a graph that has just arrived: no earlier solver can have left anything."""
    again = dataclasses.replace(resident, host=dataclasses.replace(resident.host))
    if isinstance(again, ResidentGraph):
        again.begin_survey()
    return again
