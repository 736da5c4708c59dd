"""Graphs like the heaps of JavaScript programs: a tree of owners, hubs that most objects refer to, lists.

The constants are fitted to four snapshots of Node.js 20 with 79,000 to 310,000 objects
(docs/performance/dominators.md).
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.compiled import njit, prange
from relaxometer.datasets.formats.programs import HeapLikeParameters
from relaxometer.datasets.random_bits import Purpose, bits, number, stream
from relaxometer.graphs.graph import OBJECTS, Graph, offsets_of

NEXT, CONTAINED = 0.5, 0.25
"""Shares of objects that the one before owns, and that a large array or map owns."""

CONTAINERS, HUBS, SHARED = 1000, 100, 3
"""One object in this many is a large array or map, is a hub such as a shape, or has further references."""

SECOND_HUB, OTHERS = 0.4, 0.9
"""References per object to a second hub, and to shared objects."""

FAR, BESIDE = 0.03, 0.15
"""Shares of these that lead anywhere, and to an object next to an owner; the others lead to an owner."""

MOVED = 0.15
"""Objects that are not in the order of allocation, in which owners come first."""


def heap_like(parameters: HeapLikeParameters, seed: int) -> Graph:
    """Generate a heap; vertex 0 is the root."""
    n = parameters.objects
    ends = _heap(parameters, seed) if parameters.shape == "heap" else _extreme(parameters.shape, n)
    if parameters.shuffled:
        order = np.zeros(n, np.uint32)
        order[1:] = 1 + np.argsort(bits(stream(seed, Purpose.JITTER), 0, n - 1), kind="stable")
        ends = order[ends]
    weights = np.ones(ends.shape[1], np.uint32)
    facts = {"generator": "relaxometer.datasets.generators.heaps", "search_keys": [0]}
    tails, heads = ends
    graph = Graph.from_arcs("heap-like", n, tails, heads, weights, metadata=facts)
    return copied(replace(graph, objects=_objects(n, seed)), parameters.copies)


def copied(heap: Graph, copies: int) -> Graph:
    """Return copies of a heap, one after the other, under one root, which is vertex 0."""
    if copies == 1:
        return heap
    assert heap.objects is not None
    n, (first, *_) = heap.n_vertices - 1, heap.offsets[1:]
    steps = np.arange(copies, dtype=np.uint32)[:, None] * np.uint32(n)
    of_root, others = heap.targets[:first], heap.targets[first:]
    targets = np.concatenate([(of_root + steps).ravel(), np.where(others, others + steps, 0).ravel()])
    degrees = np.diff(heap.offsets)
    offsets = offsets_of(np.append(degrees[0] * copies, np.tile(degrees[1:], copies)))
    rows = np.append(0, np.tile(np.arange(1, n + 1), copies))
    facts = {**heap.metadata, "copies": copies}
    weights = np.ones(len(targets), np.uint32)
    return Graph(heap.name, offsets, targets, weights, metadata=facts, objects=heap.objects.take(rows))


def _heap(parameters: HeapLikeParameters, seed: int) -> npt.NDArray[np.uint32]:
    """Return tails and heads of all references of a heap like those of programs."""
    n, n_links = parameters.objects, min(parameters.links, parameters.objects - 1)
    count = n + int(n * SECOND_HUB), int(n * OTHERS)
    ends = np.zeros((2, n - 1 + sum(count)), np.uint32)
    _refer(stream(seed, Purpose.ENDS), stream(seed, Purpose.BRANCHES), n - n_links, n, *count, *ends)
    order = np.arange(n, dtype=np.uint32)
    _move(stream(seed, Purpose.ORDER), order)
    for row in ends:
        row[:] = order[row]
    return ends


def _extreme(shape: str, n: int) -> npt.NDArray[np.uint32]:
    """Return owners and objects where each object but the root has one reference to it."""
    owned = np.arange(1, n, dtype=np.uint32)
    owners = {"list": owned - 1, "tree": (owned - 1) // 2, "hub": np.minimum(owned - 1, 1)}
    return np.stack([owners[shape], owned])


def _objects(n: int, seed: int) -> pa.Table:
    """Return what is known of the objects: ids as of V8, and sizes of 24 bytes to some hundred kilobytes."""
    uniform = (bits(stream(seed, Purpose.WEIGHTS), 0, n) >> np.uint64(11)) * 2.0**-53 + 2.0**-53
    sizes = 8 * (3 + 1.5 / np.sqrt(uniform)).astype(np.uint64)
    sizes[0] = 0
    kind, name = (pa.DictionaryArray.from_arrays(np.zeros(n, t), pa.array(["object"])) for t in ("i1", "i4"))
    return pa.table(
        [pa.array(2 * np.arange(n, dtype=np.uint64) + 1), kind, name, pa.array(sizes)], pa.schema(OBJECTS)
    )


@njit(cache=True)
def _uniform(key: np.uint64, index: int) -> float:
    """Return a number from 0 to 1, without 1."""
    return (number(key, index) >> np.uint64(11)) * 2.0**-53


@njit(cache=True)
def _owner(key: np.uint64, kinds: np.uint64, v: int, first_link: int, n_containers: int) -> int:
    """Draw the owner of an object other than the root."""
    kind, place = _uniform(kinds, v), _uniform(key, v)
    if v > first_link or kind < NEXT:
        return v - 1
    if kind < NEXT + CONTAINED:
        return min(1 + int(place * place * n_containers), v - 1)
    return int(place * v)


@njit(parallel=True, cache=True)
def _refer(
    key: np.uint64,
    kinds: np.uint64,
    first_link: int,
    n: int,
    to_hubs: int,
    others: int,
    tails: np.ndarray,
    heads: np.ndarray,
) -> None:
    """Draw owners, references to hubs, and references to shared objects; the last objects are a list."""
    n_containers, n_hubs = max(n // CONTAINERS, 1), max(n // HUBS, 2)
    for v in prange(1, n):
        tails[v - 1], heads[v - 1] = _owner(key, kinds, v, first_link, n_containers), v
    for i in prange(to_hubs):
        # Two thirds of these references lead to ten hubs. Products are the same on every machine, powers not.
        drawn = _uniform(key, n + i)
        cube = drawn * drawn * drawn
        twelfth = cube * cube * cube * cube
        hub = int(n_hubs * twelfth * twelfth)
        tails[n - 1 + i], heads[n - 1 + i] = i % n, min(1 + hub, n - 1)
    for i in prange(others):
        tail = int(_uniform(kinds, n + i) * n)
        drawn = _uniform(key, n + to_hubs + i)
        head = int(drawn / FAR * first_link) // SHARED * SHARED
        if drawn >= FAR:
            head = min(tail, first_link - 1)
            while head % SHARED or head == tail != 0:
                head = _owner(key, kinds, head, first_link, n_containers)
            if drawn < FAR + BESIDE:
                head = min(head + SHARED, first_link - 1) // SHARED * SHARED
        tails[n - 1 + to_hubs + i], heads[n - 1 + to_hubs + i] = tail, head


@njit(cache=True)
def _move(key: np.uint64, order: np.ndarray) -> None:
    """Exchange objects with others, but not the root."""
    n = len(order)
    for v in range(1, n):
        drawn = _uniform(key, v)
        if drawn < MOVED / 2:
            other = 1 + int(drawn / (MOVED / 2) * (n - 1))
            order[v], order[other] = order[other], order[v]
