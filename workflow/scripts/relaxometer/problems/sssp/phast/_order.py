"""Orders of contraction by nested dissection, on all cores.

Three steps, of which METIS takes the longest although most of the vertices never reach it:

1. Vertices of at most two neighbours are contracted first, in rounds of vertices that are not adjacent: more
   than half of a road map. This adds no more arcs than any other order would.
2. The remaining graph is bisected recursively until there are enough parts for many cores. METIS bisects each
   part several times with different seeds, `improve` turns each cut into a separator, and the best one stays.
3. METIS orders each part by its own nested dissection.

A separator comes after both of its sides. METIS runs in processes of their own. The order depends on the
edges of the graph only, neither on weights nor on the number of cores.

References
----------
Karypis and Kumar, "A Fast and High Quality Multilevel Scheme for Partitioning Irregular Graphs", SIAM Journal
on Scientific Computing 20, 1998.
Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM JEA 21, 2016: orders for road maps.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from numba import get_num_threads, njit

from relaxometer.device.host_build import built_once
from relaxometer.problems.sssp.phast import _metis_worker
from relaxometer.problems.sssp.phast._cuts import CORRIDOR, SEPARATOR, badness, improve
from relaxometer.problems.sssp.phast._metis_worker import IMBALANCE

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
Result = TypeVar("Result")

MIN_CUT = 1 << 16
"""Leave smaller graphs to METIS alone."""

MIN_PART = 16384
"""Do not cut parts of fewer vertices."""

PARTS = 24
"""Do not cut parts below this fraction of the reduced graph, so that 16 cores have work alike."""

TRIES = 2
"""Bisections of the whole graph; smaller parts get fewer, in proportion, but one at least."""

SEPARATORS = 2
"""Separators that METIS tries for each of its own dissections."""


@dataclass(frozen=True)
class Part:
    """A part of the reduced graph, by its own numbers, and the first of its places in the order."""

    begin: int
    vertices: Small
    offsets: Small
    adjacent: Small

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self.vertices)


def dissect(offsets: Ints, adjacent: npt.NDArray[Any], cores: int | None = None) -> Ints:
    """Order the vertices of a graph by nested dissection.

    Parameters
    ----------
    offsets : ndarray of shape (n_vertices + 1,), int64
    adjacent : ndarray of shape (offsets[-1],), integers
        Neighbours of each vertex, without itself, each once, and in both directions.
    cores : int, optional
        Processes to use; if left out, as many as numba has threads.

    Returns
    -------
    ndarray of shape (n_vertices,), int64
        The vertices, the one to contract first first.
    """
    if len(offsets) <= MIN_CUT:
        return _reduced(offsets, adjacent, _dissect_alone)
    with _Metis(cores or get_num_threads()) as metis:  # they start while the graph is reduced
        return _reduced(offsets, adjacent, partial(_dissect_parts, metis))


def kept(offsets: Ints, adjacent: npt.NDArray[Any], make: Callable[[], Ints]) -> Ints:
    """Return an order from the cache of compiled kernels; if it is not there, make and keep it.

    Its name is a hash of the graph's edges and of what the order depends on here.
    """
    key = hashlib.sha256(repr((MIN_PART, MIN_CUT, PARTS, TRIES, SEPARATORS, CORRIDOR, IMBALANCE)).encode())
    key.update(np.ascontiguousarray(offsets, dtype=np.int64).data)
    key.update(np.ascontiguousarray(adjacent, dtype=np.uint32).data)

    def build(folder: Path) -> Path:
        np.save(folder / "order.npy", make())
        return folder / "order.npy"

    order: Ints = np.load(built_once(f"order-{key.hexdigest()[:24]}.npy", build), allow_pickle=False)
    return order


def _reduced(offsets: Ints, adjacent: npt.NDArray[Any], dissect: Callable[[Part], Small]) -> Ints:
    """Order a graph: vertices of up to two neighbours first, then by `dissect` what they leave."""
    contracted, core, core_offsets, core_adjacent = _reduce(offsets, adjacent.astype(np.int32))
    order = dissect(Part(0, np.arange(len(core), dtype=np.int32), core_offsets, core_adjacent))
    return np.concatenate([contracted, core[order]]).astype(np.int64)


def _dissect_alone(whole: Part) -> Small:
    """Return the order of a small graph, without further processes."""
    return _metis_worker.dissect(whole.offsets, whole.adjacent, 0, SEPARATORS)


class _Metis:
    """Processes that each answer one request at a time, and threads that ask them."""

    def __init__(self, cores: int) -> None:
        self._pool = ThreadPoolExecutor(cores)
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        command = [sys.executable, "-P", _metis_worker.__file__]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # NumPy would start threads in each
        self._processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
            for _ in range(cores)
        ]
        for process in self._processes:
            self._idle.put(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        for process in self._processes:
            with suppress(BrokenPipeError), process:  # closes its pipes and waits for its end
                process.kill()

    def bisect(self, part: Part, seed: int) -> Small:
        """Return labels 0, 1 and `SEPARATOR` for the vertices of a part."""
        return improve(part.offsets, part.adjacent, self._ask(part, 2, seed))

    def dissect(self, part: Part) -> Small:
        """Return the vertices of a part in order, by its own numbers."""
        return self._ask(part, 0, 0)

    def map(self, function: Callable[..., Result], *arguments: Iterable[Any]) -> list[Result]:
        """Apply a function in threads."""
        return list(self._pool.map(function, *arguments))

    def _ask(self, part: Part, parts: int, seed: int) -> Small:
        process = self._idle.get()
        assert process.stdin
        assert process.stdout
        header = np.array([parts, seed, SEPARATORS, part.size, len(part.adjacent)], dtype=np.int32)
        try:
            for array in (header, part.offsets, part.adjacent):
                process.stdin.write(array.data)
            process.stdin.flush()
            answer = np.frombuffer(process.stdout.read(4 * part.size), dtype=np.int32)
        except BrokenPipeError:
            answer = np.empty(0, dtype=np.int32)
        finally:
            self._idle.put(process)  # a dead one as well: who waits for a process must not wait forever
        if len(answer) < part.size:
            raise RuntimeError(f"METIS ended with status {process.wait()}")
        return answer


def _dissect_parts(metis: _Metis, whole: Part) -> Small:
    """Return the order of a graph: all bisections of a level are made at once, then all parts are ordered."""
    order = np.empty(whole.size, dtype=np.int32)
    smallest = max(MIN_PART, whole.size // PARTS)
    place = np.empty(whole.size, dtype=np.int32)
    leaves: list[Part] = []
    level = [whole]
    while level:
        leaves += [part for part in level if part.size <= smallest]
        level = [part for part in level if part.size > smallest]
        tries = [max(1, TRIES * part.size // whole.size) for part in level]
        parts = [part for part, many in zip(level, tries, strict=True) for _ in range(many)]
        seeds = [1 + seed for many in tries for seed in range(many)]  # 0 gives what 1 gives
        cuts = iter(metis.map(metis.bisect, parts, seeds))
        best = [min(islice(cuts, many), key=badness) for many in tries]
        level = [half for halves in metis.map(partial(_split, order, place), level, best) for half in halves]
    leaves.sort(key=lambda part: -part.size)
    for part, local in zip(leaves, metis.map(metis.dissect, leaves), strict=True):
        order[part.begin : part.begin + part.size] = part.vertices[local]
    return order


def _split(order: Small, place: Small, part: Part, labels: Small) -> list[Part]:
    """Put a part's separator at its end of the order; return the other two parts. `place` is overwritten."""
    halves = []
    begin = part.begin
    for label in range(SEPARATOR):
        own = np.flatnonzero(labels == label)
        place[part.vertices[own]] = np.arange(len(own))
        offsets, adjacent = _induced(part.offsets, part.adjacent, labels, label, own, part.vertices, place)
        halves.append(Part(begin, part.vertices[own], offsets, adjacent))
        begin += len(own)
    order[begin : part.begin + part.size] = part.vertices[labels == SEPARATOR]
    return halves


@njit(cache=True, nogil=True)
def _induced(
    offsets: Any, adjacent: Any, labels: Any, label: int, own: Any, vertices: Any, place: Any
) -> Any:
    """Return the graph on the vertices `own` of a part, which have `label`, by their `place`."""
    new_offsets = np.zeros(len(own) + 1, dtype=np.int32)
    heads = np.empty(len(adjacent), dtype=np.int32)
    size = 0
    for k in range(len(own)):
        for i in range(offsets[own[k]], offsets[own[k] + 1]):
            u = adjacent[i]
            if labels[u] == label:
                heads[size] = place[vertices[u]]
                size += 1
        new_offsets[k + 1] = size
    return new_offsets, heads[:size].copy()


def _reduce(offsets: Ints, adjacent: Small) -> tuple[Small, Small, Small, Small]:
    """Contract vertices of up to two neighbours; return them in order, the others, and the graph on those.

    `adjacent` is overwritten.
    """
    contracted, degree = _contract_simple(offsets, adjacent)
    is_left = np.ones(len(degree), dtype=np.bool_)
    is_left[contracted] = False
    core = np.flatnonzero(is_left).astype(np.int32)
    return contracted, core, *_rows_left(offsets, adjacent, degree, is_left, core)


@njit(cache=True, nogil=True)
def _contract_simple(offsets: Any, adjacent: Any) -> Any:
    """Contract vertices of up to two neighbours in rounds; return them in order, and all degrees left.

    The rows of the others keep their begin, and their neighbours are the first `degree`.
    """
    n = len(offsets) - 1
    degree = np.empty(n, dtype=np.int32)
    order = np.empty(n, dtype=np.int32)
    listed = np.zeros(n, dtype=np.bool_)  # for this round or the next one
    blocked_in = np.full(n, -1, dtype=np.int32)
    current, following = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    size, n_current, n_round = 0, 0, 0
    for v in range(n):
        degree[v] = offsets[v + 1] - offsets[v]
        if degree[v] <= 2:
            listed[v] = True
            current[n_current] = v
            n_current += 1
    while n_current > 0:
        n_following = 0
        for k in range(n_current):
            v = current[k]
            if blocked_in[v] == n_round:  # a neighbour was contracted in this round
                following[n_following] = v
                n_following += 1
                continue
            order[size] = v
            size += 1
            begin = offsets[v]
            one, other = adjacent[begin], adjacent[begin + degree[v] - 1]
            for i in range(degree[v]):
                u = adjacent[begin + i]
                blocked_in[u] = n_round
                _replace(offsets, adjacent, degree, u, v, other if u == one else one)
                if degree[u] <= 2 and not listed[u]:
                    listed[u] = True
                    following[n_following] = u
                    n_following += 1
        current, following = following, current
        n_current = n_following
        n_round += 1
    return order[:size].copy(), degree


@njit(cache=True, nogil=True)
def _replace(offsets: Any, adjacent: Any, degree: Any, u: int, old: int, new: int) -> None:
    """Make `new` a neighbour of u instead of `old`, unless it is u itself or one already."""
    begin, end = offsets[u], offsets[u] + degree[u]
    is_new = new != u
    place = begin
    for i in range(begin, end):
        if adjacent[i] == old:
            place = i
        elif adjacent[i] == new:
            is_new = False
    if is_new:
        adjacent[place] = new
    else:
        adjacent[place] = adjacent[end - 1]
        degree[u] -= 1


@njit(cache=True, nogil=True)
def _rows_left(offsets: Any, adjacent: Any, degree: Any, is_left: Any, core: Any) -> Any:
    """Return the graph on the vertices that are left."""
    place = (np.cumsum(is_left) - 1).astype(np.int32)
    new_offsets = np.zeros(len(core) + 1, dtype=np.int32)
    for k in range(len(core)):
        new_offsets[k + 1] = new_offsets[k] + degree[core[k]]
    heads = np.empty(new_offsets[-1], dtype=np.int32)
    for k in range(len(core)):
        for i in range(degree[core[k]]):
            heads[new_offsets[k] + i] = place[adjacent[offsets[core[k]] + i]]
    return new_offsets, heads
