"""Delta-stepping: buckets by distance, light arcs before heavy ones (algorithm 3 of the survey)."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from relaxometer.device.signature import read_source
from relaxometer.graphs.lengths import mean_weight
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp.label_correcting._labels import BLOCK, Labels

SOURCE = read_source(Path(__file__).with_name("delta_stepping.cu"))

NO_BUCKET, CURRENT, NEXT, PHASES, RELAXED, FINISHED, CONTROL_WORDS, ARC_BITS = (
    SOURCE.constants[name]
    for name in ("NO_BUCKET", "CURRENT", "NEXT", "PHASES", "RELAXED", "FINISHED", "CONTROL_WORDS", "ARC_BITS")
)

VERTICES_PER_THREAD = 4  # vertices examined per thread on small graphs: fewer blocks make faster barriers
MAX_SPLITTING_BLOCKS = 65_536
NO_LIMIT = np.uint32(2**32 - 1)


class Parameters(variants.Parameters):
    """The width of a bucket."""

    delta: (
        Literal["median", "mean", "max-over-degree"]
        | Annotated[int, Field(ge=1, le=2**32 - 1)]
        | Annotated[float, Field(gt=0, le=2**32 - 1)]
    ) = "mean"
    """The survey's three choices are the median or mean of the weights, or the largest weight over the
    largest out-degree. Or the width itself, in the graph's weight unit. If weights are integers, it is
    rounded and at least 1."""


class Solver:
    """SSSP by delta-stepping.

    Skipped if the graph has 2**31 vertices or 2**33 arcs or more.

    References
    ----------
    "Single-source shortest paths in parallel with CUDA" (survey, in Chinese), section 5.
    Meyer and Sanders, "Delta-Stepping: A Parallelizable Shortest Path Algorithm", J. Algorithms 49, 2003.
    """

    runs_on = "device"
    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        if graph.n_vertices >> 31:
            raise variants.Skipped(f"{graph.n_vertices:,} vertices; delta-stepping counts them in 31 bits")
        if graph.n_arcs >> ARC_BITS:
            raise variants.Skipped(f"{graph.n_arcs:,} arcs; delta-stepping counts them in {ARC_BITS} bits")
        self._graph = graph
        device, xp, n = graph.device, graph.device.xp, graph.n_vertices
        self._labels = Labels(graph)
        module = device.module(SOURCE.path, cooperative=True, options=graph.lengths.options)
        kernel = module.get_function("delta_stepping")
        most = device.max_cooperative_blocks(kernel, BLOCK)
        self._blocks = min(-(-n // (BLOCK * VERTICES_PER_THREAD)), most)
        width = _width(graph, parameters.delta)
        self._delta = np.array(width, dtype=graph.lengths.dtype).view(graph.lengths.weight_word)[()]
        self._buckets = xp.empty(n, dtype=xp.uint32)
        self._last_bucket = xp.empty(n, dtype=xp.uint32)
        self._control = xp.zeros(CONTROL_WORDS, dtype=xp.uint64)
        light, heavy = (
            {"vertices": xp.empty(n, dtype=xp.uint32), "arcs_before": xp.empty(n, dtype=xp.uint64)}
            for _ in range(2)
        )
        problem = module.struct(
            "Problem",
            n=np.uint32(n),
            delta=self._delta,
            labels=self._labels.words,
            buckets=self._buckets,
            last_bucket=self._last_bucket,
            light=light | {"distances": xp.empty(n, dtype=graph.lengths.word)},
            heavy=heavy | {"distances": None},
            control=self._control,
            overflow=self._labels.overflow,
        )
        arguments = (problem, graph.offsets, *self._split(), NO_LIMIT)
        self._delta_stepping = kernel.bind(self._blocks, BLOCK, arguments)
        rule = parameters.delta if isinstance(parameters.delta, str) else "given"
        self.resolved = {"delta": width, "delta_rule": rule, "blocks": self._blocks}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; phases count if they have arcs to relax."""
        self._labels.start(source)
        self._buckets.fill(NO_BUCKET)
        self._buckets[source] = 0
        self._last_bucket.fill(NO_BUCKET)
        self._control.fill(0)
        self._control[CURRENT : NEXT + 1] = NO_BUCKET
        if phases is None:
            self._delta_stepping(phases=NO_LIMIT)
        else:
            self._run_phase_by_phase(phases)
        return self._labels.answer(self._graph.device.item(self._control, PHASES))

    def _run_phase_by_phase(self, phases: list[Phase]) -> None:
        """Run the search with one launch per phase, and record each."""
        device = self._graph.device
        control = device.asnumpy(self._control)
        while not control[FINISHED]:
            distances = self._labels.distances
            with device.timer() as timer:
                self._delta_stepping(phases=np.uint32(1))
            before, control = control, device.asnumpy(self._control)
            if control[PHASES] > before[PHASES]:
                updated = int((self._labels.distances != distances).sum())
                relaxed = int(control[RELAXED] - before[RELAXED])
                mode = "heavy" if control[CURRENT] == NO_BUCKET else "light"
                phases.append(Phase(mode, updated, relaxed, timer.ms))

    def _split(self) -> tuple[Any, Any, Any]:
        """Return targets, weights and ends of light arcs, with the light arcs of each vertex first."""
        graph, xp = self._graph, self._graph.device.xp
        targets = xp.empty(graph.n_arcs, dtype=xp.uint32)
        weights = xp.empty(graph.n_arcs, dtype=graph.lengths.weight_word)
        light_end = xp.empty(graph.n_vertices, dtype=xp.int64)
        module = graph.device.module(SOURCE.path, options=graph.lengths.options)
        blocks = min((graph.n_vertices * 32 + BLOCK - 1) // BLOCK, MAX_SPLITTING_BLOCKS)
        arguments = (*graph.csr, self._delta, targets, weights, light_end)
        module.get_function("split_arcs")(blocks, BLOCK, arguments)
        return targets, weights, light_end


def _width(graph: ResidentGraph, rule: str | float) -> float:
    """Return the width of a bucket, of the type of the weights; a float is not subnormal."""
    width = _by_rule(graph, rule) if isinstance(rule, str) else rule
    if not graph.lengths.is_float:
        return max(1, round(width))
    smallest = float(np.finfo(graph.lengths.dtype).smallest_normal)
    return float(graph.lengths.dtype.type(max(width, smallest)))


def _by_rule(graph: ResidentGraph, rule: str) -> float:
    if graph.n_arcs == 0:
        return 1
    weights, middle = graph.weights.view(graph.lengths.dtype), graph.n_arcs // 2
    if rule == "median":
        return float(graph.device.xp.partition(weights, middle)[middle])
    if rule == "mean":
        return mean_weight(weights)
    return float(weights.max()) / int(graph.host.degrees.max())
