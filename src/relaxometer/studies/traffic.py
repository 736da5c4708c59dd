"""New weights on the same map: the time until the first answer, and of further ones.

A solver with a method ``customize(weights)`` takes the new weights; any other is prepared anew. A rival takes
them as ``docs/rivals.md`` describes.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.environment import cpu_model
from relaxometer.core.errors import Failed, UserError
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import Cost, RivalRun, Run, Timing
from relaxometer.problems import sssp
from relaxometer.problems.problem import load_problem
from relaxometer.problems.queries import QuerySets
from relaxometer.problems.routes import Queries
from relaxometer.problems.variants import load_solver
from relaxometer.race.clocks import believed_ms
from relaxometer.race.entrant import enter, threads_of
from relaxometer.race.measurement import Contestant, Found, Reweighted, changes_of
from relaxometer.race.proofs import Columns, Proof, prove_all
from relaxometer.race.rival import open_rival, place_of
from relaxometer.race.sources import sources_table
from relaxometer.race.variant import open_variant
from relaxometer.rivals.definition import find_rivals
from relaxometer.studies.study import OUTCOME, WHERE, Place, Row, completed, study_table

TABLE = pa.schema(
    [
        *[("graph", pa.string()), ("variant", pa.string()), ("pairs", pa.int64()), ("round", pa.int32())],
        *[("way", pa.string()), ("slowed", pa.int64()), ("update_ms", pa.float64())],
        *[("first_ms", pa.float64()), ("tree_ms", pa.float64()), ("searches", pa.int32())],
        *[("proven", pa.int32()), ("class", pa.string()), ("threads", pa.int32()), ("facts", pa.string())],
        *(*OUTCOME, *WHERE),
    ]
)
"""One row per variant or rival and round: the pairs that a search answers, 0 if it finds a tree, how the
contestant took the new weights (``customized`` or ``prepared anew``), the number of arcs slowed, the time to
take the weights, the time of the first search, the median of the others, the number of searches and of proven
answers. Only rivals have a class of machine, threads, and facts, which the adapter reports."""


WARM_UPS = 3
"""Untimed searches before the first change; the slowest writing of their answers bounds honest writing."""


@dataclass(frozen=True)
class _Task:
    """What contestants answer: trees from sources, or sets of pairs, given by their numbers."""

    problem: str
    sources: list[int]
    pairs: int = 0
    queries: QuerySets | None = None


@dataclass
class _Round:
    """One change of the weights as a contestant met it; proven after the contestant has ended."""

    changed: Graph
    taken: Reweighted
    searches: list[tuple[Found, Columns]]
    emulated: bool

    @property
    def times_ms(self) -> list[float]:
        """The times of the searches; those of the emulated device mean nothing, so no clock is compared."""
        found = [one for one, _ in self.searches]
        return [one.time_ms if self.emulated else believed_ms(one.time_ms, one.span) for one in found]


def measure_traffic(
    graph: Graph,
    device: str,
    *,
    variants: Sequence[str],
    rounds: int,
    searches: int,
    share: float,
    factor: float,
    seed: int,
    routes: Sequence[str] = (),
    pairs: int = 0,
    timeout_s: float = 600,
    rivals: Sequence[Mapping[str, Any]] = (),
    rival_folders: Sequence[str] = (),
) -> pa.Table:
    """Change the weights of a graph in rounds, search after each change, and prove every answer.

    All variants and rivals see the same weights and search from the same sources, or for the same pairs. New
    weights are where a variant searches, on the device or in the host's memory, before the clock starts. The
    calling process must not have opened CUDA, which does not survive a fork.

    Parameters are those of :class:`relaxometer.plan.models.Traffic`, and the table has the schema `TABLE`.
    `seed` draws sources as for single searches; they repeat if the graph has too few. `rivals` has the
    content of a `RivalRun` each; those of other graphs are left out; `rival_folders` have rivals beyond those
    that ship. A contestant is killed if its preparation, or a round, takes longer than `timeout_s`.
    """
    runs = [run for run in map(RivalRun.model_validate, rivals) if run.graph == graph.name]
    sources = np.resize(sources_table(graph, searches, seed)["source"].to_numpy(), searches).tolist()
    trees, sets = _Task("sssp", sources), _pairs(graph, pairs if routes else 0, searches, seed)
    tasks = [(trees, name) for name in variants] + [(sets, name) for name in routes]
    names = [*tasks, *((trees, run.variant) for run in runs)]
    keys = [
        {"variant": name, "pairs": task.pairs, "round": number}
        for task, name in names
        for number in range(rounds)
    ]
    context, _ = prove_all(f"traffic {graph.name}", sssp.PROBLEM, [], device)
    where = Place(context["device_kind"], context["device"])

    def changes() -> Iterator[npt.NDArray[Any]]:
        rng = np.random.default_rng(seed)
        return (slowed(graph, share, factor, rng) for _ in range(rounds))

    def contestants() -> Iterator[tuple[Row, _Task, AbstractContextManager[Contestant]]]:
        for task, name in tasks:
            run = _run_of(task.problem, name, graph, timeout_s)
            on_cpu = load_solver(task.problem, name).Solver.runs_on == "cpu"
            place: Row = {"device_kind": "cpu", "device": cpu_model()} if on_cpu else {}
            yield place, task, open_variant(run, graph, device, task.queries, changes())
        known = find_rivals(rival_folders) if runs else {}
        for rival in runs:
            place = {"class": rival.kind, "threads": threads_of(rival), **place_of(rival, where.kind)}
            yield place, trees, open_rival(enter(rival, known[rival.solver], graph), np.array(sources))

    def rows() -> Iterator[Row]:
        for place, task, opening in contestants():
            found = _rounds(opening, graph, changes(), task, device, is_rival="class" in place)
            for row in completed(found, rounds):
                yield row | place

    return study_table("traffic", graph, where, TABLE, keys, rows())


def _pairs(graph: Graph, count: int, searches: int, seed: int) -> _Task:
    """Draw a set of random pairs of vertices that have arcs for each search."""
    candidates, rng = np.flatnonzero(graph.degrees).astype(np.uint32), np.random.default_rng(seed)
    sets = {k: Queries("pairs", *rng.choice(candidates, (2, count))) for k in range(searches)}
    return _Task("routes", list(sets), count, QuerySets(sets, dict.fromkeys(sets, 0)))


def _run_of(problem: str, name: str, graph: Graph, timeout_s: float) -> Run:
    named = {"problem": problem, "graph": graph.name, "variant": name, "solver": name}
    return Run(**named, parameters={}, timing=Timing(timeout_s=timeout_s), cost=Cost())


def slowed(graph: Graph, share: float, factor: float, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Return the weights of a graph with a share of its arcs slowed by factors up to `factor`."""
    factors = np.where(rng.random(graph.n_arcs) < share, rng.uniform(1, factor, graph.n_arcs), 1)
    lengths = graph.lengths
    with np.errstate(over="ignore"):
        weights = graph.weights * factors
    if not lengths.is_float:
        weights = np.rint(weights)
    return np.clip(weights, lengths.smallest, lengths.largest).astype(lengths.dtype)


def _rounds(
    opening: AbstractContextManager[Contestant],
    graph: Graph,
    changes: Iterator[npt.NDArray[Any]],
    task: _Task,
    device: str,
    *,
    is_rival: bool,
) -> Iterator[Row]:
    """Let a contestant search after each change; yield one row per change, and then raise its failure."""
    sources, made = task.sources, list[_Round]()
    failure = None
    try:
        with opening as contestant:
            contestant.prepare([sources[0]])
            for _ in range(WARM_UPS):
                contestant.warm_up(sources[0])
            for weights in changes:
                changed = replace(graph, weights=weights)
                taken = contestant.reweight(changed)
                searches = [contestant.solve(source) for source in sources]
                made.append(_Round(changed, taken, searches, contestant.begun.emulated))
    except Failed as error:
        if error.status == "usage":
            raise UserError(error.reason) from error
        failure = error
    parts = [
        (one.changed, list(zip(sources, (answer for _, answer in one.searches), strict=True))) for one in made
    ]
    asked = f"traffic {graph.name}", load_problem(task.problem), parts, device, task.queries
    proofs = iter(prove_all(*asked)[1] if made else [])
    for one in made:
        of_round = list(islice(proofs, len(sources)))
        status, reason, proven = _outcome(one, sources, of_round, is_rival=is_rival)
        yield {
            **one.taken.model_dump(exclude={"graph"}),
            "slowed": int((one.changed.weights != graph.weights).sum()),
            "first_ms": one.times_ms[0],
            "tree_ms": float(np.median(one.times_ms[1:] or one.times_ms)),
            "searches": len(sources),
            "proven": proven,
            "status": status,
            "reason": reason,
        }
    if failure:
        raise failure


def _outcome(
    one: _Round, sources: Sequence[int], proofs: Sequence[Proof], *, is_rival: bool
) -> tuple[str, str, int]:
    refused = []
    for source, (found, _), proof in zip(sources, one.searches, proofs, strict=True):
        status, reason = proof.outcome(
            overflowed=found.overflowed,
            changed=changes_of(one.taken.graph, found.graph),
            too_long=one.changed.lengths.too_long,
            is_rival=is_rival,
        )
        if status != "ok":
            refused.append((status, f"source {source}: {reason}" if status == "invalid" else reason))
    # A wrong answer matters more than a path that is too long.
    status, reason = min(refused, key=lambda one: one[0] != "invalid", default=("ok", ""))
    return status, reason, len(proofs) - len(refused)
