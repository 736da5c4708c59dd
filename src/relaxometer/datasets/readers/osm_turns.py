"""Turn restrictions and turn costs of roads, as further vertices at junctions.

A junction where a turn depends on the road that a vehicle comes from has a vertex for that road's end, with
the arcs that may follow; other roads lead to the junction's own vertex.

References
----------
OpenStreetMap Wiki, "Relation:restriction", https://wiki.openstreetmap.org/wiki/Relation:restriction
"""

import itertools
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from relaxometer.datasets.readers.contraction import Flags, Floats, Ints
from relaxometer.datasets.readers.osm_tags import Profile
from relaxometer.graphs.graph import offsets_of

Turn = tuple[int, ...]
"""Arcs that follow one another."""


@dataclass(frozen=True, eq=False)
class Restriction:
    """A relation with one turn, or several, by the ids of ways.

    If `is_only`, no other turn is allowed, instead of this one being forbidden. `node` is the id of the node
    between them, without a way.
    """

    is_only: bool
    starts: list[int]
    vias: list[int]
    ends: list[int]
    node: int | None


@dataclass(frozen=True, eq=False)
class Arcs:
    """Roads in their directions: first the `n_along` along their ways, then those against, in ways' order.

    `tails` and `heads` are junctions. Of a road with two directions, both arcs have the same edge. `seconds`
    are travel times; `leaving` and `arriving` are bearings in degrees at both ends.
    """

    tails: Ints
    heads: Ints
    edges: Ints
    seconds: Floats
    leaving: Floats
    arriving: Floats
    n_along: int


@dataclass(frozen=True, eq=False)
class Expansion:
    """A graph whose paths are the allowed ones.

    `junctions` has the junction of each vertex, ascending; `seconds` include the costs of turns.
    """

    junctions: Ints
    tails: Ints
    heads: Ints
    seconds: Floats


def restriction_of(relation: dict[str, Any], profile: Profile) -> Restriction | None:
    """Return the restriction that a relation of OpenStreetMap is for a vehicle, or None."""
    tags = dict(relation["tags"])
    kind = next((tags[key] for key in profile.keys("restriction") if key in tags), "")
    excepted = {name.strip() for name in tags.get("except", "").split(";")}
    if not kind.startswith(("no_", "only_")) or excepted & set(profile.names):
        return None
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for ref, type_, role in zip(relation["refs"], relation["ref_types"], relation["ref_roles"], strict=True):
        members[role, type_].append(ref)
    nodes, vias = members["via", "node"], members["via", "way"]
    node = nodes[0] if len(nodes) == 1 and not vias else None
    return Restriction(kind.startswith("only_"), members["from", "way"], vias, members["to", "way"], node)


def forbidden_turns(
    arcs: Arcs, ways: Ints, nodes: Ints, restrictions: list[Restriction]
) -> tuple[set[Turn], int]:
    """Return the sequences of arcs that no path may have, and the number of restrictions that name any turn.

    `ways` has the id of the way of each arc, `nodes` the ids of the junctions.
    """
    named = [way for one in restrictions for way in (*one.starts, *one.vias, *one.ends)]
    of_way: dict[int, list[int]] = defaultdict(list)
    for arc in np.flatnonzero(np.isin(ways, named)).tolist():
        of_way[int(ways[arc])].append(arc)
    found = [(one, _turns(one, arcs, of_way, nodes)) for one in restrictions]
    forbidden = {turn for one, turns in found if not one.is_only for turn in turns}
    only: dict[Turn, set[int]] = defaultdict(set)
    for turn in (turn for one, turns in found if one.is_only for turn in turns):
        only[turn[:-1]].add(turn[-1])
    following = _Following(arcs)
    for before, allowed in only.items():
        forbidden |= {(*before, arc) for arc in following[before[-1]] if arc not in allowed}
    return forbidden, sum(bool(turns) for _, turns in found)


def _turns(restriction: Restriction, arcs: Arcs, of_way: dict[int, list[int]], nodes: Ints) -> list[Turn]:
    """Return the sequences of arcs that a restriction names, one for each pair of its ends.

    Where a way leads on beyond the junction, nobody knows which part is meant, so it names none.
    """
    found: list[Turn] = []
    for start, end in itertools.product(restriction.starts, restriction.ends):
        turns: list[Turn] = [(arc,) for arc in of_way[start]]
        if not restriction.vias:
            turns = [turn for turn in turns if nodes[arcs.heads[turn[-1]]] == restriction.node]
        for via in restriction.vias:
            along = [arc for arc in of_way[via] if arc < arcs.n_along]
            against = [arc for arc in reversed(of_way[via]) if arc >= arcs.n_along]
            turns = [(*turn, *piece) for turn in turns for piece in (along, against) if piece]
        turns = [(*turn, arc) for turn in turns for arc in of_way[end]]
        turns = [turn for turn in turns if _is_path(turn, arcs)]
        found += turns if len(turns) == 1 else []
    return found


def _is_path(turn: Turn, arcs: Arcs) -> bool:
    return all(arcs.heads[one] == arcs.tails[other] for one, other in itertools.pairwise(turn))


class _Following:
    """The arcs that begin where an arc ends."""

    def __init__(self, arcs: Arcs, *, turning_back: bool = True) -> None:
        """If not `turning_back`, the way back is left out unless there is no other."""
        self._arcs, self._turning_back = arcs, turning_back
        self._order = np.argsort(arcs.tails, kind="stable")
        n_junctions = int(max(arcs.tails.max(initial=-1), arcs.heads.max(initial=-1))) + 1
        self._degrees = np.bincount(arcs.tails, minlength=n_junctions)
        self._offsets = offsets_of(self._degrees)

    def __getitem__(self, arc: int) -> list[int]:
        following: list[int] = self.pairs(np.array([arc]))[1].tolist()
        return following

    def pairs(self, some: Ints) -> tuple[Ints, Ints]:
        """Return all pairs of one of `some` arcs and an arc that follows it."""
        heads = self._arcs.heads[some]
        counts = self._degrees[heads]
        starts = np.repeat(self._offsets[heads] - offsets_of(counts)[:-1], counts)
        place = np.repeat(np.arange(len(some)), counts)
        before, after = some[place], self._order[starts + np.arange(len(starts))]
        if self._turning_back:
            return before, after
        is_back = _turns_back(self._arcs, before, after)
        others = np.bincount(place[~is_back], minlength=len(some))
        kept = ~is_back | (others[place] == 0)
        return before[kept], after[kept]


def _turns_back(arcs: Arcs, before: Ints, after: Ints) -> Flags:
    return (arcs.edges[before] == arcs.edges[after]) & (before != after)


def expand(arcs: Arcs, forbidden: set[Turn], costs: Profile | None) -> Expansion:
    """Return the graph whose paths are those without forbidden sequences of arcs.

    A state is what matters of a path so far: the longest end of it that begins a forbidden sequence. It is a
    vertex at the junction where it ends. (This is the automaton of Aho and Corasick, 1975.) With `costs`,
    every arc's end is a state, turns cost time, and turning back is allowed at dead ends only.
    """
    n_arcs = len(arcs.tails)
    n_junctions = int(max(arcs.tails.max(), arcs.heads.max())) + 1
    following = _Following(arcs, turning_back=costs is None)
    begun = {turn[:end] for turn in forbidden for end in range(1, len(turn))}
    states = sorted(begun, key=lambda state: (len(state), state))
    longer = [state for state in states if len(state) > 1]
    # Junctions are the first vertices, then the ends of arcs, then longer states; some will remain unused.
    number = {state: n_junctions + state[0] for state in states}
    number |= {state: n_junctions + n_arcs + place for place, state in enumerate(longer)}
    last = np.array([*range(n_arcs), *(state[-1] for state in longer)], dtype=np.int64)
    is_state = np.full(n_arcs, costs is not None)
    special = np.array([state[0] for state in states if len(state) == 1], dtype=np.int64)
    is_state[special] = True
    ends = np.where(is_state, n_junctions + np.arange(n_arcs), arcs.heads)
    is_state[special] = False
    before, after = following.pairs(np.flatnonzero(is_state))
    moves = _moves_of_states(states, number, forbidden, following, ends)
    tails = np.concatenate([arcs.tails, n_junctions + before, moves[:, 0]])
    taken = np.concatenate([np.arange(n_arcs), after, moves[:, 1]])
    heads = np.concatenate([ends, ends[after], moves[:, 2]])
    seconds = arcs.seconds[taken]
    if costs:
        turning = tails >= n_junctions
        seconds[turning] += _costs(arcs, last[tails[turning] - n_junctions], taken[turning], costs)
    return _renumbered(np.concatenate([np.arange(n_junctions), arcs.heads[last]]), tails, heads, seconds)


def _moves_of_states(
    states: list[Turn], number: dict[Turn, int], forbidden: set[Turn], following: _Following, ends: Ints
) -> Ints:
    """Return vertex, arc and next vertex of every move from a state; shape (n_moves, 3)."""
    moves: dict[Turn, dict[int, int]] = {}
    for state in states:
        shorter = (moves[state[start:]] for start in range(1, len(state)) if state[start:] in moves)
        known = next(shorter, None)
        allowed = {arc: int(ends[arc]) for arc in following[state[-1]]} if known is None else known
        moves[state] = {
            arc: number.get((*state, arc), vertex)
            for arc, vertex in allowed.items()
            if (*state, arc) not in forbidden
        }
    listed = [(number[state], arc, to) for state, row in moves.items() for arc, to in row.items()]
    return np.array(listed, dtype=np.int64).reshape(-1, 3)


def _costs(arcs: Arcs, before: Ints, after: Ints, profile: Profile) -> Floats:
    """Return the seconds that turns cost, which is nothing where only two roads meet."""
    _, first = np.unique(arcs.edges, return_index=True)
    roads = np.bincount(np.concatenate([arcs.tails[first], arcs.heads[first]]))
    degrees = np.abs((arcs.leaving[after] - arcs.arriving[before] + 180) % 360 - 180)
    turning = profile.turn / (1 + np.exp(13 * (0.5 - degrees / 180)))
    is_back = _turns_back(arcs, before, after)
    back = np.where(is_back, profile.turn_back, 0)
    return np.where((roads[arcs.heads[before]] > 2) | is_back, turning, 0) + back


def _renumbered(junctions: Ints, tails: Ints, heads: Ints, seconds: Floats) -> Expansion:
    """Sort vertices by junction, and leave out those that no arc leads to unless they are the only one."""
    is_used = np.bincount(heads, minlength=len(junctions)) > 0
    n_junctions = int(junctions.max()) + 1
    is_used[:n_junctions] |= np.bincount(junctions[is_used], minlength=n_junctions) == 0
    order = np.argsort(junctions, kind="stable")
    order = order[is_used[order]]
    new = np.empty(len(junctions), dtype=np.int64)
    new[order] = np.arange(len(order))
    kept = is_used[tails]
    return Expansion(junctions[order], new[tails[kept]], new[heads[kept]], seconds[kept])
