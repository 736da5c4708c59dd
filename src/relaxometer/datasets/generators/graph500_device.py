"""Graph500's graphs made on a device: a kernel makes the edges, one sort the CSR arrays."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.datasets.generators import graph500, mrg
from relaxometer.datasets.generators.graph500 import STRIDE, USER_SEEDS, facts, scrambling
from relaxometer.datasets.registry import Dataset
from relaxometer.device import Device, DeviceOutOfMemory, get_device
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.resident import ResidentGraph

BLOCK = 256
MAX_BLOCKS = 1 << 16
"""Largest grid; beyond it, each thread makes several edges."""

DIGITS = 9
"""Hexadecimal digits of an edge's index; scale 31 with edge factor 16 has 9."""

SORTED_BITS = 63
"""Bits of an arc that a device sorts; a word with all bits set marks no arc."""

Edges = tuple[Any, Any, Any]
"""Tails and heads, uint32, and weights from 0 to 1, float32: device arrays of shape (n_edges,)."""


def build(name: str, dataset: Dataset[Graph500Parameters]) -> Graph:
    """Make the graph that the entry's parameters describe; see :data:`relaxometer.datasets.build.Reader`.

    On a GPU with enough memory, else on the CPU; the result is the same.
    """
    parameters = dataset.parameters
    device = get_device("auto")
    if device.kind == "cuda" and arc_bits(parameters) <= SORTED_BITS:
        try:
            return kronecker_graph(device, parameters).host
        except DeviceOutOfMemory as error:
            print(f"{name}: made on the CPU, because GPU memory is too small ({error})", file=sys.stderr)
    return graph500.kronecker_graph(parameters)


def arc_bits(parameters: Graph500Parameters) -> int:
    """Return the number of bits of an arc's tail, head and weight."""
    low, high = parameters.weight_range
    return 2 * parameters.scale + (high - low).bit_length()


def kronecker_edges(
    device: Device, scale: int, start: int, stop: int, *, user_seeds: tuple[int, int] = USER_SEEDS
) -> Edges:
    """Generate the edges `start` to `stop` - 1, at most 2**36; see `kronecker_edges` of `graph500.py`."""
    xp, size = device.xp, stop - start
    tails, heads = xp.empty(size, dtype=xp.uint32), xp.empty(size, dtype=xp.uint32)
    weights = xp.empty(size, dtype=xp.float32)
    seed = mrg.seeded(*user_seeds)
    numbers = np.int64(start), np.int64(size), np.uint32(scale), *scrambling(seed)
    tables = device.asarray(np.array(seed, dtype=np.uint64)), device.asarray(_jumps())
    _launch(device, "kronecker_edges", size, (*numbers, *tables, tails, heads, weights))
    return tails, heads, weights


def kronecker_graph(device: Device, parameters: Graph500Parameters) -> ResidentGraph:
    """Generate on a device the same graph and metadata as `kronecker_graph` of `graph500.py`.

    UserError if tail, head and weight of an arc do not fit 63 bits. DeviceOutOfMemory if memory is too small;
    about 40 bytes per arc are needed.
    """
    p = parameters
    n_edges, (low, high) = p.edge_factor << p.scale, p.weight_range
    weight_bits = (high - low).bit_length()
    if arc_bits(p) > SORTED_BITS:
        raise UserError(
            f"scale {p.scale} with weights from {low} to {high} needs {arc_bits(p)} bits per arc; "
            f"a device sorts {SORTED_BITS}"
        )
    tails, heads, floats = kronecker_edges(device, p.scale, 0, n_edges, user_seeds=p.user_seeds)
    keys = device.xp.empty(2 * n_edges, dtype=device.xp.uint64)
    shape = np.int64(n_edges), np.uint32(p.scale), np.uint32(weight_bits), np.uint32(high - low + 1)
    _launch(device, "arc_keys", n_edges, (*shape, tails, heads, floats, keys))
    loops = int((tails == heads).sum())
    ends = device.asnumpy(graph500.input_degrees(device.xp, tails, heads, 1 << p.scale))
    del tails, heads, floats
    keys = _sorted_arcs(device.xp, keys, 2 * loops, weight_bits, p.keep_parallel)
    offsets, targets, weights = _unpacked(device.xp, keys, p.scale, weight_bits, low)
    csr = (device.asnumpy(array) for array in (offsets, targets, weights))
    plain = Graph(f"kron-g500-s{p.scale}", *csr)
    host = replace(plain, metadata=facts(p, plain.degrees, loops), input_degrees=ends)
    return ResidentGraph(device, host, offsets, targets, weights)


def _jumps() -> npt.NDArray[np.uint32]:
    """Return the matrices that advance by d * 16**k edges, shape (DIGITS, 16, 5, 5), uint32."""
    steps = [[digit * 16**place * STRIDE for digit in range(16)] for place in range(DIGITS)]
    return np.array([[mrg.transition(n) for n in row] for row in steps], dtype=np.uint32)


def _launch(device: Device, kernel: str, threads: int, arguments: tuple[Any, ...]) -> None:
    if threads:
        blocks = min(-(-threads // BLOCK), MAX_BLOCKS)
        module = device.module(Path(__file__).with_name("graph500.cu"))
        module.get_function(kernel)(blocks, BLOCK, arguments)


def _sorted_arcs(xp: Any, keys: Any, n_loops: int, weight_bits: int, keep_parallel: bool) -> Any:
    """Sort the keys of all arcs and drop self-loops and, unless kept, parallel arcs."""
    keys.sort()
    keys = keys[: len(keys) - n_loops]
    if keep_parallel:
        return keys
    ends = keys >> xp.uint64(weight_bits)
    first = xp.ones(len(keys), dtype=bool)
    first[1:] = ends[1:] != ends[:-1]
    return keys[first]


def _unpacked(xp: Any, keys: Any, scale: int, weight_bits: int, low: int) -> tuple[Any, Any, Any]:
    """Return offsets, targets and weights from sorted keys."""
    rows = xp.arange((1 << scale) + 1, dtype=xp.uint64) << xp.uint64(scale + weight_bits)
    offsets = xp.searchsorted(keys, rows).astype(xp.int64)
    targets = (keys >> xp.uint64(weight_bits) & xp.uint64((1 << scale) - 1)).astype(xp.uint32)
    weights = (keys & xp.uint64((1 << weight_bits) - 1)).astype(xp.uint32) + xp.uint32(low)
    return offsets, targets, weights
