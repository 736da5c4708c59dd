"""Race the variants that suit a graph on this machine, and show how to use the winner.

Each variant runs in its own process, from the same sources, and every answer is proven. The times are
those of the library's calls, from and to host memory. The total is that of preparing once and searching as
often as asked for. A search of `routes` is one of a list of random pairs.
"""

import argparse
import sys
import time
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numba
import numpy as np

from relaxometer.cli.command import SEARCHED, graph_options, positive
from relaxometer.cli.solve import read_graph, weight_parameters, weights_said
from relaxometer.core.errors import UserError
from relaxometer.core.supervision import Child, ChildDied, DeadlinePassed, Link
from relaxometer.device import KernelError, cuda, stopwatch
from relaxometer.library.answers import Answer, WrongAnswer
from relaxometer.library.graph import Graph
from relaxometer.library.prepared import ON_CPU, prepare
from relaxometer.problems import variants
from relaxometer.problems.problem import load_problem
from relaxometer.race.sources import sources_table

PROMISING = (
    *("auto", *ON_CPU.values(), "tiled", "near-far", "push-pull", "phast"),
    *("hybrid", "hybrid-packed", "biconnected", "batch-warp", "iterative-tree", "labels"),
)
"""What races first: the later a variant, the sooner it is given up."""

PATIENCE = 4.0
"""A variant is given up if it needs this many times the total of the best so far."""

LEAST_S = 20.0
"""Seconds that every variant gets at least, compilation included."""

MAX_PAIRS, MAX_PAIRS_ON_CPU = 100_000, 16
"""Limits on the pairs of a call: each is proven, which takes a search on a CPU."""

ENOUGH_S = 15.0
"""Once one has finished, no variant starts or goes on after this many seconds."""


@dataclass(frozen=True)
class Standing:
    """What the race found of one variant; times in milliseconds, infinite if it did not finish."""

    variant: str
    status: str
    prepare_ms: float = float("inf")
    search_ms: float = float("inf")

    def total_ms(self, searches: int) -> float:
        """Return the time of preparation and this many searches."""
        return self.prepare_ms + searches * self.search_ms


def race(graph: Graph, problem: str, searches: int, where: str, sources: int) -> Iterator[Standing]:
    """Measure the variants that run on a device: `sources` timed searches, or lists of pairs, of each."""
    graph = Graph(graph.csr)  # sources are numbers
    n_pairs = min(searches, MAX_PAIRS if where == "cuda" else MAX_PAIRS_ON_CPU)
    drawn = _drawn(graph, problem, n_pairs, sources)
    best_ms, begin = float("inf"), time.monotonic()
    for name in _candidates(graph, problem, where):
        if best_ms < float("inf") and time.monotonic() - begin > ENOUGH_S:
            yield Standing(name, "not raced: out of time")
            continue
        left_s = begin + ENOUGH_S - time.monotonic() if best_ms < float("inf") else float("inf")
        standing = _measured(graph, problem, name, searches, where, drawn, best_ms, left_s)
        best_ms = min(best_ms, standing.total_ms(searches))
        yield standing


def _drawn(graph: Graph, problem: str, pairs: int, count: int) -> list[Any]:
    """Return what to ask: sources, or lists of pairs as arrays of origins and targets."""
    if problem != "routes":
        drawn: list[Any] = sources_table(graph.csr, count, 1)["source"].to_pylist()
        return drawn
    return list(np.random.default_rng(1).integers(graph.n_vertices, size=(count, 2, pairs)))


def _candidates(graph: Graph, problem: str, where: str) -> list[str]:
    kind, fitting = load_problem(problem), []
    for name in variants.solver_names(problem):
        solver = variants.load_solver(problem, name).Solver
        is_there = solver.runs_on == ("cpu" if where == "cpu" else "device")
        # Those that answer many sources at once gain nothing from one.
        takes_one = getattr(solver, "takes", "graph") != "batch" and not hasattr(solver, "solve_many")
        if is_there and takes_one:
            try:
                variants.refuse_weights(kind, solver, graph.csr)
            except variants.Skipped:
                continue
            fitting.append(name)
    places = {name: place for place, name in enumerate(PROMISING)}
    return sorted(fitting, key=lambda name: (places.get(name, len(places)), name))


def _measured(
    graph: Graph,
    problem: str,
    name: str,
    searches: int,
    where: str,
    asked: list[Any],
    best_ms: float,
    left_s: float,
) -> Standing:
    """Measure one variant in a process that shares the graph, until it cannot be the best."""
    most_ms = PATIENCE * best_ms
    deadline = time.monotonic() + min(left_s, max(LEAST_S, most_ms / 1e3))
    times: list[float] = []
    with Child(_serve, graph, problem, name, searches, where, asked) as child:
        try:
            while len(times) <= len(asked):
                reply = child.ask(deadline - time.monotonic(), next=True)
                if "status" in reply:
                    return Standing(name, reply["status"])
                times.append(reply["ms"])
                if times[0] + searches * min(times[1:], default=0) > most_ms:
                    return Standing(name, f"given up: more than {PATIENCE:g} times the best total")
        except DeadlinePassed:
            return Standing(name, "given up: too slow")
        except ChildDied as death:
            return Standing(name, f"error: {death}")
    return Standing(name, "ok", times[0], median(times[1:]))


def _serve(
    link: Link, graph: Graph, problem: str, name: str, searches: int, where: str, asked: list[Any]
) -> None:
    """Reply to each request with a time: of the preparation, then of a search, or pair, of each question."""
    requests = link.requests()

    def answer(question: Any) -> Answer:
        found: Answer = solver.pairs(*question) if problem == "routes" else solver.search(question)
        return found

    next(requests)  # an unread request could close the connection before the reason of a failure arrives
    try:
        for made in range(2):  # the first compiles
            with stopwatch() as clock:
                solver = prepare(graph, problem, searches=searches, variant=name, device=where)
                solver.device.synchronize()
            if not made:
                answer(asked[0])
        link.reply(ms=clock.ms)
        for question, _ in zip(asked, requests, strict=False):
            with stopwatch() as clock:
                found = answer(question)
            found.verify()
            link.reply(ms=clock.ms / (len(question[0]) if problem == "routes" else 1))
    except (UserError, WrongAnswer, KernelError, MemoryError) as error:
        link.reply(status=f"{type(error).__qualname__}: {error}".partition("\n")[0])


def table(standings: list[Standing], searches: int) -> str:
    """Return the ranking as lines of text."""
    ranked = sorted(standings, key=lambda one: one.total_ms(searches))
    lines = [f"{'variant':<20}{'prepare, ms':>14}{'search, ms':>12}{f'{searches:,} searches, ms':>24}"]
    for one in ranked:
        times = f"{one.prepare_ms:>14.4g}{one.search_ms:>12.4g}{one.total_ms(searches):>24.4g}"
        lines.append(f"{one.variant:<20}{times if one.status == 'ok' else f'  {one.status[:90]}'}")
    return "\n".join(lines)


def snippet(
    path: str,
    form: str | None,
    problem: str,
    name: str,
    searches: int,
    where: str = "cpu",
    source: Hashable = 0,
    target: Hashable = 0,
    parameters: Mapping[str, Any] | None = None,
) -> str:
    """Return the lines of Python that use a variant."""
    file = f"{path!r}, format={form!r}" if form else repr(path)
    file += "".join(f", {key}={value!r}" for key, value in (parameters or {}).items())
    named = f"searches={searches}" if name == "auto" else f"variant={name!r}"
    named += ', device="host"' if where == "host" else ""
    columns = ", ".join(load_problem(problem).columns)
    asks = f"search({source!r})"
    if problem == "routes":
        asks, columns = f"pairs([{source!r}], [{target!r}])", "distance"
    return f"""import relaxometer as rx

graph = rx.Graph.from_file({file})
solver = rx.prepare(graph, {problem!r}, {named})
answer = solver.{asks}  # {columns}; answer.verify() proves it"""


def options(parser: argparse.ArgumentParser) -> None:
    graph_options(parser, (*SEARCHED, "routes"))
    parser.add_argument(
        "--searches",
        type=positive,
        default=100,
        help="searches, or pairs, that you expect to need; default: 100",
    )
    parser.add_argument(
        "--sources",
        type=positive,
        default=5,
        help="timed searches, or lists of pairs, per variant; default: 5",
    )


def main(given: argparse.Namespace) -> None:
    # Reading a file may use GNU OpenMP, after which no process of a variant could.
    numba.config.THREADING_LAYER = "forksafe"  # type: ignore[attr-defined]
    # Opening CUDA here would leave none to the processes of the variants.
    if given.device == "cuda" and (lack := cuda.missing()):
        raise UserError(f"device 'cuda': {lack}")
    graph = read_graph(given)
    where = {"auto": "cuda" if cuda.may_be_there() else "cpu"}.get(given.device, given.device)
    said = f"{graph.n_vertices:,} vertices, {graph.n_arcs:,} arcs; on {where}"
    print(f"{given.file}: {said}{weights_said(graph, given.problem)}")
    standings = []
    for one in race(graph, given.problem, given.searches, where, given.sources):
        print(f"  {one.variant}: {one.status}", file=sys.stderr)
        standings.append(one)
    print(table(standings, given.searches))
    best = min(standings, key=lambda one: one.total_ms(given.searches), default=None)
    if best is None or best.status != "ok":
        raise UserError("no variant finished")
    nodes = graph.nodes or range(graph.n_vertices)
    column = given.weight or graph.csr.metadata.get("weights_from")
    asked = nodes[0], nodes[-1], weight_parameters(Path(given.file), given.format, column)
    lines = snippet(given.file, given.format, given.problem, best.variant, given.searches, where, *asked)
    counted = " Vertices are numbered from 0: vertex 1 of the file is 0." if graph.first_in_file else ""
    print(f"\nEvery answer is proven.{counted} Use the fastest:\n\n{lines}")
