"""The rounds of ``iterative_tree.cu``: vertices move up a tree until it is the dominator tree."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.problems.dominators import NO_DOMINATOR
from relaxometer.problems.phases import Phase

THREADS = 512
ALL_ROUNDS = np.uint32(2**32 - 1)


class Lifted(NamedTuple):
    """Rounds use tables of ancestors while chains of parents, bounded by `longest`, may exceed `above`."""

    longest: int
    above: int


class Rounds:
    """Rounds over the arcs of a graph with `n_vertices` at most; `n_arcs` are expected."""

    def __init__(self, device: Device, n_vertices: int, n_arcs: int) -> None:
        self._device = device
        xp = device.xp
        module = device.module(Path(__file__).with_name("iterative_tree.cu"), cooperative=True)
        self._kernel = module.get_function("run_rounds")
        self._arcs_by_number = module.get_function("arcs_by_number")
        self._lift_arcs = module.get_function("lift_arcs")
        self._dominators_by_vertex = module.get_function("dominators_by_vertex")
        self._blocks = device.max_cooperative_blocks(self._kernel, THREADS)
        self._lift_blocks = device.max_cooperative_blocks(self._lift_arcs, THREADS)
        self._up: Any = None
        self._unfinished = xp.empty(3, dtype=xp.uint32)
        self._jump = xp.empty(n_vertices, dtype=xp.uint32)
        self._from = xp.empty(n_arcs, dtype=xp.uint32)
        self._to = xp.empty(n_arcs, dtype=xp.uint32)
        self._tallies = xp.empty(6, dtype=xp.uint64)
        self._outcome = xp.empty(3, dtype=xp.uint64)
        self._longest = xp.empty(1, dtype=xp.uint32)

    def run(
        self,
        arcs: tuple[Any, Any],
        tree: tuple[Any, Any, Any],
        longest_chain: Any,
        phases: list[Phase] | None = None,
        lifted: Lifted | None = None,
    ) -> int:
        """Run rounds until nothing moves; return their number, with the last, which changes nothing.

        `arcs` are tails and heads. `tree` is how many vertices are reached, the number of every vertex, and
        the parent by number, changed in place. Each strict dominator of a vertex must have a smaller number,
        and be its parent or dominate the parent. `longest_chain` bounds the chains of parents. If `phases` is
        given, each round is a separate launch and is recorded.
        """
        reached, number, parent = tree
        n_arcs = len(arcs[0])
        if n_arcs > len(self._from):
            self._from, self._to = (self._device.xp.empty(n_arcs, dtype=np.uint32) for _ in range(2))
        numbered = (np.uint64(n_arcs), *arcs, number, self._from, self._to)
        self._arcs_by_number(self._blocks_for(n_arcs), THREADS, numbered)
        rounds = 0
        if lifted:
            rounds, moved, longest = self._lift(n_arcs, reached, parent, lifted, phases)
            if moved == 0:
                return rounds
            self._longest.fill(longest)
            longest_chain = self._longest
        if phases is None:
            return rounds + self._launch(n_arcs, reached, parent, longest_chain, ALL_ROUNDS)[0]
        moved = 1
        while moved:
            with self._device.timer() as timer:
                _, moved, longest = self._launch(n_arcs, reached, parent, longest_chain, np.uint32(1))
            self._longest.fill(longest)
            longest_chain = self._longest
            phases.append(Phase("round", moved, n_arcs, timer.ms))
            rounds += 1
        return rounds

    def _lift(
        self, n_arcs: int, reached: Any, parent: Any, lifted: Lifted, phases: list[Phase] | None
    ) -> tuple[int, int, int]:
        """Run rounds with tables of ancestors; return their number, moves of the last, bound on chains."""
        device, xp, n = self._device, self._device.xp, len(parent)
        powers = lifted.longest.bit_length() + 1
        if self._up is None or len(self._up) < powers * n:
            self._depth = xp.empty(2 * n, dtype=np.uint32)
            self._up = xp.empty(powers * n, dtype=np.uint32)
        arcs = (np.uint64(n_arcs), self._from, self._to)
        tables = (reached, parent, self._up, self._depth, self._unfinished)
        at_once = ALL_ROUNDS if phases is None else np.uint32(1)
        blocks = min(self._lift_blocks, max(1, -(-max(n_arcs, n) // THREADS)))
        rounds, moved, longest = 0, 1, lifted.longest
        while moved and longest > lifted.above:
            self._tallies.fill(0)
            limits = (np.uint32(lifted.above), at_once)
            with device.timer() if phases is not None else nullcontext() as timer:
                self._lift_arcs(blocks, THREADS, (*arcs, *tables, *limits, self._tallies, self._outcome))
            done, moved, longest = device.asnumpy(self._outcome).tolist()
            rounds += done
            if phases is not None and timer and done:
                phases.append(Phase("lifted round", moved, n_arcs, timer.ms))
        return rounds, moved, longest

    def _launch(
        self, n_arcs: int, reached: Any, parent: Any, longest_chain: Any, max_rounds: np.uint32
    ) -> list[int]:
        """Run rounds; return their number, and the moves and the longest climb of the last."""
        self._tallies.fill(0)
        arcs = (np.uint64(n_arcs), self._from, self._to)
        tree = (reached, longest_chain, parent, self._jump)
        arguments = (*arcs, *tree, max_rounds, self._tallies, self._outcome)
        self._kernel(self._blocks_for(max(n_arcs, len(parent))), THREADS, arguments)
        outcome: list[int] = self._device.asnumpy(self._outcome).tolist()
        return outcome

    def dominators(self, n_vertices: int, reached: Any, order: DeviceArray, parent: Any) -> Any:
        """Return the immediate dominators by vertex; `order` holds the vertices by number."""
        idom = self._device.xp.full(n_vertices, NO_DOMINATOR, dtype=np.uint32)
        self._dominators_by_vertex(self._blocks_for(n_vertices), THREADS, (reached, order, parent, idom))
        return idom

    def _blocks_for(self, items: int) -> int:
        return max(1, min(self._blocks, -(-items // THREADS)))
