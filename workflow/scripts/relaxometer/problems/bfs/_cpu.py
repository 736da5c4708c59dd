"""The levels of a breadth-first search on all cores of the CPU, compiled with Numba.

The same two directions as on a GPU, over the same bitmaps: vertex v is bit v % 32 of word v / 32. Where
threads meet, words are changed atomically, so that every vertex is found once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from relaxometer.problems.bfs._incoming import incoming

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

CHUNK = 64
"""Vertices of a frontier, or words of a bitmap, that a thread takes in one go."""

HELD = 1024
"""Vertices that a thread finds before it adds them to the next frontier."""

FOUND, ARCS, EXAMINED = range(3)
"""Words of a level's counts: vertices found, arcs that leave them, arcs examined."""

_ALL = np.uint32(2**32 - 1)


def _atomic(operation: str) -> Any:
    """Return a function (array, index, value) that changes an element atomically and gives what was there."""

    @intrinsic
    def change(typing_context, array, index, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            array_type = signature.args[0]
            view = make_array(array_type)(context, builder, arguments[0])
            pointer = cgutils.get_item_pointer(context, builder, array_type, view, [arguments[1]])
            return builder.atomic_rmw(operation, pointer, arguments[2], "monotonic")

        return array.dtype(array, types.intp, array.dtype), generate

    return change


_fetch_or = _atomic("or")
_fetch_add = _atomic("add")


@njit(cache=True)
def _bit(v: int) -> np.uint32:
    return np.uint32(np.uint32(1) << np.uint32(v & 31))


@njit(parallel=True, cache=True)
def top_down(
    offsets: np.ndarray,
    targets: np.ndarray,
    frontier: np.ndarray,
    size: int,
    depth: int,
    visited: np.ndarray,
    level: np.ndarray,
    predecessor: np.ndarray,
    found: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Search from the first `size` vertices of the list `frontier`; what is found is listed in `found`."""
    counts[:] = 0
    for chunk in prange((size + CHUNK - 1) // CHUNK):
        held, arcs, examined = 0, 0, 0
        buffer = np.empty(HELD, dtype=np.uint32)
        for k in range(chunk * CHUNK, min((chunk + 1) * CHUNK, size)):
            u = frontier[k]
            examined += offsets[u + 1] - offsets[u]
            for i in range(offsets[u], offsets[u + 1]):
                v = targets[i]
                if visited[v >> 5] & _bit(v) or _fetch_or(visited, v >> 5, _bit(v)) & _bit(v):
                    continue
                level[v] = depth + 1
                predecessor[v] = u
                arcs += offsets[v + 1] - offsets[v]
                buffer[held] = v
                held += 1
                if held == HELD:
                    at = _fetch_add(counts, FOUND, HELD)
                    found[at : at + HELD] = buffer
                    held = 0
        at = _fetch_add(counts, FOUND, held)
        found[at : at + held] = buffer[:held]
        _fetch_add(counts, ARCS, arcs)
        _fetch_add(counts, EXAMINED, examined)


@njit(parallel=True, cache=True)
def bottom_up(
    offsets: np.ndarray,
    targets: np.ndarray,
    first_word: int,
    last_word: int,
    frontier: np.ndarray,
    depth: int,
    visited: np.ndarray,
    level: np.ndarray,
    predecessor: np.ndarray,
    following: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Search for the vertices of a range of words; what is found is written to `following`."""
    counts[:] = 0
    for chunk in prange((last_word - first_word + CHUNK - 1) // CHUNK):
        n_found, examined = 0, 0
        begin = first_word + chunk * CHUNK
        for word in range(begin, min(begin + CHUNK, last_word)):
            found = np.uint32(0)
            for v in range(word * 32, word * 32 + 32 if visited[word] != _ALL else 0):
                if visited[word] & _bit(v):
                    continue
                for i in range(offsets[v], offsets[v + 1]):
                    u = targets[i]
                    examined += 1
                    if frontier[u >> 5] & _bit(u):
                        level[v] = depth + 1
                        predecessor[v] = u
                        found |= _bit(v)
                        n_found += 1
                        break
            visited[word] |= found
            following[word] = found
        _fetch_add(counts, FOUND, n_found)
        _fetch_add(counts, EXAMINED, examined)


@njit(parallel=True, cache=True)
def list_bitmap(
    bitmap: np.ndarray, first_word: int, last_word: int, listed: np.ndarray, counts: np.ndarray
) -> None:
    """Write the vertices in a range of words into `listed`, in the order in which threads get there."""
    counts[:] = 0
    for chunk in prange((last_word - first_word + CHUNK - 1) // CHUNK):
        held = 0
        buffer = np.empty(CHUNK * 32, dtype=np.uint32)
        begin = first_word + chunk * CHUNK
        for word in range(begin, min(begin + CHUNK, last_word)):
            for v in range(word * 32, word * 32 + 32 if bitmap[word] else 0):
                if bitmap[word] & _bit(v):
                    buffer[held] = v
                    held += 1
        at = _fetch_add(counts, FOUND, held)
        listed[at : at + held] = buffer[:held]


@njit(parallel=True, cache=True)
def mark_listed(listed: np.ndarray, size: int, bitmap: np.ndarray) -> None:
    """Put the first `size` vertices of a list into a bitmap."""
    for k in prange(size):
        v = listed[k]
        _fetch_or(bitmap, v >> 5, _bit(v))


@njit(parallel=True, cache=True)
def merge(
    one: np.ndarray, other: np.ndarray, offsets: np.ndarray, visited: np.ndarray, counts: np.ndarray
) -> None:
    """Add the bitmap `other` to `one`, and both to `visited`; count their vertices and those' arcs."""
    counts[:] = 0
    for chunk in prange((len(one) + CHUNK - 1) // CHUNK):
        n_found, arcs = 0, 0
        for word in range(chunk * CHUNK, min((chunk + 1) * CHUNK, len(one))):
            one[word] |= other[word]
            visited[word] |= one[word]
            for v in range(word * 32, word * 32 + 32 if one[word] else 0):
                if one[word] & _bit(v):
                    n_found += 1
                    arcs += offsets[v + 1] - offsets[v]
        _fetch_add(counts, FOUND, n_found)
        _fetch_add(counts, ARCS, arcs)


Rows = tuple[Any, Any]
"""Offsets and targets of a CSR graph in host memory."""


def compile_for(out: Rows, into: Rows) -> None:
    """Compile everything for arrays of these types, so that no search waits for it."""
    nothing, counts = np.zeros(0, dtype=np.uint32), np.zeros(3, dtype=np.int64)
    top_down(*out, nothing, 0, 0, nothing, nothing, nothing, nothing, counts)
    bottom_up(*into, 0, 0, nothing, 0, nothing, nothing, nothing, nothing, counts)
    list_bitmap(nothing, 0, 0, nothing, counts)
    mark_listed(nothing, 0, nothing)
    merge(nothing, nothing, out[0], nothing, counts)


def host_rows(graph: ResidentGraph) -> tuple[Rows, Rows]:
    """Return the arcs that leave each vertex and those that enter it, in host memory, everything compiled."""
    out = graph.host.offsets, graph.host.targets
    offsets, tails = incoming(graph)
    is_own = offsets is graph.offsets
    into = out if is_own else (graph.device.asnumpy(offsets), graph.device.asnumpy(tails))
    compile_for(out, into)
    return out, into
