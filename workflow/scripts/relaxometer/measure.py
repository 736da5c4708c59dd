"""Running one variant on one graph: timed searches, certificates, an instrumented run, the context."""

from __future__ import annotations

import os
import platform
import subprocess
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from relaxometer import variants
from relaxometer.batch import Batch
from relaxometer.certify import Certificate
from relaxometer.config import Run
from relaxometer.device import Device, DeviceOutOfMemory
from relaxometer.errors import UserError
from relaxometer.graph import Graph, write_json, write_table
from relaxometer.phases import Phase
from relaxometer.problems import Problem, load_problem
from relaxometer.progress import Progress
from relaxometer.resident import ResidentGraph
from relaxometer.resident_batch import ResidentBatch

UNREACHED = np.uint32(2**32 - 1)
"""What stands in the first column of an answer for a vertex that was not reached."""

OVERFLOW = "a shortest path is longer than 2**32 - 2, the largest distance that 32 bits hold"

RUNS = pa.schema(
    [
        ("source", pa.int64()),
        ("repetition", pa.int32()),
        ("time_ms", pa.float64()),
        ("prepare_ms", pa.float64()),
        ("upload_ms", pa.float64()),
        ("download_ms", pa.float64()),
        ("certify_ms", pa.float64()),
        ("phases", pa.int64()),
        ("relaxed_arcs", pa.int64()),
        ("reached", pa.int64()),
        ("reached_arcs", pa.int64()),
        ("input_edges", pa.int64()),
        ("status", pa.string()),
        ("reason", pa.string()),
    ]
)
"""A row for each (source, repetition)."""


def certificates_schema(problem: Problem) -> pa.Schema:
    """Return the columns of the certificates of a problem: for each answer, how often it breaks each rule."""
    key = [("source", pa.int64()), ("repetition", pa.int32()), ("holds", pa.bool_())]
    return pa.schema(key + [(f"rule_{rule}", pa.int64()) for rule in problem.rules])


PHASES = pa.schema(
    [
        ("source", pa.int64()),
        ("phase", pa.int32()),
        ("mode", pa.string()),
        ("updated", pa.int64()),
        ("relaxed_arcs", pa.int64()),
        ("time_ms", pa.float64()),
    ]
)
"""A row for each phase of the instrumented run of each source."""


@dataclass
class Measurement:
    """What came of running one variant on one graph.

    Parameters
    ----------
    runs, certificates, phases : list of dict
        Rows of the tables `RUNS`, :func:`certificates_schema` and `PHASES`.
    answer : dict of str to ndarray
        Columns of the answer for the first source; empty arrays if there is none.
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

    A failure of the variant is a result: its rows say so and the others go on.

    Parameters
    ----------
    run : Run
    graph : Graph or Batch
    sources : ndarray of shape (n_sources,), integers
        A batch, whose graphs have entries of their own, takes a single 0.
    device : Device

    Returns
    -------
    Measurement

    Raises
    ------
    UserError
        If a source is no vertex of the graph.
    """
    outside = sources[(sources < 0) | (sources >= graph.n_vertices)]
    if len(outside):
        raise UserError(
            f"graph {graph.name}: source {outside[0]} is out of range; expected 0 to {graph.n_vertices - 1}"
        )
    problem = load_problem(run.problem)
    runs_on = variants.load_variant(run.problem, run.kernel).Solver.runs_on
    where = ("cpu", cpu_model()) if runs_on == "cpu" else (device.kind, device.name)
    result = Measurement(context={"device_kind": where[0], "device": where[1], "before": device.context()})
    result.answer = {column: np.empty(0, dtype=np.uint32) for column in problem.columns}
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
    """Add a row for every search that was not run."""
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
        self._has_source = isinstance(graph, Graph)
        module = variants.load_variant(run.problem, run.kernel)
        parameters = module.Parameters.model_validate(run.parameters)
        with _stopwatch() as upload:
            self._graph: ResidentGraph | ResidentBatch = (
                ResidentGraph.upload(device, graph, arcs=parameters.wants_arcs(graph.n_arcs))
                if isinstance(graph, Graph)
                else ResidentBatch.upload(device, graph)
            )
            device.synchronize()
        # The first one compiles its kernels; that is no work on the graph, and kept for later runs.
        module.Solver(self._graph, parameters)
        device.synchronize()
        with _stopwatch() as prepare:
            self.solver = module.Solver(self._graph, parameters)
            device.synchronize()
        self._degrees = device.asarray(graph.degrees)
        ends = graph.input_degrees if isinstance(graph, Graph) else None
        self._input_degrees = None if ends is None else device.asarray(ends)
        self._certifier = problem.certifier(self._graph)
        self._fixed = {"upload_ms": upload.ms, "prepare_ms": prepare.ms}

    def run_all(self, sources: np.ndarray, result: Measurement) -> None:
        """Warm up, run the timed rounds, then the instrumented run of every source."""
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
                # Not from the start: the first certificate may have compiled its functions.
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
        timer = _stopwatch() if self.solver.runs_on == "cpu" else self._device.timer()
        with timer as search:
            answer = self._solve(source)
        with _stopwatch() as download:
            columns = {name: self._device.asnumpy(values) for name, values in answer.columns.items()}
        if not result.runs:
            result.answer = columns
        row = {"source": source, "repetition": repetition, "time_ms": search.ms, "download_ms": download.ms}
        row |= self._fixed | {"phases": answer.phases}
        result.runs.append(row | self._certify(source, repetition, answer, result))

    def _certify(self, source: int, repetition: int, answer: Any, result: Measurement) -> dict[str, Any]:
        """Prove an answer; return what it reached and the status of its row."""
        with _stopwatch() as certify:
            columns = {name: self._device.asarray(values) for name, values in answer.columns.items()}
            certificate = self._certifier.check(source if self._has_source else None, **columns)
        key = {"source": source, "repetition": repetition}
        violations = {f"rule_{rule}": count for rule, count in certificate.violations.items()}
        result.certificates.append(key | {"holds": certificate.holds} | violations)
        reached = next(iter(columns.values())) != UNREACHED
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
        """Record the phases of one more search, and its relaxed arcs in the rows of the timed ones."""
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


@contextmanager
def _stopwatch() -> Iterator[SimpleNamespace]:
    """Time a block on the host's clock; the result's `ms` is set at its end."""
    result = SimpleNamespace(ms=float("nan"))
    start = time.perf_counter()
    yield result
    result.ms = (time.perf_counter() - start) * 1e3


def cpu_model() -> str:
    """Return the processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def environment() -> dict[str, Any]:
    """Return what a reader needs to place a measurement: machine, versions, commit, date."""
    packages = ("numpy", "numba", "pyarrow", "scipy", "snakemake", "cupy-cuda12x", "cupy-cuda13x")
    versions = {}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "machine": platform.platform(),
        "python": platform.python_version(),
        "packages": versions,
        "commit": _commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _commit() -> str:
    """Return the commit of the checkout this runs from, marked if the tree differs from it.

    Where the files were brought without their history, the variable RELAXOMETER_COMMIT says it.
    """
    if given := os.environ.get("RELAXOMETER_COMMIT"):
        return given
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def sources_table(graph: Graph, sources: int | list[int], seed: int) -> pa.Table:
    """Choose the sources that every variant starts from on `graph`.

    Parameters
    ----------
    graph : Graph
    sources : int or list of int
        How many to draw without repetition among the vertices that have arcs, or the sources themselves.
        A graph whose metadata brings ``search_keys`` gives the first so many of these instead.
    seed : int

    Returns
    -------
    Table with the column ``source``, int64
        Fewer than asked for if the graph has no more.

    Raises
    ------
    UserError
        If a given source is no vertex, or no vertex has arcs.
    """
    if isinstance(sources, list):
        for source in sources:
            if source >= graph.n_vertices:
                raise UserError(
                    f"graph {graph.name}: source {source} is out of range; "
                    f"expected 0 to {graph.n_vertices - 1} (config: timing.sources)"
                )
        return pa.table({"source": np.array(sources, dtype=np.int64)})
    if keys := graph.metadata.get("search_keys"):
        return pa.table({"source": np.array(keys[:sources], dtype=np.int64)})
    candidates = np.flatnonzero(graph.degrees)
    if not len(candidates):
        raise UserError(f"graph {graph.name}: no vertex has arcs, so no source can be drawn")
    drawn = np.random.default_rng(seed).permutation(candidates)[:sources]
    return pa.table({"source": drawn.astype(np.int64)})
