"""The rate of CUDA threads on a device: ``python -m relaxometer.device.bench [cuda|host]``.

``relax`` measures threads that never wait: shortest paths from one vertex of a random graph, with one thread
per vertex in every phase. ``block scan`` measures waiting: a scan of a million items in blocks of 256 threads
with 17 barriers each. ``warp scan`` does the same with five shuffles per thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import Device, get_device
from relaxometer.device.kernels import Module

VERTICES = 100_000
ARCS = 400_000
ITEMS = 1_000_000
BLOCK = 256
REPETITIONS = 5


def random_graph() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw offsets, targets and weights of a graph in CSR form."""
    random = np.random.default_rng(3)
    tails = np.sort(random.integers(0, VERTICES, ARCS))
    offsets = np.searchsorted(tails, np.arange(VERTICES + 1)).astype(np.uint32)
    targets = random.integers(0, VERTICES, ARCS).astype(np.uint32)
    weights = random.integers(1, 101, ARCS).astype(np.uint32)
    return offsets, targets, weights


def relax_all(device: Device, module: Module, graph: tuple[Any, Any, Any]) -> tuple[int, Any]:
    """Find the distances from vertex 0; return the number of threads and the distances."""
    relax = module.get_function("relax")
    commit = module.get_function("commit")
    distance = device.xp.full(VERTICES, 2**32 - 1, dtype=np.uint32)
    distance[0] = 0
    proposal = distance.copy()
    mask = device.xp.zeros(VERTICES, dtype=np.uint8)
    mask[0] = 1
    updated = device.xp.ones(1, dtype=np.uint32)
    n = np.uint32(VERTICES)
    grid = -(-VERTICES // BLOCK)
    threads = 0
    while device.item(updated):
        updated.fill(0)
        relax(grid, BLOCK, (n, *graph, distance, proposal, mask))
        commit(grid, BLOCK, (n, distance, proposal, mask, updated))
        threads += 2 * grid * BLOCK
    return threads, distance


def scan_all(device: Device, module: Module, kernel: str, items: Any) -> tuple[int, Any]:
    """Scan the items; return the number of threads and the sums."""
    sums = device.xp.empty_like(items)
    grid = -(-len(items) // BLOCK)
    shared_mem = BLOCK * 4 if kernel == "block_scan" else 0
    module.get_function(kernel)(grid, BLOCK, (np.uint32(len(items)), items, sums), shared_mem=shared_mem)
    return grid * BLOCK, sums


def best_rate(device: Device, work: Callable[[], tuple[int, Any]]) -> float:
    """Return the highest rate of several repetitions, in millions of threads per second."""
    work()
    rates = []
    for _ in range(REPETITIONS):
        with device.timer() as timer:
            threads, _ = work()
        rates.append(threads / timer.ms / 1000)
    return max(rates)


def main() -> None:
    """Print the rates of a device."""
    parser = argparse.ArgumentParser(prog="python -m relaxometer.device.bench", description=__doc__)
    parser.add_argument("device", nargs="?", default="host", choices=("cuda", "host"))
    device = get_device(parser.parse_args().device)
    module = device.module(Path(__file__).with_name("bench.cu"))
    offsets, targets, weights = map(device.asarray, random_graph())
    items = device.asarray(np.random.default_rng(0).integers(0, 10, ITEMS).astype(np.uint32))
    print(device.name)
    work: dict[str, Callable[[], tuple[int, Any]]] = {
        "relax": lambda: relax_all(device, module, (offsets, targets, weights)),
        "block scan": lambda: scan_all(device, module, "block_scan", items),
        "warp scan": lambda: scan_all(device, module, "warp_scan", items),
    }
    for name, run in work.items():
        print(f"{name:<10} {best_rate(device, run):8.1f} M threads/s")


if __name__ == "__main__":
    main()
