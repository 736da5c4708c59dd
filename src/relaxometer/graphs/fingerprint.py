"""Fingerprints of the arrays of a resident graph, by which a change is noticed."""

from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.device import Device
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch

ARRAYS = ("first_vertex", "entries", "offsets", "targets", "weights")

BLOCK, MAX_BLOCKS = 256, 1024


class Fingerprint:
    """Computes the fingerprints of a resident graph or batch, in one pass over its arrays on the device."""

    def __init__(self, graph: ResidentGraph | ResidentBatch) -> None:
        device: Device = graph.device
        self._device = device
        found = {name: getattr(graph, name, None) for name in ARRAYS}
        self._words = {name: array.view(np.uint32) for name, array in found.items() if array is not None}
        self._kernel = device.module(Path(__file__).with_suffix(".cu")).get_function("fingerprint")
        self._sums = device.xp.empty(len(self._words), dtype=np.uint64)

    def warm_up(self) -> None:
        """Launch the kernel on no words, and wait for it."""
        words = next(iter(self._words.values()))
        self._kernel(1, 32, (np.uint64(0), words, self._sums[:1]))
        self._device.synchronize()

    def take(self) -> dict[str, int]:
        """Return the fingerprint of each array, 64 bits."""
        self._sums.fill(0)
        for number, words in enumerate(self._words.values()):
            blocks = min(MAX_BLOCKS, -(-len(words) // BLOCK))
            if blocks:
                arguments: tuple[Any, ...] = (np.uint64(len(words)), words, self._sums[number : number + 1])
                self._kernel(blocks, BLOCK, arguments)
        sums = self._device.asnumpy(self._sums).tolist()
        return dict(zip(self._words, sums, strict=True))
