"""A batch of flow graphs resident on a device: its flat arrays where the kernels read them."""

from __future__ import annotations

from dataclasses import dataclass

from relaxometer.device import Device
from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.batch import Batch


@dataclass(frozen=True, eq=False)
class ResidentBatch:
    """Arrays of a batch in device memory."""

    device: Device
    host: Batch  # the same batch in host memory
    first_vertex: DeviceArray  # shape (n_graphs + 1,), int64
    entries: DeviceArray  # shape (n_graphs,), uint32
    offsets: DeviceArray  # shape (n_vertices + 1,), int64
    targets: DeviceArray  # shape (n_arcs,), uint32

    @classmethod
    def upload(cls, device: Device, batch: Batch) -> ResidentBatch:
        """Copy `batch` to `device`; DeviceOutOfMemory if the arrays do not fit."""
        arrays = batch.first_vertex, batch.entries, batch.offsets, batch.targets
        return cls(device, batch, *device.asarrays(*arrays))

    @property
    def n_graphs(self) -> int:
        """Number of graphs."""
        return len(self.host)

    @property
    def n_vertices(self) -> int:
        """Number of vertices of all graphs."""
        return self.host.n_vertices

    @property
    def n_arcs(self) -> int:
        """Number of arcs of all graphs."""
        return self.host.n_arcs
