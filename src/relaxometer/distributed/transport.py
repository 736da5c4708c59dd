"""Transport of arrays between ranks: NCCL from GPU to GPU, or MPI through host memory."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from relaxometer.core.errors import UserError
from relaxometer.device import Device

Message = tuple[int, Any]  # a rank and a contiguous device array to send to it or receive from it


class Transport(Protocol):
    """Sends arrays to other ranks and receives arrays from them."""

    name: str

    def exchange(self, outgoing: Sequence[Message], incoming: Sequence[Message]) -> None:
        """Exchange arrays; kernels launched afterwards may use them."""


class MpiTransport:
    """MPI; arrays on a GPU are staged in host memory, since not every MPI supports GPUs."""

    name = "mpi"

    def __init__(self, mpi: Any, device: Device) -> None:
        self._mpi, self._world, self._device = mpi, mpi.COMM_WORLD, device

    def exchange(self, outgoing: Sequence[Message], incoming: Sequence[Message]) -> None:
        """Exchange arrays."""
        staged = self._device.kind == "cuda"
        landing = [np.empty(array.shape, array.dtype) if staged else array for _, array in incoming]
        requests = [
            self._world.Irecv(_bytes(array), source=peer)
            for (peer, _), array in zip(incoming, landing, strict=True)
        ]
        for peer, array in outgoing:
            requests.append(self._world.Isend(_bytes(self._device.asnumpy(array)), peer))
        self._mpi.Request.Waitall(requests)
        if staged:
            for (_, array), landed in zip(incoming, landing, strict=True):
                array.set(landed)


class NcclTransport:
    """NCCL, in the order of the current stream."""

    name = "nccl"

    def __init__(self, world: Any, device: Device) -> None:
        self._cuda = device.xp.cuda
        self._nccl, self._communicator = connect(world)

    def exchange(self, outgoing: Sequence[Message], incoming: Sequence[Message]) -> None:
        """Exchange arrays."""
        stream, communicator = int(self._cuda.get_current_stream().ptr), self._communicator
        self._nccl.groupStart()
        for peer, array in outgoing:
            communicator.send(array.data.ptr, array.nbytes, self._nccl.NCCL_UINT8, peer, stream)
        for peer, array in incoming:
            communicator.recv(array.data.ptr, array.nbytes, self._nccl.NCCL_UINT8, peer, stream)
        self._nccl.groupEnd()


def connect(world: Any) -> tuple[Any, Any]:
    """Return CuPy's NCCL module and a new communicator of all ranks; UserError if CuPy finds no NCCL."""
    nccl = importlib.import_module("cupy.cuda.nccl")
    if not nccl.available:
        raise UserError(
            "transport nccl: CuPy finds no libnccl; install nvidia-nccl-cu13 (-cu12 for CUDA 12), or use "
            "--transport mpi"
        )
    unique = world.bcast(nccl.get_unique_id() if world.rank == 0 else None)
    return nccl, nccl.NcclCommunicator(world.size, unique, world.rank)


def _bytes(array: np.ndarray) -> np.ndarray:
    """Return the array's bytes; MPI refuses messages of 2 GiB or more."""
    return array.reshape(-1).view(np.uint8)
