"""Retained sizes of heaps: dominators and sums, resident and from arrays in host memory to answers there."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from relaxometer.core.environment import cpu_model
from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.programs import HeapLikeParameters
from relaxometer.datasets.generators.heaps import copied, heap_like
from relaxometer.device import Device, stopwatch
from relaxometer.device.host import HostDevice
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.library.graph import Graph as LibraryGraph
from relaxometer.library.prepared import open_device, prepare
from relaxometer.problems.dominators import NO_DOMINATOR
from relaxometer.problems.dominators._retained import retained_sizes, unproven
from relaxometer.problems.dominators.certify import DominatorsCertifier
from relaxometer.problems.variants import Skipped, load_solver
from relaxometer.studies.study import OUTCOME, WHERE, Place, Row, outcome, study_table

TABLE = pa.schema(
    [
        *[("graph", pa.string()), ("objects", pa.int64()), ("references", pa.int64())],
        *[("variant", pa.string()), ("repetition", pa.int32())],
        *[("prepare_ms", pa.float64()), ("dominators_ms", pa.float64()), ("retained_ms", pa.float64())],
        *[("call_ms", pa.float64()), *OUTCOME, *WHERE],
    ]
)
"""One row per repetition: the times to prepare a resident graph, to find its dominators and to add its sizes,
and that of a call of the library, from arrays in host memory to retained sizes there."""

Answer = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]
"""Dominators and retained sizes in host memory."""


def measure_retained(
    graph: Graph,
    device: Device,
    *,
    variants: Sequence[str],
    repetitions: int,
    enough_s: float,
    most_on_cpu: int,
    seed: int,
) -> pa.Table:
    """Time dominators and retained sizes of a heap and prove them; return a table of the schema `TABLE`.

    Parameters are those of :class:`relaxometer.plan.models.RetainedSizes`. The root of the heap is the only
    source, so `seed` draws nothing.
    """
    heap, tables = _Heap(graph), []
    for variant in variants:
        on_cpu = load_solver("dominators", variant).Solver.runs_on == "cpu"
        where = Place("cpu", cpu_model()) if on_cpu else device
        key = {"objects": graph.n_vertices, "references": graph.n_arcs, "variant": variant}
        keys = [{**key, "repetition": number} for number in range(repetitions)]
        most = most_on_cpu if on_cpu else graph.n_vertices
        rows = _repetitions(heap, variant, where.kind, repetitions, enough_s, most)
        tables.append(study_table(f"retained sizes by {variant}", graph, where, TABLE, keys, rows))
    table = pa.concat_tables(tables)
    return table.filter(pc.not_equal(table["status"], ""))


class _Heap:
    """A graph with sizes, and the proof of its answers; what equals a proven answer is not proven again.

    Of a heap that is made of copies, the first is proven, and the others are compared with it.
    """

    def __init__(self, graph: Graph) -> None:
        if graph.objects is None:
            raise UserError(f"{graph.name}: not a heap; its vertices have no sizes")
        self.graph, self.sizes = graph, graph.objects["size"].to_numpy()
        self.root = int(graph.metadata["search_keys"][0])
        self._copies = int(graph.metadata.get("copies", 1))
        self._proven: Answer | None = None

    def refusal(self, answer: Answer) -> str:
        """Return why an answer is refused; empty if it is proven."""
        if self._proven is None:
            if reason := self._reason(*answer):
                return reason
            self._proven = answer
        (idom, sums), (others, other_sums) = answer, self._proven
        is_equal = np.array_equal(idom, others) and np.array_equal(sums, other_sums)
        return "" if is_equal else "an answer other than the proven one"

    def _reason(self, idom: npt.NDArray[np.uint32], sums: npt.NDArray[np.uint64]) -> str:
        one = _first_copy(self.graph, self._copies) if self._copies > 1 else self.graph
        of_one = idom[: one.n_vertices]
        if self._copies > 1 and not np.array_equal(idom, _tree_of_copies(of_one, self._copies)):
            return "copies have different dominators"
        certifier = DominatorsCertifier(ResidentGraph.upload(HostDevice(emulates=False), one))
        if reason := certifier.check(self.root, of_one).reason:
            return reason
        wrong = unproven(idom, self.sizes, sums)
        return f"vertex {wrong[0]} has a wrong sum" if len(wrong) else ""


def _repetitions(
    heap: _Heap, variant: str, kind: str, count: int, enough_s: float, most: int
) -> Iterator[Row]:
    """Yield a row for each repetition, fewer if they take long; Skipped if the heap has too many objects."""
    if heap.graph.n_vertices > most:
        raise Skipped(f"{heap.graph.n_vertices:,} objects; on the CPU at most {most:,}")
    measure = _on_core if kind == "cpu" else _on_device
    # The first call compiles and, on a GPU, takes longer.
    tiny = _Heap(heap_like(HeapLikeParameters(objects=2), seed=1))
    measure(tiny if kind == "cpu" else heap, variant, kind)
    spent = 0.0  # without proofs
    for number in range(count):
        if number and spent > enough_s:
            return
        start = time.monotonic()
        times, answers = measure(heap, variant, kind)
        spent += time.monotonic() - start
        yield times | outcome(next((reason for one in answers if (reason := heap.refusal(one))), ""))


def _on_core(heap: _Heap, variant: str, kind: str) -> tuple[Row, list[Answer]]:
    """Time a call of the library on one core, and its parts."""
    with stopwatch() as preparation:
        prepared = prepare(LibraryGraph(heap.graph), "dominators", variant=variant, device=kind)
    with stopwatch() as search:
        tree = prepared.search(heap.root)
    with stopwatch() as sums:
        found = tree.retained(heap.sizes)
    parts = {"prepare_ms": preparation.ms, "dominators_ms": search.ms, "retained_ms": sums.ms}
    return {**parts, "call_ms": sum(parts.values())}, [(found.idom, found.retained_size)]


def _on_device(heap: _Heap, variant: str, kind: str) -> tuple[Row, list[Answer]]:
    """Time a call of the library, and then preparation, search and sums on a resident graph."""
    with stopwatch() as call:
        prepared = prepare(LibraryGraph(heap.graph), "dominators", variant=variant, device=kind)
        found = prepared.search(heap.root).retained(heap.sizes)
    answers = [(found.idom, found.retained_size)]
    del prepared, found  # and their memory on the device
    device, module = open_device(kind), load_solver("dominators", variant)
    resident = ResidentGraph.upload(device, heap.graph, weights=False)
    own = device.asarray(heap.sizes)
    with device.timer() as preparation:
        solver = module.Solver(resident, module.Parameters())
    with device.timer() as search:
        idom = device.asarray(solver.solve(heap.root).idom)
    with device.timer() as addition:
        sums = retained_sizes(device, idom, own, heap.root)
    answers.append((device.asnumpy(idom), device.asnumpy(sums)))
    parts = {"prepare_ms": preparation.ms, "dominators_ms": search.ms, "retained_ms": addition.ms}
    return {**parts, "call_ms": call.ms}, answers


def _first_copy(graph: Graph, copies: int) -> Graph:
    """Return the heap that a graph has copies of; its arrays are those of the copies."""
    n, objects = (graph.n_vertices - 1) // copies + 1, graph.objects
    assert objects is not None
    of_root = graph.offsets[1] // copies
    targets = np.append(graph.targets[:of_root], graph.targets[graph.offsets[1] : graph.offsets[n]])
    offsets = graph.offsets[: n + 1] - (graph.offsets[1] - of_root)
    offsets[0] = 0
    one = Graph(graph.name, offsets, targets, np.ones(len(targets), np.uint32), objects=objects[:n])
    again = copied(one, copies)
    assert np.array_equal(again.offsets, graph.offsets)
    assert np.array_equal(again.targets, graph.targets)
    return one


def _tree_of_copies(idom: npt.NDArray[np.uint32], copies: int) -> Any:
    """Return the dominators of copies under one root, vertex 0, from those of one."""
    steps = np.arange(copies, dtype=np.uint32)[:, None] * np.uint32(len(idom) - 1)
    below = (idom[1:] != 0) & (idom[1:] != NO_DOMINATOR)
    return np.append(idom[0], np.where(below, idom[1:] + steps, idom[1:]).ravel())
