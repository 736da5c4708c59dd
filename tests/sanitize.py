"""Every GPU variant of every problem under compute-sanitizer, on small graphs: ``make sanitize``.

Each variant runs under each tool in its own process, several at a time. Every array has its own allocation,
so memcheck sees accesses beyond an array, and initcheck reads of uninitialised memory. Answers are proven.

Prints a table, writes the tools' output to ``logs/sanitize/``, and fails if any tool found an error. Without
a GPU or the tool it prints one line and succeeds.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relaxometer.device import Device, get_device
from relaxometer.device.cuda import obstacle
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.problem import load_problem, problem_names
from relaxometer.problems.variants import Skipped, load_solver, solver_names
from sample_graphs import sample_graphs

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "logs/sanitize"

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")

GRAPHS = ("two-islands", "zero-weights", "hub", "grid", "random-directed")
"""Sample graphs with unreached parts, ties, a hub, a map."""

WAYS: dict[str, list[dict[str, float]]] = {
    # By default a single block searches graphs as small as these.
    "sssp/near-far": [
        {"narrow": 0, "delta": 0.05, "grid_target": 20, "crowd": 20},
        {"narrow": 6, "wide": 8, "delta": 0.3, "block_target": 4, "grid_target": 8},
    ],
}
"""Parameters that reach code which only large graphs need."""

TIMEOUT_S = 300

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
    return [pair for pair in found if not wanted or "/".join(pair) in wanted]


def exercise(problem: str, variant: str, device: Device) -> None:
    """Search every graph of `GRAPHS`, and prove the answers; AssertionError if one is wrong."""
    module, certifier = load_solver(problem, variant), load_problem(problem).certifier
    for graph in map(sample_graphs().__getitem__, GRAPHS):
        resident = ResidentGraph.upload(device, graph)
        prover = certifier(resident)
        for parameters in [{}, *WAYS.get(f"{problem}/{variant}", [])]:
            try:
                solver = module.Solver(resident, module.Parameters(**parameters))
            except Skipped as reason:
                print(f"{graph.name}: skipped: {reason}")
                continue
            prove(solver, prover, graph, device)
    device.synchronize()


def prove(solver: Any, prover: Any, graph: Graph, device: Device) -> None:
    """Search from two sources, also instrumented and both at once, and prove the answers."""
    sources = [0, graph.n_vertices - 1]
    for source in sources:
        columns = solver.solve(source).columns
        solver.solve(source, [])
        on_device = {name: device.asarray(values) for name, values in columns.items()}
        certificate = prover.check(source, **on_device)
        assert certificate.holds, f"{graph.name}, source {source}: {certificate.reason}"
    if hasattr(solver, "solve_many"):
        for source, *answer in zip(sources, *solver.solve_many(sources), strict=True):
            certificate = prover.check(source, *answer)
            assert certificate.holds, f"{graph.name}, source {source}: {certificate.reason}"


def examine(sanitizer: str, tool: str, problem: str, variant: str, logs: Path) -> Outcome:
    """Run one variant under one tool and print the outcome."""
    found = run_tool(sanitizer, tool, problem, variant, logs)
    print(f"{problem}/{variant}, {tool}: {found.text}", flush=True)
    return found


def run_tool(sanitizer: str, tool: str, problem: str, variant: str, logs: Path) -> Outcome:
    """Run one variant under one tool; its output goes to a file in `logs`."""
    command = [sanitizer, "--tool", tool, sys.executable, __file__, "--exercise", f"{problem}/{variant}"]
    try:
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return Outcome("timeout", good=False, why=f"not finished after {TIMEOUT_S} s")
    (logs / f"{problem}-{variant}-{tool}.log").write_text(done.stdout, encoding="utf-8")
    return outcome(done.stdout, done.returncode, MEANT.get(f"{problem}/{variant}, {tool}"))


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


def table(outcomes: dict[tuple[str, str, str], Outcome]) -> Iterable[str]:
    """Yield the lines of a table by variant and tool, then a line per finding."""
    variants = list(dict.fromkeys(key[:2] for key in outcomes))
    tools = [tool for tool in TOOLS if any(key[2] == tool for key in outcomes)]
    width = max(len("/".join(pair)) for pair in variants) + 2
    yield " " * width + "".join(f"{tool:<14}" for tool in tools)
    for pair in variants:
        yield f"{'/'.join(pair):<{width}}" + "".join(f"{outcomes[*pair, tool].text:<14}" for tool in tools)
    for (problem, variant, tool), found in outcomes.items():
        if found.why:
            yield f"{problem}/{variant}, {tool}: {found.why}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine all variants, or those named; return the exit status."""
    parser = argparse.ArgumentParser(description="GPU variants under compute-sanitizer, on small graphs.")
    parser.add_argument("variants", nargs="*", help="such as sssp/near-far; default: all that run on a GPU")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("--exercise", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.exercise:
        import cupy

        cupy.cuda.set_allocator(None)
        exercise(*given.exercise.split("/"), get_device("cuda"))
        return 0
    sanitizer = shutil.which("compute-sanitizer")
    reason = obstacle() or (
        None if sanitizer else "compute-sanitizer is not on the path; the CUDA toolkit has it"
    )
    if reason or sanitizer is None:
        print(f"sanitize: skipped: {reason}")
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    keys = [(*pair, tool) for tool in given.tools for pair in gpu_variants(given.variants)]
    with ThreadPoolExecutor(given.jobs) as pool:
        found = pool.map(lambda key: examine(sanitizer, key[2], *key[:2], LOGS), keys)
        outcomes = dict(zip(keys, found, strict=True))
    print("\n".join(table(outcomes)))
    return int(not all(one.good for one in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
