"""Vertex separators of parts of a graph, by a maximum flow between the ends of the part.

The vertices of a part are sorted by their distance from one end less that from the other, both found by
breadth-first search. The fewest vertices that separate the first fifth from the last are found exactly: they
are as many as there are paths without a common vertex (Menger), which a depth-first search finds one by one.

Schild and Sommer, "On Balanced Separators in Road Networks", SEA 2015: the same by coordinates.

Functions release Python's lock. Those of parts that no edge joins may run at once on the same arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit

Small = npt.NDArray[np.int32]
# Compiled functions take this as an argument: numba's cache does not see a changed value.
SHARE = 0.2  # of a part, at least, is on either side of its separator
_OUTSIDE, _FIRST, _MIDDLE, _LAST, _SEPARATOR = range(-1, 4)  # zones of a vertex
_NOBODY, _ORIGIN, _GOAL = -1, -2, -3  # before or after a vertex on a path of the flow


class Scratch(NamedTuple):
    """What is known of each vertex while the parts of a graph are cut; parts use their own elements."""

    label: Small  # of the vertex's part; negative in a separator
    near: Small  # distance from one end of the part, and then the key that its vertices are sorted by
    far: Small  # distance from the other end
    zone: npt.NDArray[np.int8]
    before: Small  # the vertex before on a path of the flow
    after: Small  # and after it
    entered: Small  # the last round of searches that reached the vertex
    left: Small  # and the last one that could leave it to any neighbour
    cursor: Small  # the next neighbour to try, twice the degree and one more at the end
    order: Small  # by place of a part's vertices
    stack: Small  # two words by place
    via: Small


def scratch(n: int) -> Scratch:
    """Return arrays for a graph of `n` vertices, all of part 0."""
    label, zone = np.zeros(n, dtype=np.int32), np.full(n, _OUTSIDE, dtype=np.int8)
    near, far, before, after, entered, left, cursor, order, stack, via = np.empty((10, n), dtype=np.int32)
    return Scratch(label, near, far, zone, before, after, entered, left, cursor, order, stack, via)


@njit(cache=True, nogil=True)
def cut(offsets: Any, adjacent: Any, vertices: Any, begin: int, own: Any, share: float) -> Any:
    """Sort a part's vertices by side, those of a separator last; return the sizes of both sides.

    `begin` is the place of the part's first vertex among those of all parts. A part that is not connected
    falls into its largest component and the others.
    """
    n = len(vertices)
    order = own.order[begin : begin + n]
    largest, end = _largest_component(offsets, adjacent, vertices, order, own)
    if largest < n:
        _sort_by_zone(vertices, order, own.zone, largest, n - largest)
        return largest, n - largest
    _sort_between_ends(offsets, adjacent, vertices, order, own, end)
    low, high = int(share * n), n - int(share * n)
    for k in range(n):
        own.zone[order[k]] = _FIRST if k < low else (_MIDDLE if k < high else _LAST)
    middle = order[low:high]
    if _touch(offsets, adjacent, order[:low], own.zone):
        first, last = _take_border(offsets, adjacent, order, own.zone)
    else:
        stack = own.stack[begin : begin + n], own.via[begin : begin + n]
        size = _maximize_flow(offsets, adjacent, middle, own, stack)
        first, last = _label_sides(offsets, adjacent, middle, own, low, n - high, size)
    _sort_by_zone(vertices, order, own.zone, first, last)
    return first, last


@njit(cache=True, nogil=True)
def search(offsets: Any, adjacent: Any, begin: int, label: Any, distance: Any, queue: Any) -> int:
    """Search a part breadth first from a vertex; return how many vertices it reached.

    `distance` is -1 where the search may go, and `queue` gets the vertices in order.
    """
    own = label[begin]
    queue[0], distance[begin] = begin, 0
    head, size = 0, 1
    while head < size:
        v = queue[head]
        head += 1
        for i in range(offsets[v], offsets[v + 1]):
            u = adjacent[i]
            if distance[u] < 0 and label[u] == own:
                distance[u] = distance[v] + 1
                queue[size] = u
                size += 1
    return size


@njit(cache=True, nogil=True)
def _largest_component(offsets: Any, adjacent: Any, vertices: Any, queue: Any, own: Any) -> Any:
    """Return the size of a part's largest component, in zone `_FIRST`, and the vertex that was found last."""
    for v in vertices:
        own.near[v] = -1
    root, largest, end = vertices[0], 0, vertices[0]
    for v in vertices:
        if own.near[v] < 0:
            size = search(offsets, adjacent, v, own.label, own.near, queue)
            if size > largest:
                root, largest, end = v, size, queue[size - 1]
    if largest < len(vertices):
        for v in vertices:
            own.near[v], own.zone[v] = -1, _LAST
        search(offsets, adjacent, root, own.label, own.near, queue)
        for k in range(largest):
            own.zone[queue[k]] = _FIRST
    return largest, end


@njit(cache=True, nogil=True)
def _sort_between_ends(offsets: Any, adjacent: Any, vertices: Any, order: Any, own: Any, end: int) -> None:
    """Put a connected part's vertices in order from one end of it to another, and the keys into `near`."""
    n = len(vertices)
    for v in vertices:
        own.near[v] = own.far[v] = -1
    search(offsets, adjacent, end, own.label, own.near, order)
    other = order[n - 1]
    search(offsets, adjacent, other, own.label, own.far, order)
    longest = own.near[other]
    counts = np.zeros(2 * longest + 2, dtype=np.int64)
    for v in vertices:
        own.near[v] += longest - own.far[v]
        counts[own.near[v] + 1] += 1
    counts = np.cumsum(counts)
    for v in vertices:
        order[counts[own.near[v]]] = v
        counts[own.near[v]] += 1


@njit(cache=True, nogil=True)
def _touch(offsets: Any, adjacent: Any, first: Any, zone: Any) -> bool:
    for v in first:
        for i in range(offsets[v], offsets[v + 1]):
            if zone[adjacent[i]] == _LAST:
                return True
    return False


@njit(cache=True, nogil=True)
def _take_border(offsets: Any, adjacent: Any, order: Any, zone: Any) -> Any:
    """Separate the halves of a part by vertices of the first; return what is left of them."""
    n = len(order)
    for k in range(n):
        zone[order[k]] = _FIRST if k < n // 2 else _LAST
    size = 0
    for v in order[: n // 2]:
        for i in range(offsets[v], offsets[v + 1]):
            if zone[adjacent[i]] == _LAST:
                zone[v] = _SEPARATOR
                size += 1
                break
    return n // 2 - size, n - n // 2


@njit(cache=True, nogil=True)
def _maximize_flow(offsets: Any, adjacent: Any, middle: Any, own: Any, stack: Any) -> int:
    """Find the most paths without a common vertex from zone `_FIRST` through the middle to `_LAST`.

    `before` and `after` are set to them, `entered` and `left` where another path would come to from the first
    zone, 1 or less, or 0 if it would not.
    """
    before, after, entered, left = own.before, own.after, own.entered, own.left
    starts = np.empty(len(middle), dtype=np.int32)
    n_starts = 0
    for v in middle:
        before[v] = after[v] = _NOBODY
        entered[v] = left[v] = 0
        for i in range(offsets[v], offsets[v + 1]):
            if own.zone[adjacent[i]] == _FIRST:
                starts[n_starts] = v
                n_starts += 1
                break
    size, found, n_round = 0, 1, 0
    while found > 0:  # vertices that led nowhere are not tried again in a round
        found = 0
        n_round += 1
        for start in starts[:n_starts]:
            if entered[start] != n_round and _find_path(offsets, adjacent, start, n_round, own, stack):
                found += 1
        size += found
    for v in middle:
        entered[v] = entered[v] == n_round
        left[v] = left[v] == n_round
    return size


@njit(cache=True, nogil=True)
def _find_path(offsets: Any, adjacent: Any, start: int, n_round: int, own: Any, stack: Any) -> bool:
    """Add a path that begins with a vertex to the flow, if there is one, depth first.

    The stack holds vertices that may be left to any neighbour, and the vertices that were entered for it:
    mostly the same. If there is flow through that one, it is the vertex before it that can be left, as the
    new path takes the place of the old one there.
    """
    before, after, entered, left, cursor = own.before, own.after, own.entered, own.left, own.cursor
    on_stack, via = stack
    entered[start] = n_round
    v = start if before[start] == _NOBODY else before[start]
    if v == _ORIGIN or left[v] == n_round:
        return False
    left[v], cursor[v] = n_round, -1
    on_stack[0], via[0], top = v, start, 0
    while top >= 0:
        v = on_stack[top]
        begin, degree = offsets[v], offsets[v + 1] - offsets[v]
        if cursor[v] < 0:
            for i in range(begin, begin + degree):
                if own.zone[adjacent[i]] == _LAST:
                    _augment(on_stack, via, top, before, after)
                    return True
            cursor[v] = 0
        next_v, u = -1, v
        while cursor[v] <= 2 * degree and next_v < 0:
            k = cursor[v]
            cursor[v] += 1
            if k == 2 * degree:  # back along the flow through v
                u = v
                if before[v] == _NOBODY:
                    continue
            else:  # first neighbours that are nearer to the last zone, then the others
                u = adjacent[begin + k % degree]
                if own.zone[u] != _MIDDLE or (own.near[u] > own.near[v]) != (k < degree):
                    continue
            if entered[u] == n_round:
                continue
            entered[u] = n_round
            w = u if before[u] == _NOBODY else before[u]
            if w != _ORIGIN and left[w] != n_round:
                next_v = w
        if next_v < 0:
            top -= 1
            continue
        left[next_v], cursor[next_v] = n_round, -1
        top += 1
        on_stack[top], via[top] = next_v, u
    return False


@njit(cache=True, nogil=True)
def _augment(on_stack: Any, via: Any, top: int, before: Any, after: Any) -> None:
    last = _ORIGIN
    for k in range(top + 1):
        u = via[k]
        if u == last:  # no path leads through it any more
            before[u] = after[u] = _NOBODY
        else:
            before[u] = last
            if last != _ORIGIN:
                after[last] = u
        last = on_stack[k]
    after[last] = _GOAL


@njit(cache=True, nogil=True)
def _label_sides(offsets: Any, adjacent: Any, middle: Any, own: Any, first: int, last: int, size: int) -> Any:
    """Put the middle into zones by the separator near the first zone or the last, whichever is more even.

    Returns the sizes of the two sides; before, they are `first` and `last`.
    """
    entered, left, zone = own.entered, own.left, own.zone
    n = first + len(middle) + last
    nearer = first
    for v in middle:
        nearer += entered[v] + left[v] == 2
    _search_back(offsets, adjacent, middle, own)
    further = last
    for v in middle:
        further += own.cursor[v] == 3
    if min(nearer, n - size - nearer) >= min(further, n - size - further):
        for v in middle:
            states = entered[v] + left[v]
            zone[v] = _FIRST if states == 2 else (_SEPARATOR if states == 1 else _LAST)
        return nearer, n - size - nearer
    for v in middle:
        zone[v] = _LAST if own.cursor[v] == 3 else (_FIRST if own.cursor[v] == 0 else _SEPARATOR)
    return n - size - further, further


@njit(cache=True, nogil=True)
def _search_back(offsets: Any, adjacent: Any, middle: Any, own: Any) -> None:
    """Set `cursor` where another path could go on to the last zone: 1 if entered, 2 if left, 3 if both."""
    state, zone, before, after = own.cursor, own.zone, own.before, own.after
    for v in middle:
        state[v] = 0
    waiting = [np.int32(0) for _ in range(0)]
    for v in middle:
        for i in range(offsets[v], offsets[v + 1]):
            if zone[adjacent[i]] == _LAST:
                state[v] |= 2
                waiting.append(2 * v + 1)
                break
    while len(waiting) > 0:
        x = waiting.pop()
        v = x >> 1
        if x & 1:  # who could be left was entered, or the vertex after it on its path was
            u = v if before[v] == _NOBODY else after[v]
            if u >= 0 and not state[u] & 1:
                state[u] |= 1
                waiting.append(2 * u)
            continue
        if before[v] != _NOBODY and not state[v] & 2:
            state[v] |= 2
            waiting.append(2 * v + 1)
        for i in range(offsets[v], offsets[v + 1]):
            u = adjacent[i]
            if zone[u] == _MIDDLE and not state[u] & 2:
                state[u] |= 2
                waiting.append(2 * u + 1)


@njit(cache=True, nogil=True)
def _sort_by_zone(vertices: Any, order: Any, zone: Any, first: int, last: int) -> None:
    """Sort a part's vertices by side, the separator last; they leave their zones."""
    ends = [0, first, first + last]
    for v in vertices:
        k = 0 if zone[v] == _FIRST else (1 if zone[v] == _LAST else 2)
        order[ends[k]] = v
        ends[k] += 1
        zone[v] = _OUTSIDE
    vertices[:] = order
