"""Solvers prepared for many searches on one graph."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.validation import nearest, validated
from relaxometer.device import get_device
from relaxometer.graphs.lengths import unreached
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.library.answers import Answer, WrongAnswer
from relaxometer.library.graph import Graph
from relaxometer.problems import variants
from relaxometer.problems.problem import load_problem, problem_names

ON_CPU = {"sssp": "dijkstra-cpu", "bfs": "hybrid-cpu", "dominators": "semi-nca", "routes": "hierarchy-cpu"}
"""The default variant of each problem without a GPU."""

ON_GPU = {"routes": "hierarchy"}
"""The default variant on a GPU of problems without `auto`."""

NEGATIVE = {"cpu": "bellman-ford-cpu", "cuda": "johnson", "host": "johnson"}
"""The default variant of ``sssp`` for signed weights."""

PIECE = 1 << 22
"""Distances of a piece of a table."""


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
        Expected number of searches, which decides how much preparation breaks even.
    variant : str, optional
        One of docs/variants.md. By default, on a GPU the one with the least expected total time, preparation
        plus `searches` searches; without a GPU, a program for the CPU.
    device : {"auto", "cuda", "cpu", "host"}
        "auto" is a GPU if there is one, else the CPU. "host" emulates the GPU's kernels on the CPU, to debug
        them; that is slow.
    **parameters
        Of the variant; see config/README.md.

    Raises
    ------
    UserError
        If the variant does not take the graph, or an argument is invalid.
    DeviceOutOfMemory
        If the graph does not fit.
    """
    if problem not in problem_names():
        raise UserError(f"unknown problem {quoted(problem)}; known: {', '.join(problem_names())}")
    where = place(device)
    if variant is None:
        variant = _choice(graph, problem, where)
    if variant == "auto" and "searches" in variants.load_solver(problem, variant).Parameters.model_fields:
        parameters = {"searches": searches, **parameters}
    return Prepared(graph, problem, variant, where, parameters)


def place(device: str) -> str:
    """Return where to search: "cuda", "cpu" or "host"."""
    if device not in ("auto", "cuda", "cpu", "host"):
        raise UserError(f"unknown device {quoted(device)}; known: auto, cuda, cpu, host")
    if device != "auto":
        return device
    from relaxometer.device import cuda

    return "cpu" if cuda.obstacle() else "cuda"


def _choice(graph: Graph, problem: str, where: str) -> str:
    if problem == "sssp" and graph.csr.lengths.is_signed:
        return NEGATIVE[where]
    return ON_CPU[problem] if where == "cpu" else ON_GPU.get(problem, "auto")


class Prepared:
    """A solver that is ready for searches on one graph; made by :func:`prepare`.

    It may be used from one thread at a time. Its memory is freed with the object and its answers.

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
        known = variants.solver_names(problem)
        if variant not in known:
            near = nearest(variant, known)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
            raise UserError(f"unknown variant {quoted(variant)} of {problem}; {hint}")
        module = variants.load_solver(problem, variant)
        runs_on = module.Solver.runs_on
        if runs_on == "device" and where == "cpu":
            raise UserError(f"{variant} needs a GPU; device='host' emulates one")
        if getattr(module.Solver, "takes", "graph") == "batch":
            raise UserError(f"{variant} takes batches of graphs only")
        self.graph, self.problem, self.variant = graph, problem, variant
        self.kind = load_problem(problem)
        self._module, self._version = module, 0
        self._parameters = validated(module.Parameters, parameters, f"variant {variant}")
        self.device = get_device("cuda" if where == "cuda" and runs_on == "device" else "host")
        self._load(graph.csr)

    def _load(self, csr: Any) -> None:
        """Upload a graph and prepare the solver."""
        try:
            variants.refuse_weights(self.kind, self._module.Solver, csr)
            wants_arcs = self._parameters.wants_arcs(csr.n_arcs)
            self._resident = ResidentGraph.upload(self.device, csr, arcs=wants_arcs)
            self._solver = self._module.Solver(self._resident, self._parameters)
        except variants.Skipped as reason:
            raise UserError(f"{self.variant} does not suit this graph: {reason}") from None
        self.__dict__.pop("_certifier", None)

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
            Vertices that are farther, or on a later level, count as not reached.

        Returns
        -------
        Answer, or list of Answer
        """
        if self.problem == "routes":
            raise UserError("routes answers pairs and tables: prepared.pairs(origins, targets)")
        if limit is not None and self.problem == "dominators":
            raise UserError("dominators have no distances; leave out limit")
        if isinstance(source, list | tuple | np.ndarray) and not self.graph.has_node(source):
            return self._search_many([self.graph.vertex(one) for one in source], limit)
        return self._search(self.graph.vertex(source), limit)

    def _search(self, vertex: int, limit: float | None) -> Answer:
        found = self._solver.solve(vertex)
        return self._finished(found.columns, vertex, getattr(found, "overflowed", False), limit)

    def _search_many(self, vertices: list[int], limit: float | None) -> list[Answer]:
        if not hasattr(self._solver, "solve_many"):
            return [self._search(one, limit) for one in vertices]
        answers = []
        most = self._parameters.sources
        for start in range(0, len(vertices), most):
            part = vertices[start : start + most]
            first, second, *flags = self._solver.solve_many(np.array(part))
            names = list(self.kind.columns)
            for row, vertex in enumerate(part):
                columns = dict(zip(names, (first[row], second[row]), strict=True))
                answers.append(self._finished(columns, vertex, any(flags), limit))
        return answers

    def _finished(self, columns: Any, start: Any, overflowed: bool, limit: float | None) -> Answer:
        """Return an answer where the caller's arrays are, cut at the limit."""
        asked = self.device.asarray if self.graph.on_device else self.device.asnumpy
        moved = {name: asked(one) for name, one in columns.items()}
        answer = Answer(self, moved, start, overflowed, version=self._version)
        return answer if limit is None else replace(answer, columns=_cut(moved, limit), proof=moved)

    def pairs(
        self,
        origins: Sequence[Hashable],
        targets: Sequence[Hashable],
        *,
        limit: int | None = None,
        paths: bool = False,
    ) -> Answer:
        """Find the distance, and the path if asked for, from each origin to the target at the same place.

        Parameters
        ----------
        origins, targets : sequence of nodes, of equal length
        limit : int, optional
            A longer path counts as none.
        paths : bool, default=False

        Raises
        ------
        UserError
            If the problem is not ``routes``, or lengths differ.
        """
        starts, ends = self._vertices(origins), self._vertices(targets)
        if len(starts) != len(ends):
            raise UserError(f"{len(starts)} origins and {len(ends)} targets; expected as many")
        return self._routes(starts, ends, 0, limit, paths)

    def table(
        self, origins: Sequence[Hashable], targets: Sequence[Hashable], *, limit: int | None = None
    ) -> npt.NDArray[Any]:
        """Return the distances from every origin to every target, shape (n_origins, n_targets)."""
        pieces = list(self.table_in_pieces(origins, targets, limit=limit))
        return np.concatenate(pieces) if pieces else np.empty((0, len(targets)), np.uint32)

    def table_in_pieces(
        self,
        origins: Sequence[Hashable],
        targets: Sequence[Hashable],
        *,
        limit: int | None = None,
        rows: int | None = None,
    ) -> Iterator[npt.NDArray[Any]]:
        """Yield the table of distances in pieces of whole rows, so that a large one need not fit in memory.

        Parameters
        ----------
        origins, targets, limit
            As for :meth:`table`.
        rows : int, optional
            Rows per piece; by default about four million distances.
        """
        starts, ends = self._vertices(origins), self._vertices(targets)
        step = max(1, PIECE // max(1, len(ends))) if rows is None else rows
        if step < 1:
            raise UserError(f"rows: {rows}; expected at least 1")
        for first in range(0, len(starts), step):
            part = starts[first : first + step]
            answer = self._routes(
                np.repeat(part, len(ends)), np.tile(ends, len(part)), len(ends), limit, False
            )
            yield self.device.asnumpy(answer.distance).reshape(len(part), len(ends))

    def _vertices(self, nodes: Sequence[Hashable]) -> npt.NDArray[np.uint32]:
        if self.graph.nodes is None:
            given = np.asarray(nodes)
            if (
                given.size
                and given.dtype.kind in "iu"
                and given.min() >= 0
                and given.max() < self.graph.n_vertices
            ):
                return given.astype(np.uint32)
        return np.array([self.graph.vertex(one) for one in nodes], np.uint32)

    def _routes(self, origins: Any, targets: Any, columns: int, limit: int | None, paths: bool) -> Answer:
        if self.problem != "routes":
            raise UserError(f"{self.problem} answers searches; prepare(graph, 'routes') answers pairs")
        from relaxometer.problems.routes import Queries
        from relaxometer.problems.routes._queries import MAX_CUTOFF

        if limit is not None and limit < 0:
            raise UserError(f"limit: {limit}; expected at least 0")
        cutoff = MAX_CUTOFF if limit is None else min(int(limit), MAX_CUTOFF)
        queries = Queries("pairs", origins, targets, columns, cutoff, paths).upload(self.device)
        found = self._solver.solve(queries).columns
        wanted = found if paths else {"distance": found["distance"]}
        answer = self._finished(wanted, queries, False, None)
        return replace(answer, proof={**found, **answer.columns})

    def customize(self, weights: Any) -> None:
        """Give the arcs other weights, in the order of the arrays that the graph was made from.

        A variant that has a hierarchy, such as ``phast``, keeps it; others are prepared anew.

        Raises
        ------
        UserError
            If the number of weights differs, or one does not fit the type.
        """
        csr = self.graph.csr
        given = np.asarray(weights.get() if hasattr(weights, "get") else weights)
        if given.shape != (csr.n_arcs,):
            raise UserError(f"weights: shape {given.shape}; expected ({csr.n_arcs},)")
        own = csr.lengths.checked(given if self.graph.order is None else given[self.graph.order], "customize")
        changed = replace(csr, weights=own)
        self._version += 1
        self.graph = replace(self.graph, csr=changed)
        if not hasattr(self._solver, "customize"):
            self._load(changed)
            return
        self._resident = ResidentGraph.upload(self.device, changed)
        self._solver.customize(own if self._module.Solver.runs_on == "cpu" else self._resident.weights)
        self.__dict__.pop("_certifier", None)

    @cached_property
    def _certifier(self) -> Any:
        return self.kind.certifier(self._resident)

    def check(self, answer: Answer) -> None:
        """Prove an answer; see :meth:`Answer.verify`."""
        if answer.version != self._version:
            raise UserError("the weights have changed since this search; verify answers before customize")
        columns = {name: self.device.asarray(one) for name, one in (answer.proof or answer.columns).items()}
        certificate = self._certifier.check(answer.start, **columns)
        too_long = self.graph.csr.lengths.too_long
        status, reason = certificate.outcome(overflowed=answer.overflowed, too_long=too_long)
        if status != "ok":
            raise WrongAnswer(reason)


def _cut(columns: dict[str, Any], limit: float) -> dict[str, Any]:
    """Return the columns of a tree without the vertices beyond a limit."""
    first, *others = columns
    beyond = columns[first] > limit
    cut = {name: one.copy() for name, one in columns.items()}
    cut[first][beyond] = unreached(cut[first].dtype)
    for name in others:
        cut[name][beyond] = unreached(cut[name].dtype)
    return cut
