"""Numbers the vertices by falling degree and sorts each vertex's arcs by weight, on the device."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import blocks_for
from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.lengths import mean_weight
from relaxometer.graphs.resident import ResidentGraph

KERNELS = Path(__file__).with_name("_prepare.cu")
BLOCK = 256


@dataclass(frozen=True)
class Rows:
    """The arcs of each vertex, lightest first."""

    offsets: DeviceArray  # int64
    arcs: Any  # weight << 32 | other end, uint64; in two words if weights have 64 bits


@dataclass(frozen=True)
class Prepared:
    """A graph with its vertices numbered by falling degree; arrays are of uint32."""

    out: Rows  # by tail
    into: Rows  # by head; the same object if the graph is symmetric
    ids: Any  # old number of each vertex that has arcs
    rank: DeviceArray  # new number of each vertex; those without arcs come last
    n_many: int  # vertices that have more outgoing arcs than asked for
    mean_weight: float  # 0 without arcs


def prepare(graph: ResidentGraph, many: int) -> Prepared:
    """Renumber the vertices of a graph by falling degree, and sort the arcs of each by weight.

    Arcs of one weight ascend by their other end, unless row, weight and end have more than 64 bits together;
    then they are in the order of the graph. Vertices with more than `many` outgoing arcs are counted.
    """
    return _Preparation(graph).run(many)


class _Preparation:
    """The steps of :func:`prepare` and what they share."""

    def __init__(self, graph: ResidentGraph) -> None:
        self._graph, self._device, self._xp = graph, graph.device, graph.device.xp
        self._n, self._n_arcs = graph.n_vertices, graph.n_arcs
        self._module = graph.device.module(KERNELS, options=graph.lengths.weight_options)

    def run(self, many: int) -> Prepared:
        xp, n = self._xp, self._n
        total, self._weight_bits, symmetric = self._survey()
        in_degrees = None
        if not symmetric:
            in_degrees = xp.bincount(self._graph.targets, minlength=n).astype(xp.uint32)
        keys, n_with_arcs, n_many = self._sorted_vertices(in_degrees, many)
        ids, self._rank = (xp.empty(size, dtype=xp.uint32) for size in (n_with_arcs, n))
        out, into = (xp.zeros(n_with_arcs + 1, dtype=xp.int64) for _ in range(2))
        arguments = (keys, self._graph.offsets, in_degrees, ids, self._rank, out[1:])
        given_into = None if symmetric else into[1:]
        self._launch("number_vertices", n, (np.uint32(n), np.uint32(n_with_arcs), *arguments, given_into))
        self._end_bits = max(n_with_arcs - 1, 1).bit_length()
        rows = self._rows(out, by_head=False)
        incoming = rows if symmetric else self._rows(into, by_head=True)
        return Prepared(rows, incoming, ids, self._rank, n_many, self._mean_weight(total))

    @property
    def _arcs(self) -> tuple[Any, ...]:
        graph = self._graph
        return np.uint32(self._n), np.uint64(self._n_arcs), graph.offsets, graph.targets, graph.weights

    def _survey(self) -> tuple[int, int, bool]:
        """Return the sum of the words of the weights, the bits of the greatest, and if all is symmetric."""
        found = self._xp.zeros(4, dtype=self._xp.uint64)
        bits = found[3:].view(np.uint32)[:1]
        self._launch("survey", self._n_arcs, (*self._arcs, found[:3], bits))
        total, once, twice, all_bits = self._device.asnumpy(found).tolist()
        return total, all_bits.bit_length(), once == twice == 0

    def _mean_weight(self, total: int) -> float:
        if self._graph.lengths.is_float:
            return mean_weight(self._graph.weights.view(self._graph.lengths.dtype))
        return total / max(self._n_arcs, 1)

    def _sorted_vertices(self, in_degrees: Any, many: int) -> tuple[Any, int, int]:
        """Return keys whose lower halves are the vertices by falling degree, and the two counts."""
        xp, n = self._xp, self._n
        keys, counts = xp.empty(n, dtype=xp.uint64), xp.zeros(2, dtype=xp.uint64)
        arguments = (np.uint32(n), self._graph.offsets, in_degrees, np.uint32(many), keys, counts)
        self._launch("vertex_keys", n, arguments)
        keys.sort()
        n_with_arcs, n_many = self._device.asnumpy(counts).tolist()
        return keys, n_with_arcs, n_many

    def _rows(self, offsets: DeviceArray, *, by_head: bool) -> Rows:
        """Sort the arcs by tail or head; `offsets` have the lengths of the rows after a zero."""
        xp = self._xp
        xp.cumsum(offsets, out=offsets)
        fits = 2 * self._end_bits + self._weight_bits <= 64
        if self._graph.lengths.dtype.itemsize == 8:
            return Rows(offsets, self._of_two_words(np.bool_(by_head)))
        return Rows(offsets, (self._narrow if fits else self._wide)(np.bool_(by_head)))

    def _narrow(self, by_head: np.bool_) -> Any:
        """Return the arcs, sorted as keys of row, weight and end, of which the row is then removed."""
        keys = self._xp.empty(self._n_arcs, dtype=self._xp.uint64)
        bits = np.uint32(self._weight_bits), np.uint32(self._end_bits)
        self._launch("arc_keys", self._n_arcs, (*self._arcs, self._rank, by_head, *bits, keys))
        keys.sort()
        self._launch("read_keys", self._n_arcs, (np.uint64(self._n_arcs), *bits, keys))
        return keys

    def _wide(self, by_head: np.bool_) -> Any:
        """Return the arcs in the order of keys of row and weight only."""
        xp = self._xp
        keys, ends = (xp.empty(self._n_arcs, dtype=dtype) for dtype in (xp.uint64, xp.uint32))
        self._launch("wide_keys", self._n_arcs, (*self._arcs, self._rank, by_head, keys, ends))
        order = xp.argsort(keys, kind="stable")
        return keys[order] << xp.uint64(32) | ends[order]

    def _of_two_words(self, by_head: np.bool_) -> Any:
        """Return the arcs in the order of their weights, within the order of their rows."""
        xp, weights = self._xp, self._graph.weights
        rows, ends = (xp.empty(self._n_arcs, dtype=xp.uint32) for _ in range(2))
        self._launch("rows_and_ends", self._n_arcs, (*self._arcs, self._rank, by_head, rows, ends))
        order = xp.argsort(weights, kind="stable")
        order = order[xp.argsort(rows[order], kind="stable")]
        arcs = xp.empty((self._n_arcs, 2), dtype=xp.uint64)
        arcs[:, 0], arcs[:, 1] = weights[order], ends[order]
        return arcs

    def _launch(self, kernel: str, items: int, arguments: tuple[Any, ...]) -> None:
        blocks = blocks_for(self._graph.device, items, BLOCK)
        if blocks:
            self._module.get_function(kernel)(blocks, BLOCK, arguments)
