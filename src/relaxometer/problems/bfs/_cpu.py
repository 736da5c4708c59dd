"""The levels of a breadth-first search on all cores of the CPU, compiled with Numba.

Both directions use the bitmaps of the GPU: vertex v is bit v % 32 of word v / 32. Threads change shared words
atomically, so that every vertex is found once.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from relaxometer.core.compiled import njit, prange
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.bfs._incoming import incoming

CHUNK = 64  # vertices of a frontier, or words of a bitmap, that a thread takes at a time
HELD = 1024  # vertices that a thread finds before it adds them to the next frontier
FOUND, ARCS, EXAMINED = range(3)
"""Words of a level's counts: vertices found, arcs that leave them, arcs examined."""

_ALL = np.uint32(2**32 - 1)


class Rows(NamedTuple):
    """A CSR graph in host memory."""

    offsets: np.ndarray
    targets: np.ndarray


class Found(NamedTuple):
    """Bitmap of the visited vertices, and their levels and predecessors, shape (n_vertices,), uint32."""

    visited: np.ndarray
    level: np.ndarray
    predecessor: np.ndarray


def _atomic(operation: str) -> Any:
    """Return a function (array, index, value) that updates an element atomically and returns the old one."""

    @intrinsic
    def change(typing_context, array, index, value):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            array_type = signature.args[0]
            view = make_array(array_type)(context, builder, arguments[0])  # type: ignore[no-untyped-call]
            pointer = cgutils.get_item_pointer(context, builder, array_type, view, [arguments[1]])  # type: ignore[no-untyped-call]
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
    rows: Rows,
    frontier: np.ndarray,
    size: int,
    depth: int,
    state: Found,
    leaving: np.ndarray | None,
    found: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Search from the first `size` of a list; append to `found`, counting arcs by `leaving`, if given."""
    offsets, targets = rows
    visited, level, predecessor = state
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
                if leaving is not None:
                    arcs += leaving[v + 1] - leaving[v]
                buffer[held] = v
                held += 1
                if held == HELD:
                    _append(buffer, held, found, counts)
                    held = 0
        _append(buffer, held, found, counts)
        _fetch_add(counts, ARCS, arcs)
        _fetch_add(counts, EXAMINED, examined)


@njit(cache=True)
def _append(buffer: np.ndarray, size: int, listed: np.ndarray, counts: np.ndarray) -> None:
    """Append the first `size` vertices of a buffer to a list."""
    at = _fetch_add(counts, FOUND, size)
    listed[at : at + size] = buffer[:size]


@njit(cache=True)
def _first_hit(targets: np.ndarray, begin: int, end: int, frontier: np.ndarray) -> int:
    """Return the first arc of a row that leads to the frontier, or `end`."""
    for i in range(begin, end):
        u = targets[i]
        if frontier[u >> 5] & _bit(u):
            return i
    return end


@njit(parallel=True, cache=True)
def bottom_up(
    rows: Rows,
    first_word: int,
    last_word: int,
    frontier: np.ndarray,
    depth: int,
    state: Found,
    following: np.ndarray,
    counts: np.ndarray,
) -> None:
    """Search for the vertices of a range of words; write those found to `following`."""
    offsets, targets = rows
    visited, level, predecessor = state
    counts[:] = 0
    for chunk in prange((last_word - first_word + CHUNK - 1) // CHUNK):
        n_found, examined = 0, 0
        begin = first_word + chunk * CHUNK
        for word in range(begin, min(begin + CHUNK, last_word)):
            found = np.uint32(0)
            for v in range(word * 32, word * 32 + 32 if visited[word] != _ALL else 0):
                if visited[word] & _bit(v):
                    continue
                end = offsets[v + 1]
                hit = _first_hit(targets, offsets[v], end, frontier)
                examined += min(hit + 1, end) - offsets[v]
                if hit < end:
                    level[v] = depth + 1
                    predecessor[v] = targets[hit]
                    found |= _bit(v)
                    n_found += 1
            visited[word] |= found
            following[word] = found
        _fetch_add(counts, FOUND, n_found)
        _fetch_add(counts, EXAMINED, examined)


@njit(parallel=True, cache=True)
def list_bitmap(
    bitmap: np.ndarray, first_word: int, last_word: int, listed: np.ndarray, counts: np.ndarray
) -> None:
    """List the vertices in a range of words, in no particular order."""
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
        _append(buffer, held, listed, counts)


@njit(parallel=True, cache=True)
def mark_listed(listed: np.ndarray, size: int, bitmap: np.ndarray) -> None:
    """Add the first `size` vertices of a list to a bitmap."""
    for k in prange(size):
        v = listed[k]
        _fetch_or(bitmap, v >> 5, _bit(v))


@njit(parallel=True, cache=True)
def merge(
    one: np.ndarray, other: np.ndarray, offsets: np.ndarray, visited: np.ndarray, counts: np.ndarray
) -> None:
    """Add the bitmap `other` to `one`, and both to `visited`; count their vertices and outgoing arcs."""
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


def compile_for(out: Rows, into: Rows) -> None:
    """Compile everything for arrays of these types, so that no search waits for it."""
    nothing, counts = np.zeros(0, dtype=np.uint32), np.zeros(3, dtype=np.int64)
    state = Found(nothing, nothing, nothing)
    top_down(out, nothing, 0, 0, state, out.offsets, nothing, counts)
    bottom_up(into, 0, 0, nothing, 0, state, nothing, counts)
    list_bitmap(nothing, 0, 0, nothing, counts)
    mark_listed(nothing, 0, nothing)
    merge(nothing, nothing, out.offsets, nothing, counts)


def host_rows(graph: ResidentGraph) -> tuple[Rows, Rows]:
    """Return the outgoing and the incoming rows in host memory, and compile the functions for them."""
    out = Rows(graph.host.offsets, graph.host.targets)
    offsets, tails = incoming(graph, compare=False)
    is_own = offsets is graph.offsets
    into = out if is_own else Rows(graph.device.asnumpy(offsets), graph.device.asnumpy(tails))
    compile_for(out, into)
    return out, into
