"""Push near buckets along light arcs, then pull into the few vertices that are left."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AllowInfNan, PositiveFloat, PositiveInt

from relaxometer.device import Device
from relaxometer.device.kernels import Kernel, Launch
from relaxometer.device.signature import read_source
from relaxometer.graphs.lengths import Lengths
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import Answer
from relaxometer.problems.sssp._cooperative import LOG_ROWS, logged_phases, threads_per_block, trees_ahead
from relaxometer.problems.sssp._tight_tree import TightTree
from relaxometer.problems.sssp.push_pull._prepare import Prepared, prepare

BLOCK = 512
UNPACK_BLOCK = 256  # has few registers, so that a multiprocessor holds 2,048 threads
MANY_ARCS = 64  # a vertex with more arcs than this gets a whole warp
SOURCE = read_source(Path(__file__).with_name("push_pull.cu"))


class Parameters(variants.Parameters):
    """Parameters of `push-pull`."""

    delta: PositiveInt | Annotated[PositiveFloat, AllowInfNan(False)] | Literal["auto"] = "auto"
    """Width of a bucket in the graph's weight unit; on integer weights, rounded to an integer of at least 1.
    "auto" is twice the mean weight, divided by the mean degree of the vertices that have arcs."""
    beta: PositiveFloat = 256.0
    """Pull once the unsettled vertices have fewer arcs than this times the arcs read in the last bucket."""


DELTA_FACTOR = 2.0


class Solver:
    """SSSP that pushes buckets along arcs sorted by weight, then pulls into the vertices that are left.

    References
    ----------
    Chakaravarthy, Checconi, Petrini and Sabharwal, "Scalable Single Source Shortest Path Algorithms for
    Massively Parallel Systems", IPDPS 2014.
    """

    runs_on = "device"
    weight_types: ClassVar = {"uint32", "uint32/uint64", "float32", "float64"}

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._graph, device, xp = graph, graph.device, graph.device.xp
        self._tree = TightTree(graph) if graph.lengths.is_wide else None
        prepared = prepare(graph, MANY_ARCS)
        self._n = len(prepared.ids)
        given = parameters.delta
        fitting = automatic_delta(prepared.mean_weight, self._n, graph.n_arcs)
        self._delta = bucket_width(fitting if given == "auto" else given, graph.lengths)
        self._beta = parameters.beta
        self._best = xp.empty(self._n, dtype=xp.uint64)
        self._state = xp.zeros(SOURCE.layout("State").dtype.itemsize, dtype=xp.uint8)
        self._log = xp.empty((LOG_ROWS, 4), dtype=xp.uint64)
        module = device.module(SOURCE.path, options=graph.lengths.options, cooperative=True)
        problem = module.struct("Problem", **self._members(prepared))
        source, n = np.uint32(0), np.uint32(graph.n_vertices)
        start = problem, prepared.rank, source, self._log, np.uint32(0)
        self._search = _bound(module.get_function("search"), device, BLOCK, start)
        numbers = n, np.uint32(self._n), prepared.rank, prepared.ids
        labels = *numbers, self._best, self._state, source, None, None, None, None
        self._unpack = _bound(module.get_function("unpack"), device, UNPACK_BLOCK, labels)
        self._arrays = trees_ahead(graph, self._unpack, "n_phases", "overflow")
        self.resolved = {"delta": self._delta.item(), "beta": self._beta}

    def _members(self, prepared: Prepared) -> dict[str, Any]:
        n, n_arcs, xp = self._n, self._graph.n_arcs, self._graph.device.xp
        vertices = {
            "n": np.uint32(n),
            "n_many": np.uint32(prepared.n_many),
            "best": self._best,
            "due": xp.empty(n, dtype=self._graph.lengths.word),
            "cursor": xp.empty(n, dtype=xp.uint32),
            "stamp": xp.zeros(n, dtype=xp.uint32),
        }
        return {
            "out": vars(prepared.out),
            "into": vars(prepared.into),
            "vertices": vertices,
            "n_arcs": np.uint64(n_arcs),
            "delta": np.uint64(self._delta.view(self._graph.lengths.weight_word)),
            "beta": np.float32(self._beta),
            "lists": [xp.empty(n, dtype=xp.uint32) for _ in range(2)],
            # A window is cut only if it is longer than one task.
            "tasks": xp.empty(2 * (n_arcs // SOURCE.constants["TASK_ARCS"]) + 1, dtype=xp.uint64),
            "state": self._state,
        }

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`."""
        from_source = np.uint32(source)
        self._search(source=from_source, log_size=np.uint32(LOG_ROWS if phases is not None else 0))
        answer = Answer(**self._arrays.take())
        self._unpack(source=from_source)
        if self._tree is not None:
            words = self._graph.lengths.words(answer.distance)
            answer = replace(answer, predecessor=self._tree.predecessors(source, words))
        self._arrays.prepare()
        if phases is not None:
            rows = self._graph.device.asnumpy(self._log[: (answer.phases or 0) + 1])
            phases += logged_phases(rows, ("push", "pull"))
        return answer


def _bound(kernel: Kernel, device: Device, on_gpu: int, arguments: tuple[Any, ...]) -> Launch:
    """Return a launch of as many blocks as run at once, of `on_gpu` threads on a GPU."""
    block = threads_per_block(device, on_gpu)
    return kernel.bind(device.max_cooperative_blocks(kernel, block), block, arguments)


def automatic_delta(mean_weight: float, n_with_arcs: int, n_arcs: int) -> float:
    """Return `DELTA_FACTOR` times the mean weight, divided by the mean degree."""
    return DELTA_FACTOR * mean_weight * n_with_arcs / max(n_arcs, 1)


def bucket_width(delta: float, lengths: Lengths) -> Any:
    """Return a width as a scalar of the type of weights; at least 1 if they are integers."""
    width = delta if lengths.is_float else max(1, round(delta))
    return lengths.dtype.type(min(width, lengths.largest))
