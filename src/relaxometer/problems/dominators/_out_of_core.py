"""Dominators of a graph whose arcs stay in host memory; every round streams them to the device."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device.arrays import DeviceArray
from relaxometer.device.signature import read_source
from relaxometer.graphs.graph import UNREACHED
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.dominators import NO_DOMINATOR, Answer
from relaxometer.problems.phases import Phase

THREADS = 512
MAX_BLOCKS = 1024
KERNELS = Path(__file__).with_name("_out_of_core.cu")
SHORT_CHAIN = read_source(KERNELS).constants["SHORT_CHAIN"]


class OutOfCore:
    """The rounds of `iterative_tree` over pieces of `piece` arcs.

    Heads are read from host memory. The device holds the arrays of the vertices and one piece of the arcs.
    """

    def __init__(self, graph: ResidentGraph, piece: int) -> None:
        self._graph, self._piece = graph, piece
        device, xp = graph.device, graph.device.xp
        module = device.module(KERNELS)
        self._lower_levels = module.get_function("lower_levels")
        self._choose_parents = module.get_function("choose_parents")
        self._arcs_by_number = module.get_function("arcs_by_number")
        self._point_jumps = module.get_function("point_jumps")
        self._stretch_jumps = module.get_function("stretch_jumps")
        self._follow_piece = module.get_function("follow_piece")
        n = graph.n_vertices
        self._blocks = min(MAX_BLOCKS, -(-max(n, piece) // THREADS))
        self._level = xp.empty(n, dtype=xp.uint32)
        self._number = xp.empty(n, dtype=xp.uint32)
        self._parent = xp.empty(n, dtype=xp.uint32)
        self._jump = xp.empty(n, dtype=xp.uint32)
        self._tally = xp.zeros(2, dtype=xp.uint64)
        self._moved = xp.zeros(1, dtype=xp.uint32)
        self._from = xp.empty(piece, dtype=xp.uint32)
        self._to = xp.empty(piece, dtype=xp.uint32)

    def solve(self, root: int, phases: list[Phase] | None) -> Answer:
        order, levels = self._find_order(root)
        rounds = self._run_rounds(len(order), levels, phases)
        idom = self._graph.device.xp.full(self._graph.n_vertices, NO_DOMINATOR, dtype=np.uint32)
        idom[order] = order[self._parent[: len(order)]]
        return Answer(idom, rounds)

    def _over_pieces(self, follow: Callable[[np.uint64, Any, Any], None]) -> None:
        """Copy the arcs to the device piece by piece; call `follow` with their number, tails and heads."""
        graph, xp = self._graph, self._graph.device.xp
        for begin in range(0, graph.n_arcs, self._piece):
            end = min(begin + self._piece, graph.n_arcs)
            heads = graph.device.asarray(graph.host.targets[begin:end])
            arcs = xp.arange(begin, end, dtype=xp.int64)
            tails = (xp.searchsorted(graph.offsets, arcs, side="right") - 1).astype(xp.uint32)
            follow(np.uint64(end - begin), tails, heads)

    def _find_order(self, root: int) -> tuple[Any, int]:
        """Choose numbers and parents of the reached vertices; return the order and the number of levels."""
        xp, device = self._graph.device.xp, self._graph.device
        self._level.fill(UNREACHED)
        self._level[root] = 0
        moved = True
        while moved:
            self._moved.fill(0)
            self._over_pieces(
                lambda *piece: self._lower_levels(self._blocks, THREADS, (*piece, self._level, self._moved))
            )
            moved = bool(device.item(self._moved))
        by_level = xp.argsort(self._level, kind="stable").astype(xp.uint32)
        order = by_level[: int((self._level != UNREACHED).sum())]
        self._number.fill(UNREACHED)
        self._number[order] = xp.arange(len(order), dtype=xp.uint32)
        self._parent.fill(UNREACHED)
        self._parent[0] = 0
        self._over_pieces(
            lambda *piece: self._choose_parents(self._blocks, THREADS, (*piece, self._number, self._parent))
        )
        return order, int(self._level[order[-1]]) + 1

    def _run_rounds(self, reached: int, longest: int, phases: list[Phase] | None) -> int:
        rounds, moved = 0, 1
        while moved:
            self._tally.fill(0)
            span = self._make_jumps(np.uint32(reached), longest) if longest > SHORT_CHAIN else 0
            with self._graph.device.timer() as timer:
                self._over_pieces(partial(self._follow_one, np.uint32(span)))
            moved, longest = (int(word) for word in self._graph.device.asnumpy(self._tally))
            rounds += 1
            if phases is not None:
                phases.append(Phase("round out of core", moved, self._graph.n_arcs, timer.ms))
        return rounds

    def _follow_one(self, span: np.uint32, n_arcs: np.uint64, tails: DeviceArray, heads: DeviceArray) -> None:
        ends = (self._from, self._to)
        self._arcs_by_number(self._blocks, THREADS, (n_arcs, tails, heads, self._number, *ends))
        tallies = (self._tally[:1], self._tally[1:])
        self._follow_piece(self._blocks, THREADS, (n_arcs, *ends, self._parent, self._jump, span, *tallies))

    def _make_jumps(self, reached: np.uint32, longest: int) -> int:
        """Build jumps that span about the square root of the longest chain; return their span."""
        tree = (reached, self._parent, self._jump)
        self._point_jumps(self._blocks, THREADS, tree)
        doublings = (longest.bit_length() + 1) // 2
        for _ in range(doublings):
            self._stretch_jumps(self._blocks, THREADS, tree)
        return 1 << doublings
