"""Solvers prepared for many searches on one graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import announce
from relaxometer.core.errors import UserError, quoted
from relaxometer.core.validation import suggestion, validated
from relaxometer.device import Device, get_device
from relaxometer.device.host import HostDevice
from relaxometer.graphs.lengths import ON_CYCLE, Lengths, unreached
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.library import _forests
from relaxometer.library._ids import Ids
from relaxometer.library.answers import Answer, Retained, WrongAnswer
from relaxometer.library.graph import Graph, on_host
from relaxometer.problems import variants
from relaxometer.problems.problem import Problem, load_problem, problem_names

ON_CPU = {
    "sssp": "dijkstra-cpu",
    "bfs": "hybrid-cpu",
    # `semi-nca` takes a quarter less time, but the square of a list whose links refer to hubs.
    "dominators": "lengauer-tarjan",
    "routes": "hierarchy-cpu",
}
"""The default variant of each problem without a GPU."""

NEGATIVE = {"cpu": "bellman-ford-cpu", "cuda": "johnson", "host": "johnson"}
"""The default variant of ``sssp`` for signed weights."""

ON_CYCLE_TOO = "bellman-ford-queue"
"""The default variant on a GPU for graphs with a negative cycle, for which `johnson` has no potentials."""

FIRST = 1 << 25
"""Bytes that are copied to a GPU when it is opened, and whose memory is kept for later arrays."""

PIECE = 1 << 22
"""Distances of a piece of a table."""

PIECE_ALONG = 1 << 16
"""The same where paths are needed."""


def prepare(
    graph: Graph,
    problem: str = "sssp",
    *,
    searches: int = 1,
    variant: str | None = None,
    device: str = "auto",
    **parameters: Any,
) -> Prepared:
    """Prepare a solver for searches on a graph.

    Parameters
    ----------
    graph : Graph
    problem : {"sssp", "bfs", "dominators", "routes"}
    searches : int, default=1
        Expected number of searches, of `routes` pairs, which decides how much preparation breaks even.
    variant : str, optional
        One of docs/variants.md. By default, on a GPU the one with the least expected total time, preparation
        plus `searches` searches; without a GPU, a program for the CPU.
    device : {"auto", "cuda", "cpu", "host"}
        "auto" is a GPU if there is one, else the CPU. "host" emulates the GPU's kernels on the CPU, to debug
        them; that is slow.
    **parameters
        Of the variant; see config/solvers.md.

    Raises
    ------
    GraphError
        If the variant does not take the graph, or an argument is invalid.
    DeviceOutOfMemory
        If the graph does not fit. If its arrays and an answer do not, nothing has been allocated.
    """
    if not isinstance(graph, Graph):
        raise UserError(
            f"graph: {quoted(type(graph).__name__)}; expected what Graph.from_csr and its like return"
        )
    if problem not in problem_names():
        raise UserError(f"unknown problem {quoted(problem)}; known: {', '.join(problem_names())}")
    if searches < 1:
        raise UserError(f"searches: {searches}; expected at least 1")
    if not graph.n_vertices:
        raise UserError("graph: no vertices; expected at least one")
    announce()
    where = place(device)
    if variant is None:
        variant = _choice(graph, problem, where)
        if variant == "johnson":
            try:
                return Prepared(graph, problem, variant, where, parameters)
            except UserError as error:
                if not isinstance(error.__context__, variants.Skipped):
                    raise
            variant = ON_CYCLE_TOO
    if variant == "auto" and "searches" in _load_solver(problem, variant).Parameters.model_fields:
        parameters = {"searches": searches, **parameters}
    return Prepared(graph, problem, variant, where, parameters)


_load_solver = cache(variants.load_solver)
"""To look for the files takes as long as a search of a small graph."""


def place(device: str) -> str:
    """Return where to search: "cuda", "cpu" or "host"."""
    if device not in ("auto", "cuda", "cpu", "host"):
        raise UserError(f"unknown device {quoted(device)}; known: auto, cuda, cpu, host")
    if device in ("cpu", "host"):
        return device
    from relaxometer.device import cuda

    lack = cuda.obstacle()
    if lack and device == "cuda":
        raise UserError(f"device 'cuda': {lack}")
    return "cpu" if lack else "cuda"


def open_device(kind: str) -> Device:
    """Return the current GPU, the emulation, or the place of CPU programs.

    A process opens each once and keeps compiled kernels.
    """
    if kind != "cuda":
        return _opened(kind, 0)
    import cupy

    return _opened(kind, cupy.cuda.runtime.getDevice())


@cache
def _opened(kind: str, number: int) -> Device:
    if kind == "cpu":
        return HostDevice(emulates=False)
    device = get_device(kind)
    if kind == "cuda":  # else the first copy and the first arrays take longer
        device.asarray(np.empty(FIRST, np.uint8))
    return device


def _choice(graph: Graph, problem: str, where: str) -> str:
    if problem == "sssp" and graph.lengths.is_signed:
        return NEGATIVE[where]
    return ON_CPU[problem] if where == "cpu" else "auto"


class Prepared:
    """A solver that is ready for searches on one graph; made by :func:`prepare`.

    It may be used from one thread at a time, and works on the current stream of that thread; for two threads
    prepare two. Its memory is freed with the object and its answers.

    Attributes
    ----------
    graph : Graph
    problem, variant : str
    device : relaxometer.device.Device
        Where its arrays are.
    resolved : dict of str to Any
        The parameters in force, with those that the solver chose.
    """

    def __init__(
        self, graph: Graph, problem: str, variant: str, where: str, parameters: dict[str, Any]
    ) -> None:
        try:
            module = _load_solver(problem, variant)
        except KeyError:
            known = variants.solver_names(problem)
            hint = suggestion(variant, known, f"known: {', '.join(known)}")
            raise UserError(f"unknown variant {quoted(variant)} of {problem}{hint}") from None
        runs_on = module.Solver.runs_on
        if runs_on == "device" and where == "cpu":
            raise UserError(f"{variant} needs a GPU; use {ON_CPU[problem]}, or device='host' to debug it")
        if getattr(module.Solver, "takes", "graph") == "batch":
            raise UserError(f"{variant} takes batches of graphs only")
        self.graph, self.problem, self.variant = graph, problem, variant
        self.kind = load_problem(problem)
        self._module, self._version = module, 0
        self._parameters = validated(module.Parameters, parameters, f"variant {variant}")
        self.device = open_device("cpu" if runs_on == "cpu" else where)
        self._load(graph)

    def __repr__(self) -> str:
        where = "cpu" if self._module.Solver.runs_on == "cpu" else self.device.kind
        return f"Prepared({self.problem} by {self.variant} on {where}, {self.graph!r})"

    def _load(self, graph: Graph) -> None:
        self._stream = self._current_stream()
        try:
            variants.refuse_weights(self.kind, self._module.Solver, graph)
            wants_arcs = self._parameters.wants_arcs(graph.n_arcs)
            if wants_arcs and not graph.on_device:
                self.device.refuse(graph.bytes_on_device(self.problem), "the graph and an answer")
            self._construct(graph, wants_arcs)
        except variants.Skipped as reason:
            remedy = "; scale and round them: (1000 * weights).round().astype('uint32')"
            remedy = remedy if self.problem == "routes" and graph.lengths.is_float else ""
            raise UserError(f"{self.variant} does not suit this graph: {reason}{remedy}") from None
        self._forget()

    def _construct(self, graph: Graph, arcs: bool) -> None:
        """Upload and construct; if the arrays prove unsound meanwhile, again from what the host checks."""
        for wait in (False, True):
            resident = graph.resident(self.device, arcs=arcs, weights=bool(self.kind.lengths), wait=wait)
            try:
                solver = self._module.Solver(resident, self._parameters)
            except Exception:
                if resident.is_sound:
                    raise
            if resident.is_sound:
                self._resident, self._solver = resident, solver
                return

    def _forget(self) -> None:
        """Drop what was made for the former weights."""
        for name in ("_certifier", "_forest_solver", "_arcs"):
            self.__dict__.pop(name, None)

    def _current_stream(self) -> Any:
        """Return the caller's stream; None of the emulation."""
        return getattr(self.device, "current_stream", lambda: None)()

    def _follow_stream(self) -> None:
        """Let work on the caller's stream come after what was done on another one."""
        before, self._stream = self._stream, self._current_stream()
        if before != self._stream:
            before.synchronize()

    @property
    def resolved(self) -> dict[str, Any]:
        """The parameters in force, with those that the solver chose."""
        return dict(self._solver.resolved)

    def search(self, source: Any, *, limit: float | None = None) -> Any:
        """Search from one source, or from each of several.

        Parameters
        ----------
        source : node, or list or array of nodes
        limit : number, optional
            Vertices that are farther, or on a later level, count as not reached. ``near-far``,
            ``dijkstra-cpu`` and ``hybrid-cpu`` stop there; other variants search on and leave them out.

        Returns
        -------
        Answer, or list of Answer
        """
        if _is_array(source) and not self.graph.has_node(source):
            return list(self.search_each(source, limit=limit))
        return self._search(self.graph.vertex(source), self._beyond(limit))

    def search_each(self, sources: Any, *, limit: float | None = None) -> Iterator[Answer]:
        """Yield the answer of each source in turn, so that all of them need not fit in memory.

        Parameters
        ----------
        sources : list or array of nodes
        limit : number, optional
            As for :meth:`search`.
        """
        beyond, vertices = self._beyond(limit), self._vertices(sources)
        if hasattr(self._solver, "solve_many"):
            return self._search_many(vertices, beyond)
        return (self._search(int(one), beyond) for one in vertices)

    def nearest(self, sources: Any, *, limit: float | None = None) -> Answer:
        """Search from all of several sources at once: each vertex belongs to the nearest one.

        Parameters
        ----------
        sources : list or array of nodes
            At least one. Each is a root, its own predecessor, even if another is at distance 0.
        limit : number, optional
            Vertices that are farther count as not reached; the search stops there.

        Returns
        -------
        Answer
            With the columns of a search, and ``source``, uint32: the root that a vertex is nearest to, one of
            them if several are, as a number; ``path_to(node)[0]`` is its name. The search is one by
            ``near-far`` or, on the CPU, ``dijkstra-cpu`` or ``hybrid-cpu``, whatever the variant.

        Raises
        ------
        GraphError
            If weights are signed, there is no source, or the problem is neither ``sssp`` nor ``bfs``.
        """
        beyond = self._beyond(limit)
        if self.problem == "dominators":
            raise UserError("dominators have one root; sssp and bfs have nearest sources")
        vertices = np.unique(self._vertices(sources))
        if not len(vertices):
            raise UserError("sources: none; expected at least one")
        return self._search_from(self._forest_solver, vertices, beyond, mark=True)

    def _beyond(self, limit: float | None) -> Any:
        """Return the least distance or level beyond a limit, None if all are within it.

        GraphError if the problem has no search, or none with such a limit.
        """
        if self.problem == "routes":
            raise UserError("routes answers pairs and tables: prepared.pairs(origins, targets)")
        if limit is not None and self.problem == "dominators":
            raise UserError("dominators have no distances; leave out limit")
        return None if limit is None else _forests.first_beyond(limit, self._lengths)

    @property
    def _lengths(self) -> Lengths:
        return self.graph.lengths if self.problem == "sssp" else _forests.LEVELS

    @cached_property
    def _forest_solver(self) -> Any:
        """A solver that takes several sources: the prepared one or, if it does not, another."""
        if hasattr(self._solver, "solve_from"):
            return self._solver
        on_cpu = self._module.Solver.runs_on == "cpu"
        problem, name = (self.problem, ON_CPU[self.problem]) if on_cpu else ("sssp", "near-far")
        graph = self._resident
        if problem != self.problem:
            ones = self.device.xp.ones(graph.n_arcs, np.uint32)
            unweighted = _forests.unweighted(graph.host)
            graph = ResidentGraph(self.device, unweighted, graph.offsets, graph.targets, ones)
        module = _load_solver(problem, name)
        try:
            variants.refuse_weights(load_problem(problem), module.Solver, graph.host)
            return module.Solver(graph, module.Parameters())
        except variants.Skipped as reason:
            raise UserError(f"{name}, which searches from several sources, {reason}") from None

    def _search_from(
        self, solver: Any, vertices: npt.NDArray[np.uint32], beyond: Any, *, mark: bool
    ) -> Answer:
        """Search from several sources, up to a bound that weights hold; `mark` the source of each vertex."""
        self._follow_stream()
        bound = None if beyond is None or beyond > self._lengths.largest else beyond
        found = solver.solve_from(vertices, bound)
        columns = dict(zip(self.kind.columns, found.columns.values(), strict=True))
        if mark:
            columns["source"] = _forests.roots(self.device.xp, columns["predecessor"])
        overflowed = bound is None and getattr(found, "overflowed", False)
        answer = self._finished(columns, vertices, overflowed, beyond if bound is None else None)
        return replace(answer, bound=bound)

    def _search(self, vertex: int, beyond: Any) -> Answer:
        if beyond is not None and hasattr(self._solver, "solve_from"):
            return self._search_from(self._solver, np.array([vertex], np.uint32), beyond, mark=False)
        self._follow_stream()
        found = self._solver.solve(vertex)
        return self._finished(found.columns, vertex, getattr(found, "overflowed", False), beyond)

    def _search_many(self, vertices: npt.NDArray[np.uint32], beyond: Any) -> Iterator[Answer]:
        self._follow_stream()
        most = self._parameters.sources
        for start in range(0, len(vertices), most):
            part = vertices[start : start + most]
            first, second, *flags = self._solver.solve_many(part.astype(np.int64))
            for row, vertex in enumerate(part.tolist()):
                columns = dict(zip(self.kind.columns, (first[row], second[row]), strict=True))
                yield self._finished(columns, vertex, any(flags), beyond)

    def _finished(self, columns: Any, start: Any, overflowed: bool, beyond: Any) -> Answer:
        """Return an answer where the caller's arrays are, without distances from `beyond` on."""
        asked = self.device.asarrays if self.graph.on_device else self.device.asnumpys
        moved = dict(zip(columns, asked(*columns.values()), strict=True))
        answer = Answer(self, moved, start, overflowed, version=self._version)
        return answer if beyond is None else replace(answer, columns=_cut(moved, beyond), proof=moved)

    def pairs(
        self,
        origins: Any,
        targets: Any,
        *,
        limit: float | None = None,
        paths: bool = False,
        along: Any = None,
    ) -> Answer:
        """Find the distance, and the path if asked for, from each origin to the target at the same place.

        Parameters
        ----------
        origins, targets : list or array of nodes, of equal length
            Arrays of type uint32 are not copied: do not change them before the answer is verified.
        limit : number, optional
            A longer path counts as no path.
        paths : bool, default=False
        along : array_like of shape (n_given,), integers or floats, optional
            Other weights, to be added along the shortest path found, as by :meth:`Answer.sums_along`: the
            column ``along``, int64 or float64 of shape (n_queries,). Needs memory for all paths.

        Raises
        ------
        GraphError
            If the problem is not ``routes``, lengths differ, or as :meth:`Answer.sums_along`.
        """
        starts, ends = self._vertices(origins), self._vertices(targets)
        if len(starts) != len(ends):
            raise UserError(f"{len(starts)} origins and {len(ends)} targets; expected equal numbers")
        return self._routes(starts, ends, 0, limit, paths, self._second_weights(along))

    def table(self, origins: Any, targets: Any, *, limit: float | None = None, along: Any = None) -> Any:
        """Return the distances from every origin to every target, shape (n_origins, n_targets).

        Parameters
        ----------
        origins, targets, limit, along
            As for :meth:`pairs`.

        Returns
        -------
        ndarray, or with `along` a tuple of two
            The distances, and the sums of the other weights.
        """
        pieces = list(self.table_in_pieces(origins, targets, limit=limit, along=along))
        if along is not None and pieces:
            return tuple(np.concatenate(tables) for tables in zip(*pieces, strict=True))
        if pieces:
            return np.concatenate(pieces)
        distances = np.empty((0, len(targets)), np.uint32)
        if along is None:
            return distances
        return distances, distances.astype(self._second_weights(along).dtype)

    def table_in_pieces(
        self,
        origins: Any,
        targets: Any,
        *,
        limit: float | None = None,
        along: Any = None,
        rows: int | None = None,
    ) -> Iterator[Any]:
        """Yield the table of distances in pieces of whole rows, so that a large one need not fit in memory.

        Parameters
        ----------
        origins, targets, limit, along
            As for :meth:`table`.
        rows : int, optional
            Rows per piece; by default about four million distances, or 65,536 with `along`.
        """
        starts, ends, values = self._vertices(origins), self._vertices(targets), self._second_weights(along)
        piece = PIECE if along is None else PIECE_ALONG
        step = max(1, piece // max(1, len(ends))) if rows is None else rows
        if step < 1:
            raise UserError(f"rows: {rows}; expected at least 1")
        for first in range(0, len(starts), step):
            part = starts[first : first + step]
            queries = np.repeat(part, len(ends)), np.tile(ends, len(part)), len(ends)
            found = self._routes(*queries, limit, False, values).columns.values()
            tables = tuple(self.device.asnumpy(one).reshape(len(part), len(ends)) for one in found)
            yield tables[0] if along is None else tables

    def _vertices(self, nodes: Any) -> npt.NDArray[np.uint32]:
        if isinstance(nodes, str) or not (_is_array(nodes) or isinstance(nodes, Iterable)):
            raise UserError(f"vertices: {quoted(nodes)}; expected a list or an array of nodes")
        # The nodes of a list may be tuples, or of several types.
        is_listed = isinstance(nodes, list | tuple) or not _is_array(nodes)
        given = list(nodes) if is_listed else on_host(nodes)
        are_numbers = self.graph.nodes is None or isinstance(self.graph.nodes, Ids)
        if are_numbers and (numbers := np.asarray(given)).dtype.kind in "iu":
            if numbers.ndim != 1:
                raise UserError(f"vertices: shape {numbers.shape}; expected one dimension")
            return np.require(self.graph.vertices(numbers), np.uint32, ["C", "W"])
        return np.array([self.graph.vertex(one) for one in given], np.uint32)

    def _routes(
        self, origins: Any, targets: Any, columns: int, limit: float | None, paths: bool, values: Any
    ) -> Answer:
        if self.problem != "routes":
            raise UserError(f"{self.problem} answers searches; prepare(graph, 'routes') answers pairs")
        self._follow_stream()
        from relaxometer.problems.routes import Queries
        from relaxometer.problems.routes._queries import MAX_CUTOFF

        cutoff = int(MAX_CUTOFF if limit is None else min(_forests.checked_limit(limit), MAX_CUTOFF))
        with_paths = paths or values is not None
        queries = Queries("pairs", origins, targets, columns, cutoff, with_paths).upload(self.device)
        found = self._solver.solve(queries).columns
        wanted = dict(found) if paths else {"distance": found["distance"]}
        if values is not None:
            size, path = (self.device.asarray(found[name]) for name in ("size", "path"))
            wanted["along"] = _forests.sums_of_paths(self.device, self._arcs, size, path, values)
        answer = self._finished(wanted, queries, False, None)
        return replace(answer, proof=found)

    @cached_property
    def _arcs(self) -> tuple[Any, Any, Any]:
        resident = self._resident
        if resident.targets is None or resident.weights is None:
            resident = self.graph.resident(self.device)
        return resident.offsets, resident.targets, resident.weights.view(self.graph.csr.weights.dtype)

    def _second_weights(self, weights: Any) -> Any:
        """Return other weights in the order of the arcs, int64 or float64 on the device."""
        if weights is None:
            return None
        given = weights if isinstance(weights, self.device.xp.ndarray) else on_host(weights)
        values = _forests.summable(self.device, given, self.graph.n_given, self.graph.n_vertices)
        numbers = self.graph.numbers
        return values if numbers is None else values[self.device.asarray(numbers)]

    def sums_along(self, answer: Answer, weights: Any) -> Any:
        """Add other weights along a tree; see :meth:`Answer.sums_along`."""
        if "predecessor" not in answer.columns:
            raise UserError(f"{self.problem} has no shortest-path tree to add weights along")
        self._refuse_stale(answer)
        if self._lengths.is_signed and bool((answer.distance == ON_CYCLE).any()):
            raise UserError("the answer is a negative cycle: there is no shortest path")
        whole = self.device.asarray((answer.proof or answer.columns)["predecessor"])
        sums = _forests.sums_of_trees(self.device.xp, self._arcs, whole, self._second_weights(weights))
        if answer.proof is not None:
            sums[~self.device.asarray(answer.reached)] = _forests.nowhere(sums.dtype)
        return (self.device.asarray if self.graph.on_device else self.device.asnumpy)(sums)

    def retained(self, answer: Answer, sizes: Any) -> Retained:
        """Add sizes over a dominator tree; see :meth:`Answer.retained`."""
        from relaxometer.problems.dominators._retained import retained_sizes

        if "idom" not in answer.columns:
            raise UserError(f"{self.problem} has no dominator tree to add sizes over")
        given = sizes if isinstance(sizes, self.device.xp.ndarray) else on_host(sizes)
        if given.shape != (self.graph.n_vertices,):
            raise UserError(
                f"sizes: shape {given.shape}; expected ({self.graph.n_vertices},), one per vertex"
            )
        if given.dtype.kind not in "iu":
            raise UserError(f"sizes: type {given.dtype}; expected integers")
        if given.dtype.kind == "i" and given.size and int(given.min()) < 0:
            raise UserError(f"sizes: {int(given.min())} is negative; expected bytes")
        self._follow_stream()
        given = given.astype(np.uint64, copy=False)
        own, idom = (self.device.asarray(one) for one in (given, answer.columns["idom"]))
        sums = retained_sizes(self.device, idom, own, int(answer.start))
        if self.graph.on_device:
            columns = {"size": own, "retained_size": sums}
        else:  # a copy of the sizes that is here already is not fetched
            size = given if isinstance(given, np.ndarray) else self.device.asnumpy(own)
            columns = {"size": size, "retained_size": self.device.asnumpy(sums)}
        tree = {"idom": answer.columns["idom"]}
        return Retained(self, {**tree, **columns}, answer.start, proof=tree, version=answer.version)

    def customize(self, weights: Any) -> None:
        """Replace the weights of the arcs, and keep a variant's hierarchy, such as that of ``phast``.

        Other variants are prepared again.

        Parameters
        ----------
        weights : array_like of shape (n_given,)
            In the order of the arcs, or edges, that the graph was made from; those of a file are in the order
            of ``graph.csr``. Of parallel arcs the lightest counts.

        Raises
        ------
        GraphError
            If the number of weights differs, or one does not fit the type.
        """
        self._follow_stream()
        given = on_host(weights)
        if given.shape != (self.graph.n_given,):
            raise UserError(f"weights: shape {given.shape}; expected ({self.graph.n_given},)")
        graph = self.graph.with_weights(self.graph.lengths.checked(given))
        if hasattr(self._solver, "customize"):
            csr, old = graph.csr, self._resident
            words = self.device.asarray(csr.weights.view(csr.lengths.weight_word))
            self._solver.customize(csr.weights if self._module.Solver.runs_on == "cpu" else words)
            self._resident = ResidentGraph(self.device, csr, old.offsets, old.targets, words)
            self._forget()
        else:
            self._load(graph)
        self.graph = graph
        self._version += 1

    @cached_property
    def _certifier(self) -> Any:
        return self._certifier_of(self.kind)(self._resident)

    def _certifier_of(self, kind: Problem) -> Any:
        on_cpu = kind.cpu_certifier if self._module.Solver.runs_on == "cpu" else None
        return on_cpu or kind.certifier

    def _refuse_stale(self, answer: Answer) -> None:
        if answer.version != self._version:
            raise UserError("the weights have changed since this search; use answers before customize")

    def check(self, answer: Answer) -> None:
        """Prove an answer; see :meth:`Answer.verify`."""
        self._refuse_stale(answer)
        self._follow_stream()
        columns = {name: self.device.asarray(one) for name, one in (answer.proof or answer.columns).items()}
        if isinstance(answer.start, np.ndarray):
            csr = self.graph.csr if self.problem == "sssp" else _forests.unweighted(self.graph.csr)
            make = self._certifier_of(load_problem("sssp"))
            certificate = _forests.prove(self.device, make, csr, answer.start, answer.bound, columns)
        else:
            certificate = self._certifier.check(answer.start, **columns)
        too_long = self.graph.lengths.too_long
        status, reason = certificate.outcome(overflowed=answer.overflowed, too_long=too_long)
        if status != "ok":
            raise WrongAnswer(reason)


def _is_array(nodes: Any) -> bool:
    """Return whether these are several vertices, not one."""
    arrays = "__dlpack__", "__cuda_array_interface__"
    return isinstance(nodes, list | tuple | np.ndarray) or any(hasattr(nodes, name) for name in arrays)


def _cut(columns: dict[str, Any], bound: Any) -> dict[str, Any]:
    """Return the columns of a tree without the vertices at this distance or a greater one."""
    first, *others = columns
    beyond = columns[first] >= bound
    cut = {name: one.copy() for name, one in columns.items()}
    cut[first][beyond] = unreached(cut[first].dtype)
    for name in others:
        cut[name][beyond] = unreached(cut[name].dtype)
    return cut
