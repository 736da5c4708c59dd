"""A graph resident on a device: the CSR arrays where the kernels read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.graph import Graph
from relaxometer.graphs.lengths import Lengths


@dataclass(frozen=True, eq=False)
class ResidentGraph:
    """CSR arrays of a graph in device memory.

    Parameters
    ----------
    device : Device
    host : Graph
        The same graph in host memory.
    offsets : device array of shape (n_vertices + 1,), int64
    targets : device array of shape (n_arcs,), uint32
    weights : device array of shape (n_arcs,), uint32 or uint64
        The bits of the weights, whatever their type. Both are None if the arcs stay in host memory.
    """

    device: Device
    host: Graph
    offsets: DeviceArray
    targets: Any
    weights: Any

    @classmethod
    def upload(cls, device: Device, graph: Graph, *, arcs: bool = True) -> ResidentGraph:
        """Copy `graph` to `device`, with or without its arcs.

        Raises
        ------
        DeviceOutOfMemory
            If the arrays do not fit.
        """
        return cls(
            device,
            graph,
            device.asarray(graph.offsets),
            device.asarray(graph.targets) if arcs else None,
            device.asarray(graph.weights.view(graph.lengths.weight_word)) if arcs else None,
        )

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return self.host.n_vertices

    @property
    def n_arcs(self) -> int:
        """Number of directed arcs."""
        return self.host.n_arcs

    @property
    def lengths(self) -> Lengths:
        """The type of the graph's weights, and of lengths of paths."""
        return self.host.lengths

    @property
    def csr(self) -> tuple[np.uint32, Any, Any, Any]:
        """The first arguments of most kernels: `n_vertices`, `offsets`, `targets`, `weights`."""
        return np.uint32(self.n_vertices), self.offsets, self.targets, self.weights
