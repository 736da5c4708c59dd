"""Race the variants that suit a graph on this machine, and show how to use the winner.

Each variant runs in a process of its own, as in the workflow, from the same sources, and every answer is
proven. The total is the time to prepare and to search as often as asked for.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

from relaxometer.core.errors import UserError, naming_lacks
from relaxometer.device import cuda
from relaxometer.library.graph import Graph
from relaxometer.library.prepared import ON_CPU
from relaxometer.plan.models import Run, Timing
from relaxometer.problems import variants
from relaxometer.problems.problem import load_problem
from relaxometer.race.sources import sources_table
from relaxometer.race.variant import measure

PROBLEMS = ("sssp", "bfs", "dominators")
"""The problems whose searches start from a source."""

PATIENCE = 4.0
"""A variant is given up after this many times the total of the best so far."""

LEAST_S = 5.0
"""Seconds that every variant gets."""


@dataclass(frozen=True)
class Standing:
    """What the race found of one variant; times in milliseconds, infinite if it did not finish."""

    variant: str
    status: str
    reason: str
    prepare_ms: float = float("inf")
    search_ms: float = float("inf")

    def total_ms(self, searches: int) -> float:
        """Return the time of preparation and this many searches."""
        return self.prepare_ms + searches * self.search_ms


def race(graph: Graph, problem: str, searches: int, where: str, sources: int) -> Iterator[Standing]:
    """Measure every variant that runs at a place, the one that `prepare` would choose first.

    Parameters
    ----------
    graph : Graph
    problem : {"sssp", "bfs", "dominators"}
    searches : int
    where : {"cuda", "cpu", "host"}
    sources : int
        Timed searches per variant.
    """
    csr = graph.csr
    drawn = sources_table(csr, sources, 1)["source"].to_numpy()
    best_ms = float("inf")
    for name in _candidates(problem, where):
        limit_s = max(LEAST_S, PATIENCE * best_ms / 1e3) if best_ms < float("inf") else 600
        parameters = {"searches": searches} if name == "auto" and problem != "dominators" else {}
        timing = Timing(sources=len(drawn), repetitions=1, rounds=1, calls=0, timeout_s=limit_s)
        model = variants.load_solver(problem, name).Parameters
        run = Run(
            problem=problem, graph=csr.name, variant=name, solver=name, parameters=parameters, timing=timing
        ).with_parsed(model.model_validate(parameters))
        rows = measure(run, csr, np.asarray(drawn), "cuda" if where == "cuda" else "host").runs
        failed = next((row for row in rows if row.status not in ("ok", "disputed")), None)
        if failed or not rows:
            status, reason = (failed.status, failed.reason) if failed else ("skipped", "nothing was measured")
            yield Standing(name, status, reason)
            continue
        times = [row.time_ms for row in rows if row.time_ms is not None]
        standing = Standing(name, "ok", "", rows[0].prepare_ms or 0.0, median(times))
        best_ms = min(best_ms, standing.total_ms(searches))
        yield standing


def _candidates(problem: str, where: str) -> list[str]:
    """Return the variants that run at a place, the default one first."""
    wanted = "cpu" if where == "cpu" else "device"
    solvers = {name: variants.load_solver(problem, name).Solver for name in variants.solver_names(problem)}
    fitting = [
        name
        for name, solver in solvers.items()
        if solver.runs_on == wanted and getattr(solver, "takes", "graph") != "batch"
    ]
    default = ON_CPU[problem] if where == "cpu" else "auto"
    return sorted(fitting, key=lambda name: (name != default, name))


def table(standings: list[Standing], searches: int) -> str:
    """Return the ranking as lines of text."""
    ranked = sorted(standings, key=lambda one: one.total_ms(searches))
    lines = [f"{'variant':<20}{'prepared, ms':>14}{'search, ms':>12}{f'{searches:,} searches, ms':>24}"]
    for one in ranked:
        if one.status == "ok":
            times = f"{one.prepare_ms:>14.4g}{one.search_ms:>12.4g}{one.total_ms(searches):>24.4g}"
            lines.append(f"{one.variant:<20}{times}")
        else:
            lines.append(f"{one.variant:<20}{one.status:>14}: {one.reason.splitlines()[0][:80]}")
    return "\n".join(lines)


def snippet(path: str, form: str | None, problem: str, standing: Standing, searches: int) -> str:
    """Return the lines of Python that use a variant."""
    file = f"{path!r}, format={form!r}" if form else repr(path)
    named = f"searches={searches}" if standing.variant == "auto" else f"variant={standing.variant!r}"
    return f"""import relaxometer as rx

graph = rx.Graph.from_file({file})
solver = rx.prepare(graph, {problem!r}, {named})
answer = solver.search(0)  # {", ".join(load_problem(problem).columns)}; answer.verify() proves it"""


def _positive(text: str) -> int:
    """Read an integer of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least 1")
    return int(text)


def main() -> None:
    """Race on the file that the command line names."""
    parser = argparse.ArgumentParser(prog="relaxometer pick", description=__doc__)
    parser.add_argument("file", help="a graph: DIMACS, Matrix Market, OpenStreetMap, ...")
    parser.add_argument("--format", help="of the file, if its name does not tell it")
    parser.add_argument("--problem", choices=PROBLEMS, default="sssp")
    parser.add_argument("--searches", type=_positive, default=100, help="as many as you expect to make")
    parser.add_argument("--sources", type=_positive, default=5, help="timed searches per variant")
    parser.add_argument("--device", choices=("auto", "cuda", "cpu", "host"), default="auto")
    given = parser.parse_args()
    try:
        with naming_lacks():
            graph = Graph.from_file(given.file, format=given.format)
            # Opening CUDA here would leave none to the processes of the variants.
            has_gpu = cuda.may_be_there()
            where = {"auto": "cuda" if has_gpu else "cpu"}.get(given.device, given.device)
            print(f"{given.file}: {graph.n_vertices:,} vertices, {graph.n_arcs:,} arcs; on {where}")
            standings = []
            for one in race(graph, given.problem, given.searches, where, given.sources):
                print(f"  {one.variant}: {one.status}", file=sys.stderr)
                standings.append(one)
    except UserError as error:
        raise SystemExit(f"error: {error}") from None
    print(table(standings, given.searches))
    best = min(standings, key=lambda one: one.total_ms(given.searches))
    if best.status != "ok":
        raise SystemExit("error: no variant has finished")
    lines = snippet(given.file, given.format, given.problem, best, given.searches)
    print(f"\nEvery answer is proven. Use the fastest:\n\n{lines}")


if __name__ == "__main__":
    main()
