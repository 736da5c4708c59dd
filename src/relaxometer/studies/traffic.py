"""New weights on the same map: the time until the first tree, and of further ones, after traffic has changed.

A solver with a method ``customize(weights)`` takes the new weights; any other is prepared anew. A rival takes
them as ``docs/rivals.md`` describes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.environment import cpu_model
from relaxometer.core.errors import Failed, UserError
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import Cost, RivalRun, Run, Timing
from relaxometer.problems import sssp
from relaxometer.problems.variants import load_solver
from relaxometer.race.contestant import CUSTOMIZED, PREPARED
from relaxometer.race.entrant import threads_of
from relaxometer.race.measurement import Found, answer_status, changes_of
from relaxometer.race.proofs import Search, certificate_of, prove_all
from relaxometer.race.sources import sources_table
from relaxometer.race.variant import Reweighted, open_variant
from relaxometer.rivals.definition import find_rivals
from relaxometer.studies.study import OUTCOME, WHERE, Row, Where, completed, study_table
from relaxometer.studies.traffic_rival import rival_in_traffic

TABLE = pa.schema(
    [
        ("graph", pa.string()),
        ("variant", pa.string()),
        ("round", pa.int32()),
        ("way", pa.string()),
        ("slowed", pa.int64()),
        ("update_ms", pa.float64()),
        ("first_ms", pa.float64()),
        ("tree_ms", pa.float64()),
        ("searches", pa.int32()),
        ("proven", pa.int32()),
        ("class", pa.string()),
        ("threads", pa.int32()),
        ("facts", pa.string()),
        *OUTCOME,
        *WHERE,
    ]
)
"""One row per variant or rival and round: how it took the new weights (`WAYS`), the number of arcs slowed,
the time to take the weights, the time of the first search, the median of the others, the number of searches
and of proven answers. Only rivals have a class of machine, threads, and facts, which the adapter reports."""

WAYS = CUSTOMIZED, PREPARED


class TrafficContestant(Protocol):
    """A variant or rival, in a process of its own, that searches a graph whose weights change."""

    def take(self, changed: Graph) -> Row:
        """Take the weights of the changed graph; return the columns ``way``, ``update_ms`` and any facts."""

    def search(self, source: int) -> Search:
        """Search the changed graph; the row has ``time_ms``, and a ``reason`` if the graph was written to."""


Opener = Callable[[], AbstractContextManager[TrafficContestant]]
"""Prepares a contestant with the weights of the graph before any change, and ends it with the block."""


@dataclass
class _Round:
    """One change of the weights as a contestant met it; proven after the contestant has ended."""

    changed: Graph
    taken: Row
    searches: list[Search]


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
    timeout_s: float = 600,
    rivals: Sequence[Mapping[str, Any]] = (),
    rival_folders: Sequence[str] = (),
) -> pa.Table:
    """Change the weights of a graph in rounds, search after each change, and prove every answer.

    All variants and rivals see the same weights and search from the same sources. New weights are where a
    variant searches, on the device or in the host's memory, before the clock starts.

    Parameters
    ----------
    graph : Graph
    device : {"auto", "cuda", "host"}
        The calling process must not have opened CUDA, which does not survive a fork.
    variants : sequence of str
        Solvers of `sssp`, with their default parameters.
    rounds : int
        Changes of the weights, each starting from those of the graph.
    searches : int
        Searches per round.
    share : float
        Share of the arcs that are slowed.
    factor : float
        An arc is slowed by a factor drawn between 1 and this one.
    seed : int
        Draws weights, and sources as for single searches; these repeat if the graph has too few.
    timeout_s : float
        A variant is killed if its preparation, or a round, takes longer than this many seconds.
    rivals : sequence of mapping
        The content of a `RivalRun` each; those of other graphs are left out.
    rival_folders : sequence of str
        Folders with rivals beyond those that ship.

    Returns
    -------
    Table of the schema `TABLE`
    """
    runs = [run for run in map(RivalRun.model_validate, rivals) if run.graph == graph.name]
    names = [*variants, *(run.variant for run in runs)]
    keys = [{"variant": name, "round": number} for name in names for number in range(rounds)]
    sources = np.resize(sources_table(graph, searches, seed)["source"].to_numpy(), searches).tolist()
    context, _ = prove_all(f"traffic {graph.name}", sssp.PROBLEM, [], device)
    where = _Place(context["device_kind"], context["device"])

    def changes() -> Iterator[npt.NDArray[Any]]:
        rng = np.random.default_rng(seed)
        return (slowed(graph, share, factor, rng) for _ in range(rounds))

    def contestants() -> Iterator[tuple[Row, Opener]]:
        for name in variants:
            run = _run_of(name, graph, timeout_s)
            on_cpu = load_solver("sssp", name).Solver.runs_on == "cpu"
            place = _ON_CPU | {"device": cpu_model()} if on_cpu else {}
            yield place, partial(_variant_in_traffic, run, graph, sources[0], device, changes())
        known = find_rivals(rival_folders) if runs else {}
        for rival in runs:
            place = _place_of(rival, where)
            yield place, partial(rival_in_traffic, rival, known[rival.solver], graph, sources[0])

    def rows() -> Iterator[Row]:
        for place, opener in contestants():
            is_rival = "class" in place
            found = _rounds(opener, graph, changes(), sources, device, is_rival=is_rival)
            for row in completed(found, rounds):
                yield row | place

    return study_table("traffic", graph, where, TABLE, keys, rows())


@dataclass
class _Place:
    kind: str
    name: str


def _run_of(name: str, graph: Graph, timeout_s: float) -> Run:
    """Return the run of a variant with its default parameters."""
    timing = Timing(timeout_s=timeout_s)
    run = Run(
        problem="sssp", graph=graph.name, variant=name, solver=name, parameters={}, timing=timing, cost=Cost()
    )
    return run.with_parsed(load_solver("sssp", name).Parameters.model_validate({}))


_ON_CPU = {"device_kind": "cpu"}


def _place_of(run: RivalRun, device: Where) -> Row:
    """Return the columns that say where a rival runs."""
    where: Row = {"class": run.kind, "threads": threads_of(run)}
    if run.kind != "gpu":
        return where | _ON_CPU | {"device": cpu_model()}
    return where | ({} if device.kind == "cuda" else {"device_kind": "cuda", "device": "a GPU"})


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
    opener: Opener,
    graph: Graph,
    changes: Iterator[npt.NDArray[Any]],
    sources: list[int],
    device: str,
    *,
    is_rival: bool,
) -> Iterator[Row]:
    """Let a contestant search after each change; yield one row per change, and then raise its failure."""
    made: list[_Round] = []
    failure = None
    try:
        with opener() as contestant:
            for weights in changes:
                changed = replace(graph, weights=weights)
                taken = contestant.take(changed)
                made.append(_Round(changed, taken, [contestant.search(source) for source in sources]))
    except Failed as error:
        if error.status == "usage":
            raise UserError(error.reason) from error
        failure = error
    parts = [(one.changed, one.searches) for one in made]
    proofs = iter(prove_all(f"traffic {graph.name}", sssp.PROBLEM, parts, device)[1] if made else [])
    for one in made:
        of_round = list(islice(proofs, len(one.searches)))
        status, reason, proven = _outcome(one, of_round, is_rival=is_rival)
        times_ms = [search.row["time_ms"] for search in one.searches]
        yield {
            **one.taken,
            "slowed": int((one.changed.weights != graph.weights).sum()),
            "first_ms": times_ms[0],
            "tree_ms": float(np.median(times_ms[1:] or times_ms)),
            "searches": len(sources),
            "proven": proven,
            "status": status,
            "reason": reason,
        }
    if failure:
        raise failure


def _outcome(one: _Round, proofs: Sequence[dict[str, Any]], *, is_rival: bool) -> tuple[str, str, int]:
    """Return the status of a round, its first reason, and how many answers are right."""
    too_long = one.changed.lengths.too_long
    refused = []
    for search, proof in zip(one.searches, proofs, strict=True):
        if "status" in proof:
            status, reason = proof["status"], f"the proof: {proof['reason']}"
        elif "reason" in search.row:
            status, reason = "invalid", search.row["reason"]
        else:
            certificate = certificate_of(proof)
            status, reason = answer_status(search.overflowed, certificate, too_long, is_rival=is_rival)
        if status == "invalid":
            reason = f"source {search.root}: {reason}"
        if status != "ok":
            refused.append((status, reason))
    # A wrong answer matters more than a path that is too long.
    status, reason = min(refused, key=lambda one: one[0] != "invalid", default=("ok", ""))
    return status, reason, len(proofs) - len(refused)


@contextmanager
def _variant_in_traffic(
    run: Run, graph: Graph, source: int, device: str, changes: Iterator[npt.NDArray[Any]]
) -> Iterator[TrafficContestant]:
    """Start a variant, which prepares the graph before any change and searches once; end it after."""
    with open_variant(run, sssp.PROBLEM, graph, device, changes=changes) as client:
        client.begin()
        client.prepare([source])
        client.warm_up(source)
        yield _Variant(client.reweight, client.solve)


class _Variant:
    """A variant as the study sees it; implements `TrafficContestant`."""

    def __init__(
        self,
        reweight: Callable[[], Reweighted],
        solve: Callable[[int], tuple[Found, dict[str, npt.NDArray[Any]]]],
    ) -> None:
        self._reweight, self._solve = reweight, solve
        self._fingerprints: dict[str, int] = {}

    def take(self, changed: Graph) -> Row:
        """Have the variant take the next weights, which its process draws as this one did."""
        taken = self._reweight()
        self._fingerprints = taken.graph
        return {"way": taken.way, "update_ms": taken.update_ms}

    def search(self, source: int) -> Search:
        """Have a search timed, and receive its answer."""
        found, answer = self._solve(source)
        changed = changes_of(self._fingerprints, found.graph)
        row = {"time_ms": found.time_ms, **({"reason": changed} if changed else {})}
        return Search(row, source, answer, found.overflowed)
