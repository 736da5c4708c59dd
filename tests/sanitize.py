"""Every GPU variant of every problem under sanitizers, on small graphs: ``make sanitize``.

With a GPU and the CUDA toolkit, each variant runs under each tool of compute-sanitizer; else in the
emulation, under each sanitizer of `relaxometer.device.host`. Each pair has its own process, several at a
time. Answers are proven. On a GPU every array has its own allocation, so memcheck sees accesses beyond it.

``tests/sanitize.py sssp/my-variant --kernels my_kernels`` examines a variant of your own.

Prints a table, writes the tools' output to ``logs/sanitize/``, and fails if any tool found an error.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dominator_samples import random_batch
from relaxometer.core.errors import UserError
from relaxometer.device import Device, get_device
from relaxometer.device.cuda import obstacle
from relaxometer.device.host import SANITIZERS
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.problems.problem import add_folders, load_problem, problem_names
from relaxometer.problems.variants import Skipped, load_solver, solver_names, takes_weights
from route_samples import random_queries, table_queries
from sample_graphs import as_type, sample_graphs, undirected

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "logs/sanitize"

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
"""Those of compute-sanitizer."""

GRAPHS = ("two-islands", "zero-weights", "hub", "grid", "random-directed")
"""Sample graphs with unreached parts, ties, a hub, a map."""

FULL_TOOL = "memcheck"
"""Runs on `GRAPHS`; the others of compute-sanitizer take minutes there, so they run on `tiny_graphs`."""

WAYS: dict[str, list[dict[str, float | str]]] = {
    # By default a single block searches graphs as small as these.
    "sssp/near-far": [
        {"narrow": 0, "delta": 0.05, "grid_target": 20, "crowd": 20},
        {"narrow": 6, "wide": 8, "delta": 0.3, "block_target": 4, "grid_target": 8},
    ],
    # By default one block goes on alone after the first bottom-up level.
    "bfs/hybrid-packed": [
        {"alpha": 1e12, "hubs": 32, "tail": 0},
        {"alpha": 1e12, "beta": 1e-12, "patience": 0, "tail": 0},
        {"alpha": 1.5, "hubs": 32, "tail": 0},
    ],
    "bfs/tiled": [
        {"tiles": 3, "cut": "ranges", "ball": 2},
        {"tiles": 3, "cut": "grow", "ball": 7},
        {"tiles": 3, "cut": "grow", "ball": 32},
    ],
    "routes/trees": [{"grown_by": "phast-many", "sources": 32}],
    "sssp/tiled": [{"tiles": 3, "cut": way} for way in ("ranges", "grow", "bisection")],
}
"""Parameters that reach code which only large graphs need."""

TIMEOUT_S = 300
"""Seconds for one variant under one tool."""

MEANT = {
    "dominators/multiword, racecheck": "relaxed: a word read too early is read again in the next sweep",
}
"""Races that are part of an algorithm: the tool does not distinguish relaxed accesses from plain ones."""

SUMMARY = re.compile(
    r"=+ (?:ERROR SUMMARY: (?P<errors>\d+) error"
    r"|RACECHECK SUMMARY: \d+ hazards? displayed \((?P<hazards>\d+) errors?, (?P<warnings>\d+) warning)"
)
MESSAGE = re.compile(r"=+ (?!COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK SUMMARY)(?P<text>\S.*)")


@dataclass(frozen=True)
class Outcome:
    """The result of one variant under one tool: the text for the table, and the first finding."""

    text: str
    good: bool
    why: str = ""


def gpu_variants(wanted: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return (problem, variant) of all that run on a GPU, or of those named as ``problem/variant``."""
    found = [
        (problem, variant)
        for problem in problem_names()
        for variant in solver_names(problem)
        if load_solver(problem, variant).Solver.runs_on == "device"
    ]
    names = {"/".join(pair): pair for pair in found}
    if unknown := [name for name in wanted if name not in names]:
        raise UserError(f"unknown GPU variant {unknown[0]!r}; known: {', '.join(names)}")
    return [names[name] for name in wanted] or found


def tiny_graphs() -> list[Graph]:
    """Return graphs with what `GRAPHS` have, small enough for searches with a launch per vertex."""
    rng = np.random.default_rng(8)
    ids = np.arange(5 * 6).reshape(5, 6)
    streets = [(ids[:, :-1], ids[:, 1:]), (ids[:-1], ids[1:])]
    grid = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in streets])
    spokes = np.stack([np.zeros(140, dtype=int), np.arange(1, 141)], axis=1)
    ends = rng.integers(0, 60, (2, 170))
    return [
        sample_graphs()["two-islands"],
        undirected("tiny-hub", 141, spokes, rng.integers(0, 1000, 140)),
        undirected("tiny-grid", ids.size, grid, rng.integers(1, 100, len(grid))),
        Graph.from_arcs("tiny-random", 60, *ends, rng.integers(0, 50, 170), keep_parallel=True),
    ]


def graphs_for(problem: str, solver: Any, *, tiny: bool) -> list[Graph]:
    """Return `GRAPHS` or tiny ones; the last again with float64 weights, if a solver of paths takes them."""
    graphs = tiny_graphs() if tiny else [sample_graphs()[name] for name in GRAPHS]
    if problem == "sssp" and takes_weights(solver, LENGTHS["float64"]):
        graphs.append(as_type(graphs[-1], "float64"))
    return graphs


def exercise(problem: str, variant: str, device: Device, *, tiny: bool = False) -> None:
    """Search `GRAPHS`, or tiny graphs, or a batch, and prove the answers; AssertionError if one is wrong."""
    module, certifier = load_solver(problem, variant), load_problem(problem).certifier
    if getattr(module.Solver, "takes", "graph") == "batch":
        batch = random_batch(20 if tiny else 200)
        resident: Any = ResidentBatch.upload(device, batch)
        prove(module.Solver(resident, module.Parameters()), certifier(resident), batch, [None], device)
        return
    for graph in graphs_for(problem, module.Solver, tiny=tiny):
        resident = ResidentGraph.upload(device, graph)
        prover = certifier(resident)
        for parameters in [{}, *WAYS.get(f"{problem}/{variant}", [])]:
            try:
                solver = module.Solver(resident, module.Parameters(**parameters))
            except Skipped as reason:
                print(f"{graph.name}: skipped: {reason}")
                continue
            prove(solver, prover, graph, starts_of(problem, graph, device), device)
    device.synchronize()


def starts_of(problem: str, graph: Graph, device: Device) -> list[Any]:
    """Return what to search from: two sources, or query sets."""
    if load_problem(problem).queries is None:
        return [0, graph.n_vertices - 1]
    sets = random_queries(graph, 20, paths=True), random_queries(graph, 20), table_queries(graph)
    return [queries.upload(device) for queries in sets]


def prove(solver: Any, prover: Any, graph: Graph | Batch, sources: Sequence[Any], device: Device) -> None:
    """Search from all sources, also instrumented and all at once, and prove the answers."""
    for source in sources:
        columns = solver.solve(source).columns
        solver.solve(source, [])
        on_device = {name: device.asarray(values) for name, values in columns.items()}
        certificate = prover.check(source, **on_device)
        assert certificate.holds, f"{graph.name}, source {source}: {certificate.reason}"
    if hasattr(solver, "solve_many"):
        for source, *answer in zip(sources, *solver.solve_many(sources)[:2], strict=True):
            certificate = prover.check(source, *answer)
            assert certificate.holds, f"{graph.name}, source {source}: {certificate.reason}"


@dataclass(frozen=True)
class Job:
    """One variant under one tool; `command` goes before that of Python."""

    problem: str
    variant: str
    tool: str
    command: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name the variant."""
        return f"{self.problem}/{self.variant}"

    def run(self) -> Outcome:
        """Run the job in its own process and print the outcome; the output goes to a file in `LOGS`."""
        start = time.monotonic()
        found = self._outcome()
        print(f"{self.name}, {self.tool}: {found.text} ({time.monotonic() - start:.0f} s)", flush=True)
        return found

    def _outcome(self) -> Outcome:
        command = [*self.command, sys.executable, __file__, "--exercise", self.name, "--tools", self.tool]
        command += ["--kernels", *self.kernels] if self.kernels else []
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        try:
            done = subprocess.run(command, cwd=ROOT, timeout=TIMEOUT_S, **streams)
        except subprocess.TimeoutExpired:
            return Outcome("timeout", good=False, why=f"not finished after {TIMEOUT_S} s")
        (LOGS / f"{self.problem}-{self.variant}-{self.tool}.log").write_text(done.stdout, encoding="utf-8")
        if self.tool in TOOLS:
            return outcome(done.stdout, done.returncode, MEANT.get(f"{self.name}, {self.tool}"))
        if done.returncode:
            return Outcome("failed", good=False, why=_last_line(done.stdout))
        return Outcome("ok", good=True)


def outcome(output: str, returncode: int, meant: str | None = None) -> Outcome:
    """Read a tool's output on a program that ended with `returncode`; `meant` is a reason to allow races."""
    summary = list(SUMMARY.finditer(output))
    messages = [found["text"] for found in MESSAGE.finditer(output)]
    if not summary:
        return Outcome("failed", good=False, why=_last_line(output))
    errors = int(summary[-1]["errors"] or summary[-1]["hazards"] or 0)
    warnings = int(summary[-1]["warnings"] or 0)
    if errors and returncode == 0 and meant is not None and summary[-1]["hazards"]:
        return Outcome("meant", good=True, why=meant)
    if errors:
        return Outcome(_counted(errors, "error"), good=False, why=messages[0] if messages else "")
    if returncode:
        return Outcome("failed", good=False, why=_last_line(output))
    if warnings:
        return Outcome(_counted(warnings, "warning"), good=True, why=messages[0] if messages else "")
    return Outcome("ok", good=True)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("s" if number > 1 else "")


def _last_line(output: str) -> str:
    """Return the last line of the program itself."""
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith("=====")]
    return lines[-1] if lines else "no output"


def table(outcomes: dict[Job, Outcome]) -> Iterable[str]:
    """Yield the lines of a table by variant and tool, then a line per finding."""
    by_name = {(job.name, job.tool): found for job, found in outcomes.items()}
    names, tools = (list(dict.fromkeys(column)) for column in zip(*by_name, strict=True))
    width = max(map(len, names)) + 2
    yield " " * width + "".join(f"{tool:<14}" for tool in tools)
    for name in names:
        yield f"{name:<{width}}" + "".join(f"{by_name[name, tool].text:<14}" for tool in tools)
    for (name, tool), found in by_name.items():
        if found.why:
            yield f"{name}, {tool}: {found.why}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine all variants, or those named; return the exit status."""
    parser = argparse.ArgumentParser(description="GPU variants under sanitizers, on small graphs.")
    parser.add_argument("variants", nargs="*", help="such as sssp/near-far; default: all that run on a GPU")
    parser.add_argument("--tools", nargs="+", choices=(*TOOLS, *SANITIZERS, "none"), default=None)
    parser.add_argument("--kernels", nargs="+", default=[], help="folders with variants of your own")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--exercise", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    folders = tuple(map(os.path.abspath, given.kernels))
    try:
        add_folders(folders, "command line")
        if given.exercise:
            exercise_alone(*given.exercise.split("/"), given.tools[0])
            return 0
        variants = gpu_variants(given.variants)
    except UserError as error:
        parser.error(str(error))
    sanitizer = shutil.which("compute-sanitizer")
    reason = obstacle() or (
        None if sanitizer else "compute-sanitizer is not on the path; CUDA's toolkit has it"
    )
    LOGS.mkdir(parents=True, exist_ok=True)
    if reason or sanitizer is None:
        print(f"the emulation's sanitizers, since {reason}")
        jobs = [Job(*pair, tool, (), folders) for pair in variants for tool in given.tools or SANITIZERS]
        outcomes = run_all(jobs, given.jobs)
    else:
        # First without a tool: kernels compile once, and a variant that fails alone is known to.
        outcomes = run_all([Job(*pair, "none", (), folders) for pair in variants], given.jobs)
        tools = given.tools or TOOLS
        jobs = [Job(*pair, tool, (sanitizer, "--tool", tool), folders) for tool in tools for pair in variants]
        outcomes |= run_all(jobs, given.jobs)
    print("\n".join(table(outcomes)))
    return int(not all(one.good for one in outcomes.values()))


def run_all(jobs: Sequence[Job], at_a_time: int) -> dict[Job, Outcome]:
    """Run jobs, several at a time."""
    with ThreadPoolExecutor(at_a_time) as pool:
        return dict(zip(jobs, pool.map(Job.run, jobs), strict=True))


def exercise_alone(problem: str, variant: str, tool: str) -> None:
    """Exercise a variant in this process, as `Job.run` asks for."""
    if tool in SANITIZERS:
        exercise(problem, variant, get_device("host", sanitize=tool))
        return
    import cupy

    cupy.cuda.set_allocator(None)
    exercise(problem, variant, get_device("cuda"), tiny=tool in TOOLS and tool != FULL_TOOL)


if __name__ == "__main__":
    sys.exit(main())
