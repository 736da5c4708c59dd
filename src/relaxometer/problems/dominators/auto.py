"""The variant that suits a graph or a batch, on CPU or GPU, chosen by its features."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import PositiveInt

from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.graphs.survey import Features
from relaxometer.problems import choosing, variants
from relaxometer.problems.choosing import AS_H200, Scale
from relaxometer.problems.dominators import Answer, batch_warp, iterative_tree
from relaxometer.problems.dominators.biconnected import biconnected
from relaxometer.problems.phases import Phase
from relaxometer.problems.variants import Skipped

CANDIDATES: dict[str, Any] = {"biconnected": biconnected, "iterative-tree": iterative_tree}
"""Variants for a large graph, by name."""

SMALL_GRAPH = 2048  # a CPU core solves graphs of at most this many vertices before a GPU kernel would start
SMALL_GRAPH_FROM_HOST = 7000  # the same for sweeps where the GPU first needs upload and preparation
SMALL_SEARCHED_FROM_HOST = 4000  # the same for `semi-nca`
DENSE = 8  # arcs per vertex above which a graph has few levels: sweeps are fast although arcs lead both ways
LOOKED_AT = 4096
"""Arcs of a graph that are looked at on the host: if one has no reverse, no kernel counts the others."""

SMALL_BATCH = 900  # maximum vertices of a batch for a CPU core, compared with a replayed launch


class Cost(NamedTuple):
    """Expected time of a search of a batch: µs in any case, and ns per vertex."""

    fixed: float
    per_vertex: float

    def expected(self, n_vertices: int) -> float:
        """Return the expected µs."""
        return self.fixed + 1e-3 * self.per_vertex * n_vertices


ONE_CORE = Cost(2.5, 26)
ALL_CORES = Cost(54, 29)
FEW_GRAPHS = Cost(20, 9)
UPLOADED = Cost(66, 1.2)
"""Ways from host to host, for one NVIDIA H200 and Xeon cores: the mean of searches one after the other and of
searches after a pause, which delays threads more than a kernel; see docs/performance/dominators.md."""

STEEP = 300  # mean degree of the ends of arcs above which hubs decide
GAIN = 0.8  # c cores divide the time per vertex by c ** GAIN


class Parameters(variants.Parameters):
    """How many searches, and where they start and end."""

    searches: PositiveInt = 100
    """Choose for the time of this many searches of a large graph and what they need to be prepared."""
    host_to_host: bool = False
    """Every search starts from arrays in ordinary memory and ends with the answer in host memory; choose for
    the time of all of it. Nothing is prepared."""


class Solver:
    """Dominators by the variant that suits the graph; only that one is prepared, and none is tried.

    Graphs and batches of few vertices go to one CPU core: `cooper-harvey-kennedy`, or `semi-nca` for sparse
    graphs whose arcs all lead both ways, on which sweeps are slow. Other batches go to `batch-warp`,
    replayed. Other graphs go to `biconnected` if all their arcs lead both ways, else to `iterative-tree`.

    From host to host, larger graphs stay on a CPU core, and a batch goes to one core, all cores or
    `batch-warp`, whichever is expected to take least.

    If a search `ends_on_host`, it is timed by the host's clock. `solve` is that of the chosen variant, since
    a call takes a noticeable part of the shortest searches.
    """

    runs_on: ClassVar[Literal["device"]] = "device"
    takes: ClassVar[Literal["either"]] = "either"
    solve: Callable[..., Answer]

    def __init__(self, graph: ResidentGraph | ResidentBatch, parameters: Parameters) -> None:
        self._host_to_host = parameters.host_to_host
        if isinstance(graph, ResidentBatch):
            choose = _batch_from_host if self._host_to_host else _of_batch
            self._chosen, self._because, self._solver = choose(graph)
        else:
            from_host, searches = self._host_to_host, parameters.searches
            chosen = _graph_from_host(graph) if from_host else _of_graph(graph, searches)
            self._chosen, self._because, self._solver = chosen
        self.ends_on_host = self._host_to_host or self._solver.runs_on == "cpu"
        self.solve = self._solver.solve

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the choice, which the first searches may change, and the parameters of the chosen one."""
        found = self._solver.resolved | {"host_to_host": self._host_to_host}
        return {"chosen": self._chosen, "because": self._because} | found


Choice = tuple[str, str, Any]  # a variant's name, the reason for it, and its solver


def _of_batch(batch: ResidentBatch) -> Choice:
    because = f"{batch.n_vertices:,} vertices in a batch"
    if batch.n_vertices <= SMALL_BATCH:
        return "cooper-harvey-kennedy", because, _sweeps(batch)
    return "batch-warp", because, batch_warp.Solver(batch, batch_warp.Parameters(replay=True))


def _batch_from_host(batch: ResidentBatch) -> Choice:
    # Loads Numba.
    from relaxometer.problems.dominators.cpu._on_cpu import cores_of

    expected = costs_from_host(batch.n_vertices, cores_of("all"), few=batch_warp.is_small(batch.host))
    least = min(expected, key=lambda name: expected[name])
    because = "expected " + ", ".join(f"{name} {us:.0f} µs" for name, us in expected.items())
    if least == "GPU":
        return "batch-warp", because, batch_warp.Solver(batch, batch_warp.Parameters(host_to_host=True))
    cores: Literal[1, "all"] = 1 if least == "one core" else "all"
    return "cooper-harvey-kennedy", because, _sweeps(batch, cores=cores)


def costs_from_host(n_vertices: int, cores: int, *, few: bool) -> dict[str, float]:
    """Return the µs that a batch takes from host to host by where it is solved; if `few`, in host memory."""
    shared = ALL_CORES._replace(per_vertex=ALL_CORES.per_vertex / cores**GAIN)
    costs = {"one core": ONE_CORE, f"{cores} cores": shared, "GPU": FEW_GRAPHS if few else UPLOADED}
    if cores == 1:
        costs = {"one core": ONE_CORE, "GPU": costs["GPU"]}
    return {name: cost.expected(n_vertices) for name, cost in costs.items()}


def _of_graph(graph: ResidentGraph, searches: int) -> Choice:
    if graph.n_vertices <= SMALL_GRAPH:
        return _on_one_core(graph)
    large = _Large(graph, searches)
    return large.resolved["chosen"], large.resolved["because"], large


class _Large(choosing.Choosing):
    """A large graph, on the device."""

    def __init__(self, graph: ResidentGraph, searches: int) -> None:
        self._directed = graph.metadata.get("directed")
        super().__init__(graph, searches, CANDIDATES)

    def _costs(self, features: Features, scale: Scale) -> dict[str, choosing.Cost]:
        if self._directed is not None:
            features = features._replace(one_way=float(self._directed))
        return expected_costs(features, scale)

    def _reason(self) -> str:
        one_way = self._graph.features.one_way if self._directed is None else self._directed
        seen = "sampled" if self._directed is None else "all"
        return "an arc leads one way" if one_way else f"{seen} arcs lead both ways"

    def _prepared(self, name: str) -> Any:
        solver = super()._prepared(name)
        if name == "biconnected" and solver and (one_way := solver.resolved["one_way_arcs"]):
            self._drop(name, Skipped(f"{one_way:,} arcs lead one way"))
            return None
        return solver


def expected_costs(f: Features, scale: Scale = AS_H200) -> dict[str, choosing.Cost]:
    """Return the expected cost of each candidate for a large graph, in ms; see docs/performance/auto.md.

    The rounds of `iterative-tree` and the search before it take time per level; `biconnected` reads ends of
    arcs in any order, and searches breadth-first in graphs with hubs.
    """
    n, m, depth = scale.sizes(f)
    costs = {"iterative-tree": choosing.Cost(0.8 + 0.045 * m, 0.5 + 0.02 * depth + 0.1 * m)}
    if f.one_way:
        return costs
    if f.largest >= biconnected.HUB:
        search = 0.2 + 0.06 * m if f.ends > STEEP else 0.5 + n + 0.08 * m
        costs["biconnected"] = choosing.Cost(1 + 0.08 * m, search)
    else:
        search = 0.6 + 0.45 * n + 1.1 * n * f.crossing + 0.06 * m
        costs["biconnected"] = choosing.Cost(0.65 + 0.05 * m, search)
    return costs


def _leads_both_ways(graph: ResidentGraph) -> bool:
    """Return whether the graph says so, or its first arcs do, which are quickly looked at on the host."""
    # Loads Numba.
    from relaxometer.problems.dominators._flow_graphs import leads_both_ways

    if "directed" in graph.metadata:
        return graph.metadata["directed"] is False
    host = graph.host
    return leads_both_ways(host.offsets, host.targets, LOOKED_AT)


def _on_one_core(graph: ResidentGraph) -> Choice:
    because = f"{graph.n_vertices:,} vertices"
    if not _has_many_sweeps(graph):
        return "cooper-harvey-kennedy", because, _Swept(graph)
    from relaxometer.problems.dominators.cpu import semi_nca

    return "semi-nca", because, semi_nca.Solver(graph, semi_nca.Parameters())


def _has_many_sweeps(graph: ResidentGraph) -> bool:
    return graph.n_arcs <= DENSE * graph.n_vertices and _leads_both_ways(graph)


def _sweeps(batch: ResidentBatch, **parameters: Any) -> Any:
    from relaxometer.problems.dominators.cpu import cooper_harvey_kennedy

    return cooper_harvey_kennedy.Solver(batch, cooper_harvey_kennedy.Parameters(**parameters))


def _graph_from_host(graph: ResidentGraph) -> Choice:
    limit = SMALL_SEARCHED_FROM_HOST if _has_many_sweeps(graph) else SMALL_GRAPH_FROM_HOST
    if graph.n_vertices <= limit:
        name, because, solver = _on_one_core(graph)
        return name, because, solver if isinstance(solver, _Swept) else _EachPrepared(graph, solver)
    uploaded = _EachUploaded(graph)
    return uploaded.chosen, f"{graph.n_vertices:,} vertices", uploaded


class _EachUploaded:
    """Searches of a graph that each upload it, prepare, and download the answer."""

    runs_on = "device"

    def __init__(self, graph: ResidentGraph) -> None:
        self._device, self._host = graph.device, graph.host
        self.chosen, _, solver = _of_graph(graph, 1)
        self.resolved = solver.resolved

    def solve(self, root: int, phases: list[Phase] | None = None) -> Answer:
        asarray, host, module = self._device.asarray, self._host, CANDIDATES[self.chosen]
        # Dominators do not depend on weights.
        graph = ResidentGraph(self._device, host, asarray(host.offsets), asarray(host.targets), None)
        answer: Answer = module.Solver(graph, module.Parameters()).solve(root, phases)
        return Answer(self._device.asnumpy(answer.idom), answer.phases)


class _Swept:
    """`cooper-harvey-kennedy` for a small graph, without preparation, which gains less than a plain call."""

    runs_on = "cpu"

    def __init__(self, graph: ResidentGraph) -> None:
        from relaxometer.problems.dominators.cpu import _on_cpu, cooper_harvey_kennedy

        self._find, self._host = cooper_harvey_kennedy.find_from_host, graph.host
        self._answer_of = _on_cpu.answer_of
        self.resolved = {"cores": 1}
        self.solve(0)  # compiles

    def solve(self, root: int, phases: list[Phase] | None = None) -> Answer:
        host = self._host
        idom = np.empty(len(host.offsets) - 1, dtype=np.uint32)
        rounds = self._find(host.offsets, host.targets, root, idom)
        return self._answer_of(idom, rounds, host.n_arcs, phases)


class _EachPrepared:
    """Searches of a graph on one CPU core that each find the predecessors."""

    runs_on = "cpu"

    def __init__(self, graph: ResidentGraph, solver: Any) -> None:
        self._graph, self._find, self.resolved = graph, type(solver).find, solver.resolved

    def solve(self, root: int, phases: list[Phase] | None = None) -> Answer:
        from relaxometer.problems.dominators._flow_graphs import FlowGraphs
        from relaxometer.problems.dominators.cpu._on_cpu import answer_of

        graphs = FlowGraphs.of(self._graph).rooted_at(root)
        idom = np.empty(graphs.n_vertices, dtype=np.uint32)
        return answer_of(idom, self._find(graphs, idom), len(graphs.out.ends), phases)
