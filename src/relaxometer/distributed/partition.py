"""Partition of the adjacency matrix among ranks, and a rank's block of it as CSR arrays.

The vertices are divided into a grid of pieces of equal size. The heads of a rank's arcs are in whole rows of
pieces; their tails depend on the scheme:

``RxC``
    R x C ranks and pieces. Rank (i, j) has the arcs from column j, the pieces (0, j), ..., (R - 1, j), to row
    i, and owns piece (i, j). A piece's owner is among the ranks that search for its vertices and among those
    that read its frontier, so nothing is transposed (Yoo et al., "A Scalable Distributed Parallel
    Breadth-First Search Algorithm on BlueGene/L", SC 2005).
``paired``
    Hirakushi and Takahashi, "Breadth-first search on a GPU cluster", section 2.4, after Ueno and Suzumura:
    P = 2^(2n+1) ranks, q = 2^(n+1) rows of q pieces. A rank has the blocks (k, l) and (l, k), or (k, k) and
    (k + 1, k + 1), and owns the pieces of the same names. It reads the frontier of the rows whose vertices it
    searches for. It has every arc's reverse, so an undirected graph is stored once.
``Px1-dealt``
    ``Px1``, with the vertices dealt to the pieces by a multiplicative hash. Pieces of a graph whose first
    vertices have most arcs, as in R-MAT, then hold about as many arcs, and equally many vertices.

A rank concatenates the pieces that it searches for (its `heads`), those whose frontier it reads (its `tails`)
and those that it owns; a local number is a position in one of these orders.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from relaxometer.core.errors import UserError
from relaxometer.device import Device
from relaxometer.problems.bfs._levels import WORD

DEALT = "-dealt"

UNIT = 256  # vertices; pieces consist of whole units, and these of whole groups that a warp scans at a time


@dataclass(frozen=True)
class Place:
    """The pieces of a rank, in the order of their local numbers."""

    heads: tuple[int, ...]
    tails: tuple[int, ...]
    owned: tuple[int, ...]


class Layout:
    """A scheme, ``"paired"``, ``"RxC"`` or ``"Px1-dealt"``, for a number of ranks and vertices.

    The grid has `rows` x `columns` pieces of `piece` vertices; the last may hold fewer, or none. `is_dealt`:
    places differ from vertices. UserError if the scheme does not fit the number of ranks.
    """

    def __init__(self, scheme: str, n_ranks: int, n_vertices: int) -> None:
        self.scheme, self.n_ranks, self.n_vertices = scheme, n_ranks, n_vertices
        self.rows, self.columns = grid_of(scheme, n_ranks)
        self.is_paired, self.is_dealt = scheme == "paired", scheme.endswith(DEALT)
        self._factor = _coprime(n_vertices) if self.is_dealt else 1
        self._back = pow(self._factor, -1, n_vertices) if self.is_dealt and n_vertices > 1 else 1
        size = -(-n_vertices // (self.rows * self.columns))
        self.piece = max(1, -(-size // UNIT)) * UNIT

    @property
    def n_pieces(self) -> int:
        """Pieces of the grid."""
        return self.rows * self.columns

    @property
    def only_owners_seek(self) -> bool:
        """Whether only its owner searches for a vertex; a rank's tails are then all vertices in order."""
        return self.columns == 1 and not self.is_dealt

    @property
    def words(self) -> int:
        """Words of the bitmap of a piece."""
        return self.piece // WORD

    def places(self, vertices: Any) -> Any:
        """Return the places of vertices in the order of the pieces, int64."""
        return self._hashed(vertices, self._factor)

    def place_of(self, vertex: int) -> int:
        """Return the place of one vertex, quickly."""
        is_dealt = self.is_dealt and vertex < self.n_vertices
        return vertex * self._factor % self.n_vertices if is_dealt else vertex

    def at_places(self, places: Any) -> Any:
        """Return the vertices at places, int64, and for places beyond the graph these places."""
        return self._hashed(places, self._back)

    def _hashed(self, numbers: Any, factor: int) -> Any:
        """Multiply modulo the number of vertices, which permutes them, and leave greater numbers alone."""
        numbers = numbers.astype(np.int64)
        if not self.is_dealt:
            return numbers
        hashed = numbers.astype(np.uint64) * np.uint64(factor) % np.uint64(max(self.n_vertices, 1))
        beyond = numbers >= self.n_vertices
        return hashed.astype(np.int64) * ~beyond + numbers * beyond

    def rank_of(self, row: Any, column: Any) -> Any:
        """Return the rank that has a block, or owns a piece; integers or arrays of integers.

        The paired scheme counts (0, 1), (0, 2), ..., (1, 2), ..., then the pairs on the diagonal.
        """
        if not self.is_paired:
            return row * self.columns + column
        low, high = (row + column - abs(row - column)) // 2, (row + column + abs(row - column)) // 2
        q = self.rows
        off_diagonal = low * (2 * q - low - 1) // 2 + high - low - 1
        on_diagonal = q * (q - 1) // 2 + row // 2
        same = (row == column) * 1
        return same * on_diagonal + (1 - same) * off_diagonal

    def owner(self, piece: int) -> int:
        """Return the rank that owns a piece."""
        return int(self.rank_of(*divmod(piece, self.columns)))

    def rank_of_arcs(self, tails: Any, heads: Any) -> Any:
        """Return the ranks that have the arcs from `tails` to `heads`, arrays of the same device."""
        tails, heads = self.places(tails) // self.piece, self.places(heads) // self.piece
        from_ = tails // self.columns if self.is_paired else tails % self.columns
        return self.rank_of(heads // self.columns, from_)

    def place(self, rank: int) -> Place:
        """Return the pieces of a rank."""
        q = self.columns
        if not self.is_paired:
            i, j = divmod(rank, self.columns)
            row = tuple(i * q + column for column in range(q))
            column = tuple(line * q + j for line in range(self.rows))
            return Place(row, column, (i * q + j,))
        k, m = self._pair(rank)
        both = tuple(line * q + column for line in (k, m) for column in range(q))
        owned = (k * q + m, m * q + k) if self._is_off_diagonal(rank) else (k * q + k, m * q + m)
        return Place(both, both, owned)

    def _is_off_diagonal(self, rank: int) -> bool:
        return rank < self.rows * (self.rows - 1) // 2

    def _pair(self, rank: int) -> tuple[int, int]:
        if not self._is_off_diagonal(rank):
            first = 2 * (rank - self.rows * (self.rows - 1) // 2)
            return first, first + 1
        low = 0
        while rank >= self.rows - 1 - low:
            rank -= self.rows - 1 - low
            low += 1
        return low, low + 1 + rank

    def seekers(self, piece: int) -> list[int]:
        """Return the ranks that search for the vertices of a piece, cyclically from its owner.

        The first of several ranks that find a vertex sends its parent; the cyclic order balances this work.
        """
        row, owner = piece // self.columns, self.owner(piece)
        ranks = sorted({int(self.rank_of(row, column)) for column in range(self.columns)})
        at = ranks.index(owner)
        return ranks[at:] + ranks[:at]

    def readers(self, piece: int) -> list[int]:
        """Return the ranks that read the frontier, or the visited vertices, of a piece."""
        column = piece % self.columns
        seeking = self.seekers(piece)
        if self.is_paired:
            return seeking
        return sorted({*seeking, *(int(self.rank_of(line, column)) for line in range(self.rows))})


def _coprime(n_vertices: int) -> int:
    """Return a factor below 2**32 near n / golden ratio without a common divisor: Knuth, TAOCP 3, 6.4."""
    factor = max(1, round(n_vertices * 0.6180339887498949))
    while math.gcd(factor, n_vertices) != 1:
        factor += 1
    return factor


def grid_of(scheme: str, n_ranks: int) -> tuple[int, int]:
    """Return rows and columns of the grid of pieces; `UserError` if the scheme does not fit the ranks."""
    if scheme == "paired":
        side = round((2 * n_ranks) ** 0.5)
        if side * side != 2 * n_ranks or side & (side - 1):
            raise UserError(f"scheme paired needs 2, 8, 32, ... ranks (2^(2n+1)), given {n_ranks}")
        return side, side
    found = re.fullmatch(rf"([1-9]\d*)x([1-9]\d*)({DEALT})?", scheme)
    if found is None:
        raise UserError(f"scheme {scheme!r}: expected paired or rows x columns of ranks, such as 2x4")
    rows, columns = int(found[1]), int(found[2])
    if found[3] and columns != 1:
        raise UserError(f"scheme {scheme}: only Px1 can be dealt")
    if rows * columns != n_ranks:
        raise UserError(f"scheme {scheme} needs {rows * columns} ranks, given {n_ranks}")
    return rows, columns


class Numbering:
    """Local numbers of the vertices of some pieces, in this order; `first` are their first places, uint32."""

    def __init__(self, layout: Layout, pieces: tuple[int, ...], xp: Any) -> None:
        self._layout, self._piece = layout, layout.piece
        self.size = len(pieces) * layout.piece
        slots = np.full(layout.n_pieces, -1, dtype=np.int64)
        slots[list(pieces)] = np.arange(len(pieces))
        self._slot_of = dict(zip(pieces, range(len(pieces)), strict=True))
        self._slots = xp.asarray(slots)
        firsts = np.array(pieces, dtype=np.int64) * layout.piece
        self.first = xp.asarray(firsts.astype(np.uint32))
        self._firsts = xp.asarray(firsts)
        self._xp = xp

    def local(self, vertices: Any) -> Any:
        """Return the local numbers of vertices, int64; -1 for those of other ranks."""
        places = self._layout.places(vertices)
        slots = self._slots[places // self._piece]
        return self._xp.where(slots < 0, -1, slots * self._piece + places % self._piece)

    def local_of(self, vertex: int) -> int:
        """Return the local number of one vertex, or -1, without using the device."""
        piece, place = divmod(self._layout.place_of(vertex), self._piece)
        slot = self._slot_of.get(piece)
        return -1 if slot is None else slot * self._piece + place

    def vertices(self, part: slice = slice(None)) -> Any:
        """Return the vertices of all local numbers, or of a slice of them, int64, also beyond the graph's."""
        numbers = self._xp.arange(*part.indices(self.size), dtype=np.int64)
        return self._layout.at_places(self._firsts[numbers // self._piece] + numbers % self._piece)


@dataclass(frozen=True, eq=False)
class Rows:
    """CSR arrays of local numbers: offsets, int64, targets ascending within a row and weights, uint32."""

    offsets: Any
    targets: Any
    weights: Any = None

    def row_of_arcs(self, xp: Any, begin: int = 0, end: int | None = None) -> Any:
        """Return the row of each arc, or of those from `begin` to `end` - 1, uint32."""
        arcs = xp.arange(begin, len(self.targets) if end is None else end, dtype=np.int64)
        return (xp.searchsorted(self.offsets, arcs, side="right") - 1).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Block:
    """A rank's part of a graph.

    `out` has the heads of each tail's arcs, `into` the tails of each head's without weights; with weights
    only the offsets, since searches for shortest paths read no more. `degrees` are
    the outgoing arcs of each owned vertex in the whole graph, which has `n_arcs`. `ends`, of shape
    (heads.size,) or None, counts the ends of this rank's tuples of the edge list at each head; the sum over
    the ranks is :attr:`relaxometer.graphs.graph.Graph.input_degrees`. `metadata` is the same on every rank.
    """

    name: str
    layout: Layout
    device: Device
    heads: Numbering
    tails: Numbering
    owned: Numbering
    into: Rows
    out: Rows
    degrees: Any
    n_arcs: int
    ends: Any
    metadata: dict[str, Any]

    @property
    def n_vertices(self) -> int:
        """Vertices of the whole graph."""
        return self.layout.n_vertices

    @property
    def bytes(self) -> int:
        """Bytes of the CSR arrays."""
        arrays = {id(a): a for rows in (self.into, self.out) for a in vars(rows).values() if a is not None}
        return sum(int(array.nbytes) for array in arrays.values())
