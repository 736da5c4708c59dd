"""Searches per second when one launch searches from many sources."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.device import Device
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs import multi_source
from relaxometer.problems.bfs.certify import BfsCertifier
from relaxometer.problems.sssp import PROBLEM
from relaxometer.problems.sssp._distance_proof import DistanceProver
from relaxometer.problems.sssp.certify import SsspCertifier
from relaxometer.problems.sssp.near_far import many_sources
from relaxometer.problems.sssp.phast import phast_many
from relaxometer.problems.variants import refuse_weights
from relaxometer.race.sources import sources_table
from relaxometer.studies.study import OUTCOME, WHERE, Row, study_table

TABLE = pa.schema(
    [
        *[("graph", pa.string()), ("variant", pa.string()), ("searches", pa.int32())],
        *[("repetition", pa.int32()), ("time_ms", pa.float64()), ("proven", pa.int32())],
        *(*OUTCOME, *WHERE),
    ]
)
"""One row per launch: its number of searches, their total time, and the number of proven answers.

``phast-many-distances`` is `phast-many` without predecessors, ``multi-source-levels`` `multi-source`.
"""

Sources = npt.NDArray[np.int64]
Timed = tuple[float, list[tuple[str, str]]]
"""Milliseconds of a launch, and status and reason of each answer that is not proven."""


def measure_throughput(
    graph: Graph,
    device: Device,
    *,
    variants: Sequence[str],
    searches: Sequence[int],
    repetitions: int,
    seed: int,
) -> pa.Table:
    """Time launches of many searches and prove every answer; return a table of the schema `TABLE`.

    `variants` are keys of `PROGRAMS`, and `searches` numbers of searches per launch. After an untimed launch
    of each number, `repetitions` are timed. `seed` draws the sources, as for single searches; they repeat if
    the graph has too few.
    """
    tables = []
    for variant in variants:
        keys = [
            {"variant": variant, "searches": count, "repetition": number}
            for count in searches
            for number in range(repetitions)
        ]
        launches = _launches(graph, variant, keys, seed, device)
        tables.append(study_table(f"throughput of {variant}", graph, device, TABLE, keys, launches))
    return pa.concat_tables(tables)


def _launches(graph: Graph, variant: str, keys: Sequence[Row], seed: int, device: Device) -> Iterator[Row]:
    most = max(key["searches"] for key in keys)
    resident = ResidentGraph.upload(device, graph)
    search = PROGRAMS[variant](resident, most)
    drawn = np.resize(sources_table(graph, most, seed)["source"].to_numpy(), most)
    for key in keys:
        sources = drawn[: key["searches"]]
        if key["repetition"] == 0:
            search(sources)
        time_ms, wrong = search(sources)
        status, reason = wrong[0] if wrong else ("ok", "")
        proven = len(sources) - len(wrong)
        yield {"time_ms": time_ms, "proven": proven, "status": status, "reason": reason}


def _wrong(
    certifier: SsspCertifier | BfsCertifier, sources: Sources, first: Any, second: Any, too_long: str = ""
) -> list[tuple[str, str]]:
    """Return which trees are wrong and why; item i of `first` and `second` has the columns of source i.

    `too_long` is not empty if some search overflowed.
    """
    wrong = []
    for row, source in enumerate(sources.tolist()):
        certificate = certifier.check(source, first[row], second[row])
        if not certificate.holds:
            wrong.append(_refused(source, *certificate.outcome(overflowed=bool(too_long), too_long=too_long)))
    return wrong


def _refused(source: int, status: str, reason: str) -> tuple[str, str]:
    """Name the source of an answer that is wrong; one that is too long has a reason of its own."""
    return status, reason if status == "error" else f"source {source}: {reason}"


def _trees_by(module: Any, certifier: Any) -> Callable[[ResidentGraph, int], Callable[[Sources], Timed]]:
    """Return a function that prepares a solver for trees, each of whose launches is timed and proven."""

    def prepare(resident: ResidentGraph, most: int) -> Callable[[Sources], Timed]:
        if certifier is SsspCertifier:
            refuse_weights(PROBLEM, module.Solver, resident.host)
        solver = module.Solver(resident, module.Parameters.model_validate({"sources": most}))
        proof = certifier(resident)

        def search(sources: Sources) -> Timed:
            with resident.device.timer() as timer:
                first, second, *overflowed = solver.solve_many(sources)
            too_long = resident.lengths.too_long if any(overflowed) else ""
            return timer.ms, _wrong(proof, sources, first, second, too_long)

        return search

    return prepare


def _phast_many_distances(resident: ResidentGraph, most: int) -> Callable[[Sources], Timed]:
    refuse_weights(PROBLEM, phast_many.Solver, resident.host)
    solver = phast_many.Solver(resident, phast_many.Parameters.model_validate({"sources": most}))
    prover = DistanceProver(resident)

    def search(sources: Sources) -> Timed:
        with resident.device.timer() as timer:
            distance, overflowed = solver.find_distances(sources)
        proof = prover.check(distance.places(sources), distance.labels)
        wrong = sources[proof.wrong[: len(sources)]].tolist()
        too_long = resident.lengths.too_long
        outcome = proof.certificate.outcome(overflowed=overflowed, too_long=too_long, rule="overstretched")
        return timer.ms, [_refused(source, *outcome) for source in wrong]

    return search


def _multi_source_levels(resident: ResidentGraph, most: int) -> Callable[[Sources], Timed]:
    """Return a function that times levels; predecessors for the proof are found after the clock stopped."""
    solver = multi_source.Solver(resident, multi_source.Parameters.model_validate({"sources": most}))
    certifier = BfsCertifier(resident)

    def search(sources: Sources) -> Timed:
        with resident.device.timer() as timer:
            level = solver.find_levels(sources)
        return timer.ms, _wrong(certifier, sources, level, solver.solve_many(sources)[1])

    return search


PROGRAMS = {
    "many-sources": _trees_by(many_sources, SsspCertifier),
    "phast-many": _trees_by(phast_many, SsspCertifier),
    "phast-many-distances": _phast_many_distances,
    "multi-source": _trees_by(multi_source, BfsCertifier),
    "multi-source-levels": _multi_source_levels,
}
"""Functions that prepare a variant for a graph and a maximum number of searches."""
