"""Certificates of distributed answers: the rules of one device, checked without gathering graph or answer.

A rank receives from the owners the values of its heads and tails and the predecessors of its heads. Every arc
is in exactly one block, so each rule is checked once. The ranks add up the violations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device.signature import read_source
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.levels import over
from relaxometer.distributed.partition import Block, Numbering
from relaxometer.graphs.graph import NO_PREDECESSOR, UNREACHED
from relaxometer.problems.certificate import Certificate
from relaxometer.problems.problem import load_problem

SOURCE = read_source(Path(__file__).with_name("certify.cu"))

WARP, IS_ARC, IS_TIGHT = (SOURCE.constants[name] for name in ("WARP", "IS_ARC", "IS_TIGHT"))

PART = 1 << 22  # vertices checked at a time, which bounds memory

NOWHERE = 2**62  # first violation of a rule that holds
Broken = tuple[int, int]  # violations of a rule, and the first vertex that violates it


class Certifier:
    """Checks answers on one block of a graph, with three 32-bit words per head and one per tail.

    Everything else is checked for `PART` vertices at a time.
    """

    def __init__(self, ranks: Ranks, block: Block, problem: str) -> None:
        self._ranks, self._block, self._problem = ranks, block, problem
        self._xp = ranks.device.xp
        module = ranks.module(SOURCE.path)
        self._check_arcs = module.get_function("check_arcs")
        layout = block.layout
        place = layout.place(ranks.rank)
        self._heads, self._tails, self._owned = place.heads, place.tails, place.owned
        everyone = [layout.place(rank) for rank in range(ranks.size)]
        self._to_heads = [[r for r, p in enumerate(everyone) if piece in p.heads] for piece in place.owned]
        self._to_tails = [[r for r, p in enumerate(everyone) if piece in p.tails] for piece in place.owned]

    def check(self, source: int, value: Any, predecessor: Any) -> Certificate:
        """Check an answer, given the columns of the owned vertices; every rank gets the same certificate."""
        owned = partial(self._check_owned, source)
        own = self._in_parts(self._block.owned, owned, value, predecessor)
        arcs, unproven = self._check_block(source, value, predecessor)
        if self._problem == "bfs":
            found = {
                "tree": _both(own["tree"], unproven["cycle"]),
                "tree_levels": unproven["length"],
                "arc_levels": arcs["overstretched"],
                "spanning": arcs["left_out"],
                "tree_arcs": unproven["arc"],
            }
        else:
            # A cycle needs arcs of length 0. Following chains on the host is slow.
            cycles = 0, NOWHERE
            if self._ranks.reduce([unproven["level"][0]])[0]:
                cycles = self._follow_chains(source, value, predecessor)
            found = {
                "source": own["source"],
                "overstretched": arcs["overstretched"],
                "predecessor": _both(own["predecessor"], unproven["tight"]),
                "left_out": arcs["left_out"],
                "tree": cycles,
            }
        return self._added_up(found)

    def _added_up(self, found: dict[str, Broken]) -> Certificate:
        """Add up the violations of all ranks; rules about negative cycles hold, since no arc is negative."""
        rules = load_problem(self._problem).rules
        of_rules = [found.get(rule, (0, NOWHERE)) for rule in rules]
        counts = self._ranks.reduce([count for count, _ in of_rules])
        least = self._ranks.reduce([vertex for _, vertex in of_rules], "min")
        first = {rule: at for rule, count, at in zip(rules, counts, least, strict=True) if count}
        return Certificate(dict(zip(rules, counts, strict=True)), first)

    def _in_parts(
        self, numbering: Numbering, check: Callable[..., dict[str, Any]], *columns: Any
    ) -> dict[str, Broken]:
        """Check parts of the vertices; `check` takes vertices and columns and marks violations of rules."""
        found: dict[str, Broken] = {}
        for begin in range(0, numbering.size, PART):
            part = slice(begin, begin + PART)
            vertices = numbering.vertices(part)
            for rule, broken in check(vertices, *(column[part] for column in columns)).items():
                where = vertices[broken]
                new = len(where), int(where.min()) if len(where) else NOWHERE
                found[rule] = _both(found.get(rule, (0, NOWHERE)), new)
        return found

    def _check_owned(self, source: int, vertices: Any, value: Any, predecessor: Any) -> dict[str, Any]:
        n = self._block.n_vertices
        is_source = vertices == source
        wrong_source = is_source & ((value != 0) | (predecessor != source))
        reached = value != UNREACHED
        exists = predecessor < min(n, 2**32 - 1)
        wrong = ~is_source & (reached != exists) | ~reached & (predecessor != NO_PREDECESSOR)
        if self._problem == "bfs":
            return {"tree": wrong | wrong_source}
        return {"source": wrong_source, "predecessor": wrong}

    def _check_block(
        self, source: int, value: Any, predecessor: Any
    ) -> tuple[dict[str, Broken], dict[str, Broken]]:
        """Check the arcs of the block, and those from predecessors to its heads."""
        xp, block = self._xp, self._block
        of_heads = self._spread(value, self._heads, self._to_heads)
        parents = self._spread(predecessor, self._heads, self._to_heads)
        of_tails = self._spread(value, self._tails, self._to_tails)
        for begin in range(0, block.heads.size, PART):
            part = slice(begin, begin + PART)
            parents[part] = self._local_parents(source, block.heads.vertices(part), parents[part])
        marks = xp.zeros(block.heads.size, dtype=np.uint32)
        report = xp.zeros((2, 2), dtype=np.uint64)
        report[:, 1] = block.heads.size
        out, weights = block.out, block.out.weights if self._problem == "sssp" else None
        rows = np.uint32(block.tails.size), out.offsets, out.targets, weights
        values = of_tails, of_heads, parents, marks, report
        self._check_arcs(*over(self._ranks.device, WARP * block.tails.size), (*rows, *values))
        check = partial(self._check_heads, of_tails)
        return self._reported(report), self._in_parts(block.heads, check, of_heads, parents, marks)

    def _local_parents(self, source: int, heads: Any, parents: Any) -> Any:
        """Return the local numbers of the predecessors of heads, NO_PREDECESSOR if this block has no arc."""
        xp, block = self._xp, self._block
        mine = (parents < block.n_vertices) & (heads != source) & (heads < block.n_vertices)
        mine &= block.layout.rank_of_arcs(xp.where(mine, parents, 0), heads) == self._ranks.rank
        tails = block.tails.local(xp.where(mine, parents, block.tails.first[0]))  # any that exists
        return xp.where(mine, tails, int(NO_PREDECESSOR))

    def _check_heads(self, of_tails: Any, _: Any, value: Any, parent: Any, marks: Any) -> dict[str, Any]:
        """Check the arcs from predecessors, given by local numbers, to heads."""
        mine = parent != NO_PREDECESSOR
        reached = mine & (value != UNREACHED)
        parent_value = of_tails[self._xp.where(mine, parent, 0)].astype(np.int64)
        own = value.astype(np.int64)
        lower = (parent_value != int(UNREACHED)) & (parent_value < own)
        return {
            "arc": reached & (marks & IS_ARC == 0),
            "tight": reached & (marks & IS_TIGHT == 0),
            "cycle": reached & ~lower,
            "level": reached & (parent_value == own),
            "length": reached & (parent_value + 1 != own),
        }

    def _reported(self, report: Any) -> dict[str, Broken]:
        """Return the kernel's report, with local numbers replaced by vertices."""
        found = zip(("left_out", "overstretched"), self._ranks.device.asnumpy(report).tolist(), strict=True)
        return {name: (count, self._head(first) if count else NOWHERE) for name, (count, first) in found}

    def _head(self, local: int) -> int:
        slot, place = divmod(local, self._block.layout.piece)
        at = np.int64(self._heads[slot] * self._block.layout.piece + place)
        return int(self._block.layout.at_places(at))

    def _spread(self, owned: Any, pieces: tuple[int, ...], readers: list[list[int]]) -> Any:
        """Send values of owned vertices to the ranks that read them; return those of `pieces`."""
        size, layout = self._block.layout.piece, self._block.layout
        sends = [
            (rank, owned[k * size : (k + 1) * size]) for k, ranks in enumerate(readers) for rank in ranks
        ]
        arrived = self._xp.empty(len(pieces) * size, dtype=np.uint32)
        receives = [
            (layout.owner(piece), arrived[slot * size : (slot + 1) * size])
            for slot, piece in enumerate(pieces)
        ]
        self._ranks.exchange(sends, receives)
        return arrived

    def reached_heads(self, value: Any) -> Any:
        """Mark the heads of this rank that an answer, given at the owners, has reached."""
        return self._spread(value, self._heads, self._to_heads) != UNREACHED

    def _follow_chains(self, source: int, value: Any, predecessor: Any) -> Broken:
        """Find the owned vertices whose predecessors along arcs of weight zero form a cycle.

        A vertex points to its predecessor if that has the same distance; else it ends a chain. Pointers are
        doubled until none moves.
        """
        device = self._ranks.device
        vertices = device.asnumpy(self._block.owned.vertices())
        value, predecessor = (device.asnumpy(column).astype(np.int64) for column in (value, predecessor))
        asks = (value != int(UNREACHED)) & (predecessor < self._block.n_vertices) & (vertices != source)
        of_parent = np.full(len(vertices), -1)
        of_parent[asks] = self._look_up(value, predecessor[asks])
        chained = asks & (of_parent == value)
        pointer = np.where(chained, predecessor, vertices)
        for _ in range(int(self._block.n_vertices).bit_length() + 1):
            further = pointer.copy()
            further[chained] = self._look_up(pointer, pointer[chained])
            moved = int((further != pointer).sum())
            pointer = further
            if not self._ranks.reduce([moved])[0]:
                break
        ends = np.zeros(len(vertices), dtype=np.int64)
        ends[chained] = self._look_up(chained.astype(np.int64), pointer[chained])
        circling = vertices[chained & (ends == 1)]
        return len(circling), int(circling.min(initial=NOWHERE))

    def _look_up(self, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return values of any vertices from their owners; `values` are those of this rank."""
        layout, ranks = self._block.layout, self._ranks
        owners = layout.rank_of(*np.divmod(layout.places(wanted) // layout.piece, layout.columns))
        order = np.argsort(owners, kind="stable")
        bounds = np.cumsum(np.bincount(owners, minlength=ranks.size))[:-1]
        asked = ranks.all_to_all(np.split(wanted[order], bounds))
        answers = [values[self._local(vertices)] for vertices in asked]
        found = np.empty(len(wanted), dtype=np.int64)
        found[order] = np.concatenate(ranks.all_to_all(answers))
        return found

    def _local(self, vertices: np.ndarray) -> np.ndarray:
        device = self._ranks.device
        return device.asnumpy(self._block.owned.local(device.asarray(vertices)))


def _both(one: Broken, other: Broken) -> Broken:
    return one[0] + other[0], min(one[1], other[1])


def reached_totals(ranks: Ranks, block: Block, value: Any, certifier: Certifier) -> dict[str, int | None]:
    """Count, over all ranks, reached vertices, the arcs that leave them, and their tuples of an edge list."""
    reached = value != UNREACHED
    arcs = int((block.degrees * reached).sum(dtype=np.int64))
    ends = 0
    if block.ends is not None:
        ends = int((block.ends * certifier.reached_heads(value)).sum(dtype=np.int64))
    n_reached, n_arcs, n_ends = ranks.reduce([int(reached.sum()), arcs, ends])
    return {
        "reached": n_reached,
        "reached_arcs": n_arcs,
        "input_edges": None if block.ends is None else n_ends // 2,
    }
