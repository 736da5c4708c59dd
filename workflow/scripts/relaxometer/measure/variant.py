"""Runs one variant on one graph: timed searches, certificates, an instrumented run, the context."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from relaxometer.core.environment import cpu_model, environment
from relaxometer.core.errors import UserError
from relaxometer.core.files import write_json, write_table
from relaxometer.core.progress import Progress
from relaxometer.device import Device, DeviceOutOfMemory, stopwatch
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.plan.models import Run
from relaxometer.problems import variants
from relaxometer.problems.certificate import Certificate
from relaxometer.problems.phases import Phase
from relaxometer.problems.problem import Problem, load_problem
from relaxometer.problems.records import OVERFLOW, PHASES, RUNS, certificates_schema


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


def measure(run: Run, graph: Graph | Batch, sources: np.ndarray, device: Device) -> Measurement:
    """Run a variant from every source, prove every answer, and keep all samples.

    A failure of the variant is a result: its rows carry status and reason.

    Parameters
    ----------
    run : Run
    graph : Graph or Batch
    sources : ndarray of shape (n_sources,), integers
        A single 0 where searches have no source: on a batch, or in a problem without sources.
    device : Device

    Returns
    -------
    Measurement

    Raises
    ------
    UserError
        If a source is not a vertex of the graph.
    """
    outside = sources[(sources < 0) | (sources >= graph.n_vertices)]
    if len(outside):
        raise UserError(
            f"graph {graph.name}: source {outside[0]} is out of range; expected 0 to {graph.n_vertices - 1}"
        )
    problem = load_problem(run.problem)
    runs_on = variants.load_solver(run.problem, run.solver).Solver.runs_on
    where = ("cpu", cpu_model()) if runs_on == "cpu" else (device.kind, device.name)
    result = Measurement(context={"device_kind": where[0], "device": where[1], "before": device.context()})
    result.answer = {column: np.empty(0, dtype) for column, dtype in problem.columns.items()}
    failure: tuple[str, str] | None = None
    try:
        job = _Job(run, problem, graph, device)
        result.context["parameters"] = job.solver.resolved
        job.run_all(sources, result)
    except variants.Skipped as error:
        failure = ("skipped", str(error))
    except DeviceOutOfMemory as error:
        failure = ("oom", str(error))
    except Exception as error:
        traceback.print_exc()
        failure = ("error", f"{type(error).__name__}: {error}".splitlines()[0])
    if failure:
        _fill_in(result, run, sources, *failure)
    result.context |= {"after": device.context(), **environment(), "run": run.model_dump()}
    return result


def write_measurement(result: Measurement, problem: str, folder: Path) -> None:
    """Write ``runs``, ``certificates``, ``phases`` and ``answer`` as Parquet, and ``context.json``."""
    certificates = certificates_schema(load_problem(problem))
    write_table(pa.Table.from_pylist(result.runs, RUNS), folder / "runs.parquet")
    write_table(pa.Table.from_pylist(result.certificates, certificates), folder / "certificates.parquet")
    write_table(pa.Table.from_pylist(result.phases, PHASES), folder / "phases.parquet")
    write_table(pa.table(result.answer), folder / "answer.parquet")
    write_json(result.context, folder / "context.json")


def _fill_in(result: Measurement, run: Run, sources: np.ndarray, status: str, reason: str) -> None:
    """Add a row for every search that did not run."""
    done = {(row["source"], row["repetition"]) for row in result.runs}
    for repetition in range(run.timing.repetitions):
        for source in sources.tolist():
            if (source, repetition) not in done:
                row = {"source": source, "repetition": repetition, "status": status, "reason": reason}
                result.runs.append(row)


class _Job:
    """One variant set up on one graph."""

    def __init__(self, run: Run, problem: Problem, graph: Graph | Batch, device: Device) -> None:
        self._run = run
        self._device = device
        self._problem = problem
        self._has_source = problem.has_source and isinstance(graph, Graph)
        module = variants.load_solver(run.problem, run.solver)
        parameters = run.solver_parameters
        with stopwatch() as upload:
            self._graph: ResidentGraph | ResidentBatch = (
                ResidentGraph.upload(device, graph, arcs=parameters.wants_arcs(graph.n_arcs))
                if isinstance(graph, Graph)
                else ResidentBatch.upload(device, graph)
            )
            device.synchronize()
        # The first solver compiles kernels, which is not part of preparing the graph. The second is timed.
        module.Solver(self._graph, parameters)
        device.synchronize()
        with stopwatch() as prepare:
            self.solver = module.Solver(self._graph, parameters)
            device.synchronize()
        self._degrees = device.asarray(graph.degrees)
        ends = graph.input_degrees if isinstance(graph, Graph) else None
        self._input_degrees = None if ends is None else device.asarray(ends)
        self._certifier = problem.certifier(self._graph)
        self._fixed = {"upload_ms": upload.ms, "prepare_ms": prepare.ms}

    def run_all(self, sources: np.ndarray, result: Measurement) -> None:
        """Warm up, make the timed passes over all sources, then one instrumented search per source."""
        timing = self._run.timing
        deadline = time.monotonic() + timing.timeout_s
        for source in np.resize(sources, timing.warmup).tolist():
            self._solve(source)
        what = f"{self._run.problem} {self._run.graph} {self._run.variant}"
        progress = Progress(f"{what}: searches", timing.repetitions * len(sources))
        begin = None
        for repetition in range(timing.repetitions):
            if begin and timing.enough_s and time.monotonic() > begin + timing.enough_s:
                break
            for source in sources.tolist():
                if time.monotonic() > deadline:
                    reason = f"not finished within timeout_s = {timing.timeout_s:g}"
                    _fill_in(result, self._run, sources, "timeout", reason)
                    return
                self._search(source, repetition, result)
                # Not from the start: the first certificate may compile kernels.
                begin = begin or time.monotonic()
                progress.step()
        progress = Progress(f"{what}: instrumented searches", len(sources))
        for source in sources.tolist():
            self._instrument(source, result)
            progress.step()

    def _solve(self, source: int, phases: list[Phase] | None = None) -> Any:
        """Solve from one source, or all graphs of a batch."""
        return self.solver.solve(source if self._has_source else None, phases)

    def _search(self, source: int, repetition: int, result: Measurement) -> None:
        """Time one search, download its answer and certify it."""
        timer = stopwatch() if self.solver.runs_on == "cpu" else self._device.timer()
        with timer as search:
            answer = self._solve(source)
        with stopwatch() as download:
            columns = {name: self._device.asnumpy(values) for name, values in answer.columns.items()}
        if not result.runs:
            result.answer = columns
        row = {"source": source, "repetition": repetition, "time_ms": search.ms, "download_ms": download.ms}
        row |= self._fixed | {"phases": answer.phases}
        result.runs.append(row | self._certify(source, repetition, answer, result))

    def _certify(self, source: int, repetition: int, answer: Any, result: Measurement) -> dict[str, Any]:
        """Prove an answer; return what it reached and the status of its row."""
        with stopwatch() as certify:
            columns = {name: self._device.asarray(values) for name, values in answer.columns.items()}
            certificate = self._certifier.check(source if self._has_source else None, **columns)
        key = {"source": source, "repetition": repetition}
        violations = {f"rule_{rule}": count for rule, count in certificate.violations.items()}
        result.certificates.append(key | {"holds": certificate.holds} | violations)
        reached = self._problem.reached(columns)
        status, reason = _status(answer, certificate)
        ends = self._input_degrees
        return {
            "certify_ms": certify.ms,
            "input_edges": None if ends is None else int(ends[reached].sum(dtype=np.uint64)) // 2,
            "reached": int(reached.sum()),
            "reached_arcs": int(self._degrees[reached].sum()),
            "status": status,
            "reason": reason,
        }

    def _instrument(self, source: int, result: Measurement) -> None:
        """Record the phases of one more search, and its relaxed arcs in the rows of the timed searches."""
        phases: list[Phase] = []
        self._solve(source, phases)
        for number, phase in enumerate(phases, start=1):
            row = {"source": source, "phase": number, "mode": phase.mode, "updated": phase.updated}
            result.phases.append(row | {"relaxed_arcs": phase.relaxed_arcs, "time_ms": phase.time_ms})
        relaxed = sum(phase.relaxed_arcs for phase in phases)
        for row in result.runs:
            if row["source"] == source:
                row["relaxed_arcs"] = relaxed


def _status(answer: Any, certificate: Certificate) -> tuple[str, str]:
    """Return the status of an answer's row, and the reason where it is not ok."""
    if certificate.holds:
        return "ok", ""
    if getattr(answer, "overflowed", False) and certificate.violations["left_out"]:
        return "error", OVERFLOW
    return "invalid", certificate.reason
