"""Graph500's Kronecker graphs and search keys, bit for bit those of the reference implementation.

References
----------
Graph500 specification, version 3: "Generating the edge list" and "Sampling 64 search keys"; its reference
implementation (github.com/graph500/graph500), generator/.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.compiled import njit, prange
from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.datasets.generators import mrg
from relaxometer.graphs.graph import Graph

USER_SEEDS = (2, 3)
"""Seeds of the benchmark."""

N_SEARCH_KEYS = 64

STRIDE = 2**64
"""Random numbers between one edge and the next."""

SCRAMBLE_AT = 50 * 2**128 + 7 * 2**64
"""Offset of the random numbers that scramble the vertices."""

SEARCH_KEYS_AT = 2 * 2**128
"""Offset of the random numbers of the search keys."""

CHUNK = 1 << 14
"""Edges per task of a thread; does not change the result."""

Vertices = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class EdgeTuples:
    """A range of the edge list, with self-loops and repeated edges; weights are float32 from 0 to 1."""

    tails: Vertices
    heads: Vertices
    weights: npt.NDArray[np.float32]


def kronecker_edges(
    scale: int, start: int, stop: int, *, user_seeds: tuple[int, int] = USER_SEEDS
) -> EdgeTuples:
    """Generate the edges `start` to `stop` - 1 of the edge list; see "Generating the edge list".

    The graph has 2**scale vertices, at most 2**32; the seeds are two numbers below 2**64.
    """
    size = stop - start
    tails, heads = np.empty(size, dtype=np.uint32), np.empty(size, dtype=np.uint32)
    weights = np.empty(size, dtype=np.float32)
    seed = mrg.seeded(*user_seeds)
    starts = _chunk_starts(mrg.advanced(seed, start * STRIDE), CHUNK, -(-size // CHUNK))
    stride = np.array(mrg.transition(STRIDE), dtype=np.uint64)
    _fill(scale, scrambling(seed), starts, stride, CHUNK, (tails, heads, weights))
    return EdgeTuples(tails, heads, weights)


def scrambling(seed: mrg.State) -> npt.NDArray[np.uint64]:
    """Return the two numbers that scramble the vertices, shape (2,), uint64."""
    state = mrg.advanced(seed, SCRAMBLE_AT)
    values = []
    for _ in range(2):
        high, low = mrg.following(state), mrg.following(mrg.following(state))
        values.append((high[0] * (2**32 - 1) + low[0]) % 2**64)
        state = low
    return np.array(values, dtype=np.uint64)


def _chunk_starts(state: mrg.State, chunk: int, count: int) -> npt.NDArray[np.uint64]:
    """Return the initial states of `count` chunks, shape (count, 5), uint64."""
    starts = np.empty((count, 5), dtype=np.uint64)
    if count:
        starts[0] = state
        _chain(np.array(mrg.transition(chunk * STRIDE), dtype=np.uint64), starts)
    return starts


@njit(cache=True)
def _chain(matrix: np.ndarray, states: np.ndarray) -> None:
    for i in range(1, len(states)):
        mrg.apply(matrix, states[i - 1], states[i])


@njit(parallel=True, cache=True)
def _fill(
    scale: int, scramble: np.ndarray, starts: np.ndarray, stride: np.ndarray, chunk: int, edges: Any
) -> None:
    tails, heads, weights = edges
    for c in prange(len(starts)):
        state, after = starts[c].copy(), np.empty(5, dtype=np.uint64)
        for i in range(c * chunk, min((c + 1) * chunk, len(tails))):
            tail, head, draw = _edge(scale, state)
            tails[i] = _scrambled(tail, scale, scramble)
            heads[i] = _scrambled(head, scale, scramble)
            weights[i] = np.float32(draw) * _PER_MODULUS
            mrg.apply(stride, state, after)
            state, after = after, state


_PER_MODULUS = 0.000000000465661287524579692
"""1 / (2**31 - 1) as the reference writes it."""

_B = _C = np.uint64(1900)
_A = np.uint64(5700)
_WHOLE = np.uint64(10_000)
"""Probabilities of the quadrants times 10,000."""

_REJECTED = np.uint64((2**31 - 1) % 10_000)
"""Smaller numbers are drawn again, so that the remainder modulo 10,000 is uniform."""

_ONE = np.uint64(1)


@njit(cache=True)
def _edge(scale: int, state: np.ndarray) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return both ends before scrambling, and the random number of the weight."""
    z1, z2, z3, z4, z5 = state[0], state[1], state[2], state[3], state[4]
    tail = head = np.uint64(0)
    for _ in range(scale):
        z1, z2, z3, z4, z5 = mrg.drawn(z1, z5), z1, z2, z3, z4
        while z1 < _REJECTED:
            z1, z2, z3, z4, z5 = mrg.drawn(z1, z5), z1, z2, z3, z4
        place = z1 % _WHOLE
        down = place >= _B and (place < _B + _C or place >= _B + _C + _A)
        right = place < _B or place >= _B + _C + _A
        if tail == head and down and not right:
            down, right = right, down  # mirrored above the diagonal
        tail = tail << _ONE | np.uint64(down)
        head = head << _ONE | np.uint64(right)
    return tail, head, mrg.drawn(z1, z5)


_SCRAMBLE_FACTORS = np.uint64(0x4519840211493211), np.uint64(0x3050852102C843A5)
_WORD = 64


@njit(cache=True)
def _scrambled(v: np.uint64, scale: int, scramble: np.ndarray) -> np.uint64:
    """Return the label of vertex `v`: twice, multiply by an odd factor and reverse the bits."""
    unused = np.uint64(_WORD - scale)
    v = (v + scramble[0] + scramble[1]) * (scramble[0] | _SCRAMBLE_FACTORS[0])
    v = _reversed(v) >> unused
    v *= scramble[1] | _SCRAMBLE_FACTORS[1]
    return _reversed(v) >> unused


_MASKS = np.array([0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F,
                   0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF, 0x00000000FFFFFFFF], dtype=np.uint64)  # fmt: skip


@njit(cache=True)
def _reversed(x: np.uint64) -> np.uint64:
    """Return the bits of `x` in reverse order: swap neighbours, then pairs, fours and so on."""
    for i in range(len(_MASKS)):
        width = _ONE << np.uint64(i)
        x = (x >> width) & _MASKS[i] | (x & _MASKS[i]) << width
    return x


_PER_MODULUS_SQUARED = 0.0000000000000000002168404346990492787
"""1 / (2**31 - 1)**2 as the reference writes it."""


def root_stream(user_seeds: tuple[int, int] = USER_SEEDS) -> Iterator[float]:
    """Yield the search keys' random numbers, each from 0 to 1; the second of two draws gives lower digits."""
    state = mrg.advanced(mrg.seeded(*user_seeds), SEARCH_KEYS_AT)
    while True:
        coarse = mrg.following(state)
        state = mrg.following(coarse)
        yield coarse[0] * _PER_MODULUS + state[0] * _PER_MODULUS_SQUARED


def search_keys(
    scale: int, degrees: npt.NDArray[np.int64], user_seeds: tuple[int, int] = USER_SEEDS
) -> list[int]:
    """Sample the sources of searches among the 2**scale vertices; see "Sampling 64 search keys".

    `degrees` do not count self-loops. The keys are distinct vertices with edges, in the reference's order.
    Sampling stops after as many draws as there are vertices, so there may be fewer than 64.
    """
    n_vertices = 1 << scale
    numbers = root_stream(user_seeds)
    keys: dict[int, None] = {}
    for _ in range(n_vertices):
        key = int((next(numbers) + next(numbers)) * n_vertices) % n_vertices
        if degrees[key]:
            keys[key] = None
        if len(keys) == N_SEARCH_KEYS:
            break
    return list(keys)


def integer_weights(weights: npt.NDArray[np.float32], low: int, high: int) -> npt.NDArray[np.uint32]:
    """Spread weights from 0 to 1 over the integers `low` to `high`.

    ``low + floor(w * (high - low + 1))``, in float64; a weight that was rounded to 1 becomes `high`.
    """
    result = np.empty(len(weights), dtype=np.uint32)
    for start in range(0, len(weights), _PIECE):
        piece = weights[start : start + _PIECE].astype(np.float64)
        steps = np.floor(piece * (high - low + 1)).astype(np.int64)
        result[start : start + _PIECE] = low + np.minimum(steps, high - low)
    return result


_PIECE = 1 << 20
"""Weights converted at a time, to bound memory."""


def kronecker_graph(parameters: Graph500Parameters) -> Graph:
    """Generate a Kronecker graph with integer weights, undirected and without self-loops.

    It has the `input_degrees` from which the benchmark's rates are computed. Its metadata holds
    ``input_edges``, ``self_loops``, ``isolated_vertices`` and the ``search_keys``.
    """
    p = parameters
    n_edges = p.edge_factor << p.scale
    edges = kronecker_edges(p.scale, 0, n_edges, user_seeds=p.user_seeds)
    arcs = edges.tails, edges.heads, integer_weights(edges.weights, *p.weight_range)
    graph = Graph.from_arcs(
        f"kron-g500-s{p.scale}", 1 << p.scale, *arcs, undirected=True, keep_parallel=p.keep_parallel
    )
    loops = int(np.count_nonzero(edges.tails == edges.heads))
    ends = input_degrees(np, edges.tails, edges.heads, 1 << p.scale)
    return replace(graph, metadata=facts(p, graph.degrees, loops), input_degrees=ends)


def input_degrees(xp: Any, tails: Any, heads: Any, n_vertices: int) -> Any:
    """Count how often each vertex is an end of an edge tuple, self-loops twice: uint32, shape (n_vertices,).

    `xp` is NumPy or CuPy, according to the arrays of ends, uint32.
    """
    degrees = xp.zeros(n_vertices, dtype=xp.uint32)
    for ends in (tails, heads):
        for start in range(0, len(ends), _ENDS):
            counts = xp.bincount(ends[start : start + _ENDS], minlength=n_vertices)
            degrees += counts.astype(xp.uint32)
    return degrees


_ENDS = 1 << 28
"""Ends counted at a time, to bound memory: counting widens them to 64 bits."""


def facts(parameters: Graph500Parameters, degrees: npt.NDArray[np.int64], self_loops: int) -> dict[str, Any]:
    """Return the metadata of a Kronecker graph whose vertices have these degrees."""
    return {
        "generator": "relaxometer.datasets.generators.graph500",
        "directed": False,
        "input_edges": parameters.edge_factor << parameters.scale,
        "self_loops": self_loops,
        "isolated_vertices": int(np.count_nonzero(degrees == 0)),
        "search_keys": search_keys(parameters.scale, degrees, parameters.user_seeds),
    }
