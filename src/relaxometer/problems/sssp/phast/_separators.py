"""Vertex separators of parts of a graph, by a maximum flow between the ends of the part.

The vertices of a part are sorted by their distance from one end less that from the other, both found by
breadth-first search. The fewest vertices that separate the first fifth from the last are found exactly: they
are as many as there are paths without a common vertex (Menger), which a depth-first search finds one by one.

Schild and Sommer, "On Balanced Separators in Road Networks", SEA 2015: the same by coordinates.

Functions release Python's lock. Those of parts that no edge joins may run at once on the same arrays.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit

Small = npt.NDArray[np.int32]
# Compiled functions take this as an argument: numba's cache does not see a changed value.
SHARE = 0.2  # of a part, at least, is on either side of its separator
_OUTSIDE, FIRST, MIDDLE, LAST, _SEPARATOR = range(-1, 4)  # zones of a vertex
_NOBODY, _ORIGIN, _GOAL = -1, -2, -3  # before or after a vertex on a path of the flow


class Scratch(NamedTuple):
    """Working arrays by vertex while the parts of a graph are cut; each part uses its own elements."""

    label: Small  # of the vertex's part; negative in a separator
    near: Small  # distance from one end of the part, and then the key that its vertices are sorted by
    far: Small  # distance from the other end
    zone: npt.NDArray[np.int8]
    before: Small  # the vertex before on a path of the flow
    after: Small  # and after it
    entered: Small  # steps to the last zone of another path that enters the vertex
    left: Small  # and of one that leaves it to any neighbour
    reached: npt.NDArray[np.int8]  # bits for the same, from the first zone
    order: Small  # by place of a part's vertices
    stack: Small  # also by place, as the next
    via: Small


@njit(cache=True, nogil=True)
def scratch(n: int) -> Any:
    """Return arrays for a graph of `n` vertices, all of part 0."""
    label, zone = np.zeros(n, dtype=np.int32), np.full(n, _OUTSIDE, dtype=np.int8)
    reached = np.empty(n, dtype=np.int8)
    w = np.empty((9, n), dtype=np.int32)
    return Scratch(label, w[0], w[1], zone, w[2], w[3], w[4], w[5], reached, w[6], w[7], w[8])


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
        sort_by_zone(vertices, order, own.zone, largest, n - largest)
        return largest, n - largest
    _sort_between_ends(offsets, adjacent, vertices, order, own, end)
    low, high = int(share * n), n - int(share * n)
    for k in range(n):
        own.zone[order[k]] = FIRST if k < low else (MIDDLE if k < high else LAST)
    middle = order[low:high]
    if len(_neighbouring(offsets, adjacent, order[:low], own.zone, LAST)) > 0:
        first, last = _take_border(offsets, adjacent, order, own.zone)
    else:
        first, last = cut_middle(offsets, adjacent, middle, begin, n, own, low, n - high)
    sort_by_zone(vertices, order, own.zone, first, last)
    return first, last


@njit(cache=True, nogil=True)
def cut_middle(
    offsets: Any, adjacent: Any, middle: Any, begin: int, n: int, own: Any, first: int, last: int
) -> Any:
    """Put the middle of a part of `n` vertices into zones by the fewest that separate `FIRST` from `LAST`.

    The two do not touch; `first` and `last` are their sizes. Returns the sizes with shares of the middle.
    """
    stack = own.stack[begin : begin + n], own.via[begin : begin + n]
    size = _maximize_flow(offsets, adjacent, middle, own, stack)
    return _label_sides(offsets, adjacent, middle, own, first, last, size)


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
    """Return the size of a part's largest component, in zone `FIRST`, and the vertex that was found last."""
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
            own.near[v], own.zone[v] = -1, LAST
        search(offsets, adjacent, root, own.label, own.near, queue)
        for k in range(largest):
            own.zone[queue[k]] = FIRST
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
def _take_border(offsets: Any, adjacent: Any, order: Any, zone: Any) -> Any:
    """Separate the halves of a part by vertices of the first; return what is left of them."""
    n = len(order)
    for k in range(n):
        zone[order[k]] = FIRST if k < n // 2 else LAST
    border = _neighbouring(offsets, adjacent, order[: n // 2], zone, LAST)
    for v in border:
        zone[v] = _SEPARATOR
    return n // 2 - len(border), n - n // 2


@njit(cache=True, nogil=True)
def _maximize_flow(offsets: Any, adjacent: Any, middle: Any, own: Any, stack: Any) -> int:
    """Find the most paths without a common vertex from zone `FIRST` through the middle to `LAST`.

    They are in `before` and `after`; `entered` and `left` are 0 where no path could go on to the last zone.
    """
    starts = _neighbouring(offsets, adjacent, middle, own.zone, FIRST)
    ends = _neighbouring(offsets, adjacent, middle, own.zone, LAST)
    queue = np.empty(2 * len(middle), dtype=np.int32)
    for v in middle:
        own.before[v] = own.after[v] = _NOBODY
    size, found = 0, 1
    while found > 0:
        found = 0
        _measure(offsets, adjacent, middle, ends, own, queue)
        for start in starts:
            if own.entered[start] > 0 and _find_path(offsets, adjacent, start, own, stack):
                found += 1
        size += found
    return size


@njit(cache=True, nogil=True)
def _neighbouring(offsets: Any, adjacent: Any, vertices: Any, zone: Any, wanted: int) -> Any:
    """Return which of some vertices have neighbours in a zone."""
    found, size = np.empty(len(vertices), dtype=np.int32), 0
    for v in vertices:
        for i in range(offsets[v], offsets[v + 1]):
            if zone[adjacent[i]] == wanted:
                found[size] = v
                size += 1
                break
    return found[:size]


@njit(cache=True, nogil=True)
def _measure(offsets: Any, adjacent: Any, middle: Any, ends: Any, own: Any, queue: Any) -> None:
    """Find how far another path would have to the last zone that entered or left a vertex, 0 if it cannot.

    A path that enters a vertex of the flow leaves the vertex before it, as it takes the place of the old one.
    """
    entered, left, before, after = own.entered, own.left, own.before, own.after
    for v in middle:
        entered[v] = left[v] = 0
    size = 0
    for v in ends:
        left[v] = 1
        queue[size] = 2 * v + 1
        size += 1
    head = 0
    while head < size:
        v, leaves = queue[head] >> 1, queue[head] & 1
        head += 1
        if leaves:
            u = v if before[v] == _NOBODY else after[v]
            if u >= 0 and entered[u] == 0:
                entered[u] = left[v] + 1
                queue[size] = 2 * u
                size += 1
            continue
        if before[v] != _NOBODY and left[v] == 0:
            left[v] = entered[v] + 1
            queue[size] = 2 * v + 1
            size += 1
        for i in range(offsets[v], offsets[v + 1]):
            u = adjacent[i]
            if own.zone[u] == MIDDLE and left[u] == 0:
                left[u] = entered[v] + 1
                queue[size] = 2 * u + 1
                size += 1


@njit(cache=True, nogil=True)
def _find_path(offsets: Any, adjacent: Any, start: int, own: Any, stack: Any) -> bool:
    """Add a path that begins with a vertex to the flow, if there is one, depth first, the nearest first.

    What it visits gets 0 in `entered` and `left`, and is not visited again until all is measured again. The
    stack holds vertices that are left, and the vertices that were entered for it: mostly the same.
    """
    entered, left, before = own.entered, own.left, own.before
    on_stack, via = stack
    top, u = -1, start
    while True:
        entered[u] = 0
        v = u if before[u] == _NOBODY else before[u]
        if v != _ORIGIN and left[v] > 0:
            top += 1
            on_stack[top], via[top] = v, u
            if left[v] == 1:
                _augment(on_stack, via, top, before, own.after)
                return True
            left[v] = 0
        u = -1
        while u < 0:
            if top < 0:
                return False
            v = on_stack[top]
            if before[v] != _NOBODY and entered[v] > 0:  # back along the flow through v
                u = v
            for i in range(offsets[v], offsets[v + 1]):
                w = adjacent[i]
                if own.zone[w] == MIDDLE and entered[w] > 0 and (u < 0 or entered[w] < entered[u]):
                    u = w
            if u < 0:
                top -= 1


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
    n, zone = first + len(middle) + last, own.zone
    reached = own.reached
    _search_on(offsets, adjacent, middle, own)
    nearer, further = first, last
    for v in middle:
        nearer += reached[v] == 3
        further += own.entered[v] > 0 and own.left[v] > 0
    if min(nearer, n - size - nearer) >= min(further, n - size - further):
        for v in middle:
            zone[v] = FIRST if reached[v] == 3 else (_SEPARATOR if reached[v] else LAST)
        return nearer, n - size - nearer
    for v in middle:
        zone[v] = FIRST if own.left[v] == 0 else (LAST if own.entered[v] > 0 else _SEPARATOR)
    return n - size - further, further


@njit(cache=True, nogil=True)
def _search_on(offsets: Any, adjacent: Any, middle: Any, own: Any) -> None:
    """Set `reached` where another path could come to: 1 if entered, 2 if left, 3 if both."""
    reached, before = own.reached, own.before
    for v in middle:
        reached[v] = 0
    waiting, size = np.empty(len(middle), dtype=np.int32), 0
    for v in _neighbouring(offsets, adjacent, middle, own.zone, FIRST):
        reached[v], waiting[size] = 1, v
        size += 1
    while size > 0:
        size -= 1
        u = waiting[size]
        v = u if before[u] == _NOBODY else before[u]
        if v == _ORIGIN or reached[v] & 2:
            continue
        reached[v] |= 2
        if before[v] != _NOBODY and not reached[v] & 1:
            reached[v] |= 1
            waiting[size] = v
            size += 1
        for i in range(offsets[v], offsets[v + 1]):
            w = adjacent[i]
            if own.zone[w] == MIDDLE and not reached[w] & 1:
                reached[w] |= 1
                waiting[size] = w
                size += 1


@njit(cache=True, nogil=True)
def sort_by_zone(vertices: Any, order: Any, zone: Any, first: int, last: int) -> None:
    """Sort a part's vertices by side, the separator last; they leave their zones."""
    ends = np.zeros(3, dtype=np.int64)
    ends[1], ends[2] = first, first + last
    for v in vertices:
        k = 0 if zone[v] == FIRST else (1 if zone[v] == LAST else 2)
        order[ends[k]] = v
        ends[k] += 1
        zone[v] = _OUTSIDE
    vertices[:] = order
