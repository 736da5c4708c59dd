"""Dijkstra's algorithm around many origins on all cores, each until its targets are settled, with a proof.

The vertices that a search has settled are a ball: all that are nearer than its radius. The search is the
variant ``dijkstra-cpu``; :func:`_is_proven` shows from the graph alone that the distances in a ball are
right, so the certificate of every variant rests on it, and not on the search.

All compiled functions are in this module: Numba's cache does not see that one of another file has changed.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import get_num_threads, njit, prange

Words = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int64]
UNREACHED = np.uint32(2**32 - 1)
LOW = np.uint64(32)
ARITY = 4  # children per node of the heap: fewer levels than two, and siblings share a cache line


class Csr(NamedTuple):
    """The arrays of a graph."""

    offsets: Ints
    targets: Words
    weights: Words


class Ball(NamedTuple):
    """Labels of a search by vertex, and its lists.

    `place` is that among the settled vertices, -1 for others. `heap` has entries distance << 32 | vertex.
    """

    distance: Words
    predecessor: Words
    place: Ints
    settled: Words
    heap: npt.NDArray[np.uint64]


class Pairs(NamedTuple):
    """Queries grouped by origin: group g has the queries `order[starts[g]]` to `order[starts[g + 1] - 1]`."""

    order: Ints
    starts: Ints
    origins: Words
    targets: Words


class Paths(NamedTuple):
    """Room for paths: a row per thread, and by query its begin in the flattened rows and its size."""

    rows: Words
    begins: Ints
    sizes: Words


def grouped(origins: Words, targets: Words) -> Pairs:
    """Group queries by origin."""
    order = np.argsort(origins, kind="stable")
    ordered = origins[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - np.uint32(1)))
    return Pairs(order, np.append(starts, len(order)).astype(np.int64), origins, targets)


def no_paths(count: int, threads: int, room: int) -> Paths:
    """Return the room for the paths of queries, if `room` is not 0."""
    listed = count * (room > 0)
    return Paths(
        np.empty((threads, room), np.uint32), np.zeros(listed, np.int64), np.zeros(listed, np.uint32)
    )


def distances(csr: Csr, pairs: Pairs, cutoff: int) -> tuple[Words, bool]:
    """Return the distances of queries, and whether all are proven; `UNREACHED` beyond the cutoff."""
    found = np.empty(len(pairs.origins), dtype=np.uint32)
    is_proven = np.zeros(len(pairs.starts) - 1, dtype=np.bool_)
    nothing = Paths(np.empty((0, 0), np.uint32), np.empty(0, np.int64), np.empty(0, np.uint32))
    _search_all(csr, pairs, np.uint64(cutoff), threads_for(pairs), found, nothing, True, is_proven)
    return found, bool(is_proven.all())


def threads_for(pairs: Pairs) -> int:
    """Return how many threads are of use."""
    return max(1, min(get_num_threads(), len(pairs.starts) - 1))


def search(csr: Csr, pairs: Pairs, cutoff: int, room: int) -> tuple[Words, Paths, bool]:
    """Answer queries without a proof: return distances, paths, and whether there was room for all paths.

    Paths longer than `cutoff` count as none. A thread has room for `room` vertices of paths, 0 if not wanted.
    """
    count = len(pairs.origins)
    threads = threads_for(pairs)
    paths = no_paths(count, threads, room)
    found = np.empty(count, dtype=np.uint32)
    fits = _search_all(csr, pairs, np.uint64(cutoff), threads, found, paths, False, np.empty(0, np.bool_))
    return found, paths, bool(fits)


def listed(paths: Paths) -> Words:
    """Return the vertices of all paths, query after query."""
    return _listed(paths.rows.ravel(), paths.begins, paths.sizes, int(paths.sizes.sum(dtype=np.int64)))


def vertices_of_ranks(offsets: Ints, targets: Words, weights: Words, origins: Words, ranks: Ints) -> Ints:
    """Return the vertices that Dijkstra's algorithm settles as the given ones after each origin.

    Ranks ascend from 1. The result has shape (n_origins, n_ranks), and -1 where fewer vertices can be
    reached. Of equally far vertices, the smallest is settled first, so the number of cores plays no part.
    """
    threads = max(1, min(get_num_threads(), len(origins)))
    return _settle(Csr(offsets, targets, weights), origins, ranks, threads)


@njit(cache=True)
def _push(heap: Any, size: int, entry: Any) -> None:
    """Add an entry to the first `size` words of `heap`."""
    k = size
    while k > 0 and heap[(k - 1) // ARITY] > entry:
        heap[k] = heap[(k - 1) // ARITY]
        k = (k - 1) // ARITY
    heap[k] = entry


@njit(cache=True)
def _pop(heap: Any, size: int) -> Any:
    """Take the smallest entry out of the first `size` words of `heap`."""
    top, last, k = heap[0], heap[size - 1], 0
    while ARITY * k + 1 < size - 1:
        least = ARITY * k + 1
        for child in range(least + 1, min(least + ARITY, size - 1)):
            if heap[child] < heap[least]:
                least = child
        if heap[least] >= last:
            break
        heap[k] = heap[least]
        k = least
    heap[k] = last
    return top


@njit(cache=True)
def _new_ball(n_vertices: int, n_arcs: int) -> Any:
    return Ball(
        np.full(n_vertices, UNREACHED, dtype=np.uint32),
        np.empty(n_vertices, dtype=np.uint32),
        np.full(n_vertices, -1, dtype=np.int64),
        np.empty(n_vertices, dtype=np.uint32),
        np.empty(n_arcs + 1, dtype=np.uint64),
    )


@njit(cache=True)
def _grow(csr: Any, ball: Any, origin: Any, cutoff: Any, is_wanted: Any, n_wanted: int) -> Any:
    """Settle vertices until `n_wanted` wanted ones are; return their number, and the entries left."""
    ball.distance[origin] = 0
    ball.predecessor[origin] = origin
    ball.heap[0] = origin
    size, n_settled = 1, 0
    while size > 0 and n_wanted > 0:
        entry = _pop(ball.heap, size)
        size -= 1
        v = np.uint32(entry)
        if ball.place[v] >= 0:
            continue
        ball.place[v] = n_settled
        ball.settled[n_settled] = v
        n_settled += 1
        n_wanted -= is_wanted[v]
        for i in range(csr.offsets[v], csr.offsets[v + 1]):
            length = np.uint64(ball.distance[v]) + np.uint64(csr.weights[i])
            head = csr.targets[i]
            if length <= cutoff and length < np.uint64(ball.distance[head]):
                ball.distance[head] = np.uint32(length)
                ball.predecessor[head] = v
                _push(ball.heap, size, length << LOW | np.uint64(head))
                size += 1
    return n_settled, size


@njit(cache=True)
def _forget(ball: Any, n_settled: int, size: int) -> None:
    """Take back all labels of a search; those that are not settled have entries in the heap."""
    for k in range(n_settled):
        ball.distance[ball.settled[k]] = UNREACHED
        ball.place[ball.settled[k]] = -1
    for k in range(size):
        ball.distance[np.uint32(ball.heap[k])] = UNREACHED


@njit(cache=True)
def _is_proven(csr: Any, ball: Any, origin: Any, n_settled: int, radius: Any, is_tight: Any) -> bool:
    """Return whether the distances of settled vertices are right, and no other vertex is within the radius.

    Let d be the distance in the ball and `radius` outside. If d = 0 at the origin, and no arc u -> v of
    weight w has d(v) > d(u) + w, then no path to v is shorter than d(v) (Ahuja, Magnanti and Orlin, "Network
    Flows", theorem 5.1). An arc is tight if d(v) = d(u) + w. If every settled vertex but the origin has one
    from a vertex settled before it, a path of length d(v) leads to each, also along arcs of weight zero.
    """
    if n_settled == 0 or ball.settled[0] != origin or ball.distance[origin] != 0:
        return False
    for k in range(n_settled):
        v = ball.settled[k]
        if ball.place[v] != k or np.uint64(ball.distance[v]) > radius:
            return False
        is_tight[k] = k == 0
    for k in range(n_settled):
        u = ball.settled[k]
        for i in range(csr.offsets[u], csr.offsets[u + 1]):
            v = csr.targets[i]
            place = ball.place[v]
            length = np.uint64(ball.distance[u]) + np.uint64(csr.weights[i])
            if not (0 <= place < n_settled and ball.settled[place] == v):
                if length < radius:
                    return False
            elif length < np.uint64(ball.distance[v]):
                return False
            elif length == np.uint64(ball.distance[v]) and place > k:
                is_tight[place] = True
    return bool(is_tight[:n_settled].all())


@njit(cache=True)
def _keep_path(ball: Any, target: Any, row: Any, used: int) -> int:
    """Write the path to a settled target into a row; return the row's new end, or -1 if it is too short."""
    size, v = 1, target
    while ball.predecessor[v] != v:
        v = ball.predecessor[v]
        size += 1
    if used + size > len(row):
        return -1
    v = target
    for k in range(used + size - 1, used - 1, -1):
        row[k] = v
        v = ball.predecessor[v]
    return used + size


@njit(cache=True)
def _answer(ball: Any, pairs: Any, first: int, last: int, found: Any, paths: Any, t: int, used: int) -> int:
    """Write the answers of a group's queries; return the new end of the thread's row, -1 if too short."""
    for k in range(first, last):
        query = pairs.order[k]
        target = pairs.targets[query]
        is_settled = ball.place[target] >= 0
        found[query] = ball.distance[target] if is_settled else UNREACHED
        if len(paths.sizes) and is_settled:
            end = _keep_path(ball, target, paths.rows[t], used)
            if end < 0:
                return -1
            paths.begins[query] = t * paths.rows.shape[1] + used
            paths.sizes[query] = end - used
            used = end
    return used


@njit(cache=True)
def _mark(pairs: Any, first: int, last: int, is_wanted: Any, mark: bool) -> int:
    """Mark the targets of a group, or take the marks back; return how many vertices they are."""
    count = 0
    for k in range(first, last):
        target = pairs.targets[pairs.order[k]]
        count += is_wanted[target] != mark
        is_wanted[target] = mark
    return count


@njit(parallel=True, cache=True)
def _search_all(
    csr: Any, pairs: Any, cutoff: Any, threads: int, found: Any, paths: Any, prove: bool, is_proven: Any
) -> bool:
    n = len(csr.offsets) - 1
    fits = np.ones(threads, dtype=np.bool_)
    for t in prange(threads):
        ball = _new_ball(n, len(csr.targets))
        is_wanted = np.zeros(n, dtype=np.bool_)
        is_tight = np.zeros(n if prove else 0, dtype=np.bool_)
        used = 0
        for g in range(t, len(pairs.starts) - 1, threads):
            first, last = pairs.starts[g], pairs.starts[g + 1]
            origin = pairs.origins[pairs.order[first]]
            n_wanted = _mark(pairs, first, last, is_wanted, True)
            n_settled, size = _grow(csr, ball, origin, cutoff, is_wanted, n_wanted)
            _mark(pairs, first, last, is_wanted, False)
            used = _answer(ball, pairs, first, last, found, paths, t, used)
            if prove:
                # If a target is not settled, it must be further than the cutoff.
                radius = np.uint64(ball.distance[ball.settled[n_settled - 1]])
                for k in range(first, last):
                    if ball.place[pairs.targets[pairs.order[k]]] < 0:
                        radius = cutoff + np.uint64(1)
                is_proven[g] = _is_proven(csr, ball, origin, n_settled, radius, is_tight)
            if used < 0:
                fits[t] = False
                break
            _forget(ball, n_settled, size)
    return bool(fits.all())


@njit(cache=True)
def _listed(rows: Any, begins: Any, sizes: Any, total: int) -> Any:
    vertices = np.empty(total, dtype=np.uint32)
    at = 0
    for query in range(len(sizes)):
        for k in range(sizes[query]):
            vertices[at] = rows[begins[query] + k]
            at += 1
    return vertices


@njit(parallel=True, cache=True)
def _settle(csr: Any, origins: Any, ranks: Any, threads: int) -> Any:
    """Return the vertices of the given ranks around each origin, -1 where there are none."""
    n = len(csr.offsets) - 1
    found = np.full((len(origins), len(ranks)), -1, dtype=np.int64)
    is_wanted = np.ones(n, dtype=np.bool_)
    n_wanted = min(ranks[-1] + 1, n)
    for t in prange(threads):
        ball = _new_ball(n, len(csr.targets))
        for k in range(t, len(origins), threads):
            n_settled, size = _grow(csr, ball, origins[k], np.uint64(UNREACHED - 1), is_wanted, n_wanted)
            for r in range(len(ranks)):
                if ranks[r] < n_settled:
                    found[k, r] = ball.settled[ranks[r]]
            _forget(ball, n_settled, size)
    return found
