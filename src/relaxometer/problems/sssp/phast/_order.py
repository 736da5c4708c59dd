"""Orders of contraction by nested dissection, on all cores.

Three steps, of which METIS takes the longest although most of the vertices never reach it:

1. Vertices of at most two neighbours are contracted first, in rounds of vertices that are not adjacent: more
   than half of a road map. This adds no more arcs than any other order would.
2. The remaining graph is bisected recursively until there are enough parts for many cores. Pairs of vertices
   of a part are merged until it is small; METIS bisects that with many seeds; `improve` turns the best cuts
   into separators of the part, and the best one stays.
3. METIS orders each part by its own nested dissection.

A separator comes after both of its sides. METIS runs in processes of their own, which stay for later orders.
No cut waits for those of other parts.
The order depends on the edges of the graph only, neither on weights nor on the number of cores.

References
----------
Karypis and Kumar, "A Fast and High Quality Multilevel Scheme for Partitioning Irregular Graphs", SIAM Journal
on Scientific Computing 20, 1998.
Dibbelt, Strasser and Wagner, "Customizable Contraction Hierarchies", ACM JEA 21, 2016: orders for road maps.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import get_num_threads, njit
from relaxometer.device.host_build import built_once
from relaxometer.problems.sssp.phast import _metis_worker
from relaxometer.problems.sssp.phast._coarse import Weighted, coarsen, cut_of
from relaxometer.problems.sssp.phast._cuts import CORRIDOR, SEPARATOR, WIDEST, badness, improve
from relaxometer.problems.sssp.phast._metis_worker import IMBALANCE
from relaxometer.problems.sssp.phast._widths import PART, Size, guess, induced
from relaxometer.problems.variants import Skipped

Ints = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
MIN_CUT = 1 << 16  # leave smaller graphs to METIS alone
MIN_PART = 4096  # do not cut parts of fewer vertices
PARTS = 128  # do not cut parts below this fraction of the reduced graph, so that 16 cores have work alike
SEEDS = 16  # bisections of the whole graph; smaller parts get fewer, in proportion, but two at least
FLOWS = 3  # most of the cuts of a part that become separators
COARSE = 1 << 12  # merge vertices of larger parts before METIS bisects them
SEPARATORS = 1  # separators that METIS tries per dissection
TOO_LARGE = 2  # skip a graph whose hierarchy is expected to exceed a limit this many times
NO_LIMITS = Size(math.inf, math.inf)
CHOICES = (MIN_PART, MIN_CUT, PARTS, SEEDS, FLOWS, COARSE, SEPARATORS, CORRIDOR, WIDEST, IMBALANCE)
"""What an order depends on besides the graph."""


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


def dissect(
    offsets: Ints, adjacent: npt.NDArray[Any], limits: Size = NO_LIMITS, cores: int | None = None
) -> Ints:
    """Order the vertices of a graph by nested dissection; return them, the one to contract first first.

    `adjacent` has the neighbours of each vertex, without itself, each once, and in both directions. `cores`
    is the number of processes, by default that of Numba's threads. Skipped if the hierarchy is expected to be
    `TOO_LARGE` times as large as its limits.
    """
    if len(offsets) <= MIN_CUT:
        return _reduced(offsets, adjacent, _dissect_alone)
    metis = metis_processes(cores or get_num_threads())  # they start while the graph is reduced
    return _reduced(offsets, adjacent, partial(_dissect_parts, metis, limits))


def kept(offsets: Ints, adjacent: npt.NDArray[Any], make: Callable[[], Ints]) -> Ints:
    """Return an order from the cache of compiled kernels, made if missing, under a hash of all it needs."""
    key = hashlib.sha256(repr(CHOICES).encode())
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
    """Processes that each answer one request at a time."""

    def __init__(self, cores: int) -> None:
        requests, answers = ([os.pipe() for _ in range(cores)] for _ in range(2))
        theirs = [
            end for (reads, _), (_, writes) in zip(requests, answers, strict=True) for end in (reads, writes)
        ]
        self.cores = cores
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # NumPy would start threads in each
        command = [sys.executable, "-P", _metis_worker.__file__, *map(str, theirs)]
        self._process = subprocess.Popen(command, pass_fds=theirs, stdin=subprocess.DEVNULL, env=environment)
        for end in theirs:
            os.close(end)
        self._idle: SimpleQueue[tuple[IO[bytes], IO[bytes]]] = SimpleQueue()
        self._pipes = [
            (os.fdopen(writes, "wb"), os.fdopen(reads, "rb"))
            for (_, writes), (reads, _) in zip(requests, answers, strict=True)
        ]
        for pipes in self._pipes:
            self._idle.put(pipes)
        weakref.finalize(self, _end, os.getpid(), self._process, self._pipes)

    def bisect(self, graph: Weighted, seed: int) -> Small:
        arrays = graph.offsets, graph.adjacent, graph.edge_weights, graph.vertex_weights
        return self._ask(2, seed, len(graph.vertex_weights), arrays)

    def dissect(self, part: Part) -> Small:
        return self._ask(0, 0, part.size, (part.offsets, part.adjacent))

    def _ask(self, parts: int, seed: int, size: int, arrays: tuple[Small, ...]) -> Small:
        requests, answers = pipes = self._idle.get()
        header = np.array([parts, seed, SEPARATORS, size, len(arrays[1])], dtype=np.int32)
        try:
            for array in (header, *arrays):
                requests.write(array.data)
            requests.flush()
            answer = np.frombuffer(answers.read(4 * size), dtype=np.int32)
        except BrokenPipeError:
            answer = np.empty(0, dtype=np.int32)
        finally:
            self._idle.put(pipes)  # also after the process has died, so that no one waits for it forever
        if len(answer) < size:
            _processes.cache_clear()  # the next order starts others
            raise RuntimeError(f"METIS ended with status {self._process.wait()}")
        return answer


def _end(owner: int, process: subprocess.Popen[bytes], pipes: Sequence[tuple[IO[bytes], IO[bytes]]]) -> None:
    """End processes; a fork of their owner leaves them alone."""
    for pipe in itertools.chain.from_iterable(pipes):
        with suppress(BrokenPipeError):
            pipe.close()  # a process that reads the end of its requests ends
    if os.getpid() == owner:
        process.kill()
        process.wait()


def metis_processes(cores: int) -> _Metis:
    """Return processes that wait for requests; they start at the first call, which does not wait for them."""
    return _processes(cores, os.getpid())


@functools.lru_cache(maxsize=1)
def _processes(cores: int, _pid: int) -> _Metis:
    """Start processes for a process, since a fork of it must not share them."""
    return _Metis(cores)


class _Dissection:
    """Bisections of a graph, whose parts do not wait for each other; `pool` has a thread per core."""

    def __init__(self, metis: _Metis, pool: ThreadPoolExecutor, whole: Part) -> None:
        self._metis, self._pool, self._whole = metis, pool, whole
        self._smallest = max(MIN_PART, whole.size // PARTS)
        self._small: list[Part] = []
        self._order = np.empty(whole.size, dtype=np.int32)

    def run(self) -> Small:
        self._cut(self._whole)
        # Begun before, they would delay cuts that others wait for. The largest first: none is left alone.
        parts = sorted(self._small, key=lambda part: (-part.size, part.begin))
        for part, local in zip(parts, self._pool.map(self._metis.dissect, parts), strict=True):
            self._order[part.begin : part.begin + part.size] = part.vertices[local]
        return self._order

    def _cut(self, part: Part) -> None:
        """Cut a part unless it is small."""
        if part.size <= self._smallest:
            self._small.append(part)
            return
        halves = self._halve(part)
        with ThreadPoolExecutor(len(halves)) as waiting:
            list(waiting.map(self._cut, halves))

    def _halve(self, part: Part) -> list[Part]:
        """Put the best separator of a part at its end of the order; return the other two parts."""
        (coarse,) = self._all(coarsen, [(part.offsets, part.adjacent, COARSE)])
        many = max(2, SEEDS * part.size // self._whole.size)
        seeds = range(1, 1 + many)  # 0 gives what 1 gives
        sides = self._all(self._metis.bisect, [(coarse, seed) for seed in seeds])
        # Two cuts of the same quality are the same.
        cuts = {cut_of(coarse, side): side for side in reversed(sides)}
        best = [cuts[cut][coarse.members] for cut in sorted(cuts)[:FLOWS]]
        separators = self._all(improve, [(part.offsets, part.adjacent, side) for side in best])
        (halves,) = self._all(_split, [(self._order, part, min(separators, key=badness))])
        return halves

    def _all(self, function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
        """Return the results of calls, which run side by side, in their order."""
        return list(self._pool.map(function, *zip(*calls, strict=True)))


def _dissect_parts(metis: _Metis, limits: Size, whole: Part) -> Small:
    """Return the order of a graph by processes, and threads that ask them; Skipped if it is not a map."""
    if whole.size > PART:
        expected = guess(whole.offsets, whole.adjacent)
        if any(one > TOO_LARGE * limit for one, limit in zip(expected, limits, strict=True)):
            arcs, triangles = expected
            raise Skipped(f"made for maps; expected are {arcs:.2g} arcs and {triangles:.2g} triangles")
    with ThreadPoolExecutor(metis.cores) as pool:
        try:
            return _Dissection(metis, pool, whole).run()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _split(order: Small, part: Part, labels: Small) -> list[Part]:
    """Put a part's separator at its end of the order; return the other two parts."""
    halves = []
    begin = part.begin
    for label in range(SEPARATOR):
        own = np.flatnonzero(labels == label).astype(np.int32)
        halves.append(Part(begin, part.vertices[own], *induced(part.offsets, part.adjacent, own)))
        begin += len(own)
    order[begin : part.begin + part.size] = part.vertices[labels == SEPARATOR]
    return halves


def _reduce(offsets: Ints, adjacent: Small) -> tuple[Small, Small, Small, Small]:
    """Contract vertices of up to two neighbours; return them in order, the others, and the graph on those."""
    contracted, degree = _contract_simple(offsets, adjacent)
    is_left = np.ones(len(degree), dtype=np.bool_)
    is_left[contracted] = False
    core = np.flatnonzero(is_left).astype(np.int32)
    return contracted, core, *_rows_left(offsets, adjacent, degree, is_left, core)


@njit(cache=True, nogil=True)
def _contract_simple(offsets: Any, adjacent: Any) -> Any:
    """Contract vertices of up to two neighbours in rounds; return them and the rest of all rows."""
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
    place = (np.cumsum(is_left) - 1).astype(np.int32)
    new_offsets = np.zeros(len(core) + 1, dtype=np.int32)
    for k in range(len(core)):
        new_offsets[k + 1] = new_offsets[k] + degree[core[k]]
    heads = np.empty(new_offsets[-1], dtype=np.int32)
    for k in range(len(core)):
        for i in range(degree[core[k]]):
            heads[new_offsets[k] + i] = place[adjacent[offsets[core[k]] + i]]
    return new_offsets, heads
