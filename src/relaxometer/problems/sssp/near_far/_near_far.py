"""Constants, structs and the width of buckets, shared by the near-far variants."""

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np

from relaxometer.device import DeviceOutOfMemory
from relaxometer.device.arguments import Struct
from relaxometer.device.signature import Layout, read_source
from relaxometer.graphs.lengths import LENGTHS, Lengths
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.sssp._packed_arcs import PackedArcs

SOURCE = read_source(Path(__file__).with_name("near_far.cu"))
QUEUE: int = SOURCE.constants["QUEUE"]
PILES: int = SOURCE.constants["PILES"]
MODES = ("block", "grid")
"""Blocks that run a phase: one or the whole grid, in the order of the kernels' `Mode`."""

SHIFTS = {"uint32": (0, 31), "float32": (-126, 126), "float64": (-1022, 1022)}
"""Least and greatest shift by type of weights; 2**-shift is a normal number too."""

_WIDE_SOURCE = read_source(SOURCE.path, options=LENGTHS["uint32/uint64"].options)
SPARSE = 8  # greatest mean degree of a sparse graph


def packed_arcs(graph: ResidentGraph) -> PackedArcs:
    """Have the device lay out the arcs for the kernels."""
    return PackedArcs(graph.device, graph.offsets, graph.targets, graph.weights, graph.lengths)


def layout_of(struct: str, lengths: Lengths) -> Layout:
    """Return the layout of a struct of the kernels for these lengths."""
    return (_WIDE_SOURCE if lengths.is_wide else SOURCE).layout(struct)


def entry_bytes(lengths: Lengths) -> int:
    """Return the bytes of an entry of a pile."""
    return SOURCE.constants["WIDE_ENTRY_BYTES" if lengths.is_wide else "ENTRY_BYTES"]


def queue_bytes(lengths: Lengths) -> int:
    """Return the bytes of shared memory for the near entries of two phases."""
    return 2 * QUEUE * entry_bytes(lengths)


def graph_members(packed: PackedArcs, *, first: bool) -> dict[str, Any]:
    """Return the members of the kernels' `Graph`; `first` arcs are only for searches by single blocks."""
    return {
        "n": np.uint32(len(packed.rows)),
        "rows": packed.rows,
        "first": packed.first() if first else None,
        "arcs": packed.arcs,
    }


def initial_capacity(graph: ResidentGraph) -> int:
    """Return the entries per pile that a single search begins with.

    A pile that overflows costs the whole search again. The largest pile holds between one and two entries per
    vertex on R-MAT graphs of mean degree 30, 1.2 on kanto-like, and up to one on the other maps tried. All
    piles are equal, so two entries per vertex take 1,152 bytes per vertex, or 1,728 if lengths have 64 bits,
    most of which a search never touches. Kernels count entries with 32 bits.
    """
    return min(max(2 * QUEUE, 2 * graph.n_vertices), 2**31)


class Piles:
    """The piles of a kernel's `Problem`: `capacity` entries in each, for a number of `searches` at once."""

    def __init__(self, problem: Struct, graph: ResidentGraph, shift: int) -> None:
        self._problem, self._graph = problem, graph
        self._shift = np.uint32(shift % 2**32)

    def allocate(self, searches: int, capacity: int) -> None:
        """Give the struct new piles; the old ones are freed first. There are none if memory runs out."""
        self.searches, self.capacity = 0, capacity
        sizes = {"capacity": np.uint32(capacity), "shift": self._shift}
        self._problem.set(piles=sizes | {"entries": None})
        words = entry_bytes(self._graph.lengths) // 4
        entries = self._graph.device.xp.empty((searches * PILES * capacity, words), dtype=np.uint32)
        self._problem.set(piles=sizes | {"entries": entries})
        self.searches = searches

    def require(self, searches: int) -> None:
        """Allocate piles of the same capacity unless there are some for as many searches."""
        if searches > self.searches:
            self.allocate(searches, self.capacity)

    def double(self, searches: int = 1) -> None:
        """Double the capacity; if memory runs out, restore the former one so that later searches can run."""
        former = self.capacity
        try:
            self.allocate(searches, 2 * former)
        except DeviceOutOfMemory:
            self.allocate(searches, former)
            raise


def bucket_shift(graph: ResidentGraph, packed: PackedArcs, delta: float | Literal["auto"]) -> int:
    """Return the binary logarithm of a bucket's width, `delta` mean weights; waits for the device.

    "auto" is a fraction of the near pile of Davidson et al., 32 mean weights over the mean degree: a sixth on
    sparse graphs and a 24th on others, since here a phase takes further buckets along. A coefficient of
    variation of the weights above 1 divides it: then the mean says little about the step from a vertex to the
    next. A bucket of integers is at least 1 wide, and one of floats not subnormal.
    """
    if graph.n_arcs == 0:
        return 0
    mean, spread = packed.weight_statistics()
    if delta == "auto":
        delta = 32 / (6 if is_sparse(graph) else 24) / (graph.n_arcs / graph.n_vertices)
        delta /= max(1.0, spread / mean) if mean else 1
    least, greatest = SHIFTS[graph.lengths.dtype.name]
    return math.floor(math.log2(min(2.0**greatest, max(2.0**least, delta * mean))))


def bucket_width(graph: ResidentGraph, shift: int) -> float:
    """Return the width of a bucket in the graph's unit, an integer if weights are."""
    return 2.0**shift if graph.lengths.is_float else 1 << shift


def is_sparse(graph: ResidentGraph) -> bool:
    """Return whether the mean degree is at most `SPARSE`."""
    return graph.n_arcs <= SPARSE * graph.n_vertices
