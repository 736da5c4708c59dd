"""Memory on each rank of one host that the kernels of all ranks can write to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relaxometer.core.errors import UserError
from relaxometer.device import DeviceOutOfMemory
from relaxometer.device.signature import read_source
from relaxometer.distributed import process
from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.recording import words_on_host

GPU_PAGE = 2 << 20  # bytes that a GPU maps at a time

HOST_PAGE = 4096


SOURCE = read_source(Path(__file__).with_name("_peers.cuh"))

MAX_RANKS, MAX_COUNTS, EPOCHS = (SOURCE.constants[name] for name in ("MAX_RANKS", "MAX_COUNTS", "EPOCHS"))


@dataclass(frozen=True, eq=False)
class Region:
    """Memory that all ranks can write to: this rank's words, all ranks' addresses, and what keeps it."""

    own: Any
    addresses: Any
    keep: Any


class Peers:
    """The memory that ranks lend each other, and their barrier; ``_peers.cuh`` describes both.

    `n_words` of 32 bits, with which `own` begins, are lent in addition to those of the barrier. `members` are
    those of the kernels' struct ``Peers``. UserError as :func:`lend`, or if there are too many ranks.
    """

    def __init__(self, ranks: Ranks, n_words: int) -> None:
        if ranks.size > MAX_RANKS:
            raise UserError(
                f"at most {MAX_RANKS} ranks can write into each other's memory, given {ranks.size}"
            )
        even = n_words + n_words % 2
        self._region = lend(ranks, even + 2 * EPOCHS * ranks.size * 2 * MAX_COUNTS)
        self.own = self._region.own
        self._missed, self._ranks = words_on_host(ranks.device, 1), ranks
        xp = ranks.device.xp
        self.members = {
            "regions": self._region.addresses,
            "mailbox": np.uint64(4 * even),
            "patience_ns": np.uint64(process.PATIENCE_S[ranks.device.kind] * 1e9),
            "missed": self._missed[1],
            "rank": np.uint32(ranks.rank),
            "n_ranks": np.uint32(ranks.size),
            "meetings": xp.zeros(SOURCE.layout("Meetings").dtype.itemsize // 8, dtype=np.uint64),
        }
        process.explanations.append(self._explain)

    def _explain(self) -> str | None:
        """Say which rank a kernel of this rank missed, if any."""
        missed = int(self._missed[0][0])
        if not missed:
            return None
        patience_s = process.PATIENCE_S[self._ranks.device.kind]
        return (
            f"rank {missed - 1} of {self._ranks.size} did not arrive at a barrier between the GPUs within "
            f"{patience_s:g} s"
        )


def lend(ranks: Ranks, n_words: int) -> Region:
    """Allocate 32-bit zeros on every rank; UserError unless all ranks can reach each other's memory."""
    if ranks.local_size != ranks.size:
        raise UserError("ranks on several hosts cannot write into each other's memory")
    if ranks.device.kind == "host":
        return _lend_host(ranks, n_words)
    if not ranks.have_own_gpus:
        raise UserError("ranks that write into each other's memory need a GPU each")
    return _lend_cuda(ranks, n_words)


def _lend_host(ranks: Ranks, n_words: int) -> Region:
    """Allocate shared memory of MPI.

    MPI does not align the parts, so each region begins at the first page of its part, which is the same in
    every process.
    """
    size = (-(-4 * n_words // HOST_PAGE) + 1) * HOST_PAGE
    window = ranks.mpi.Win.Allocate_shared(size, 1, comm=ranks.world)
    parts = [window.Shared_query(rank)[0] for rank in range(ranks.size)]
    addresses = [-(-part.address // HOST_PAGE) * HOST_PAGE for part in parts]
    begin = addresses[ranks.rank] - parts[ranks.rank].address
    own = np.ndarray((n_words,), dtype=np.uint32, buffer=parts[ranks.rank], offset=begin)
    own[...] = 0
    ranks.barrier()
    return Region(own, np.array(addresses, dtype=np.uint64), window)


def _lend_cuda(ranks: Ranks, n_words: int) -> Region:
    """Allocate whole pages, since only whole allocations can be mapped, and map those of the other ranks."""
    cupy = ranks.device.xp
    runtime = cupy.cuda.runtime
    size = -(-4 * n_words // GPU_PAGE) * GPU_PAGE
    # CuPy's pool may still hold all memory, from building the graph.
    ranks.device.synchronize()
    ranks.memory.release("preparing")
    try:
        pointer = runtime.malloc(size)
    except runtime.CUDARuntimeError as error:
        raise DeviceOutOfMemory(f"{size} bytes to lend to other ranks: {error}") from error
    own = _words_at(ranks, pointer, n_words)
    own.fill(0)
    try:
        handles = ranks.gather(runtime.ipcGetMemHandle(pointer))
        addresses = [
            pointer if rank == ranks.rank else runtime.ipcOpenMemHandle(handle)
            for rank, handle in enumerate(handles)
        ]
    except runtime.CUDARuntimeError as error:
        raise UserError(f"the GPUs of this host cannot write into each other's memory: {error}") from None
    ranks.barrier()
    _prove_reach(ranks, own, addresses)
    return Region(own, cupy.asarray(np.array(addresses, dtype=np.uint64)), own)


def _words_at(ranks: Ranks, address: int, n_words: int) -> Any:
    cupy = ranks.device.xp
    memory = cupy.cuda.UnownedMemory(address, 4 * n_words, ranks, cupy.cuda.runtime.getDevice())
    return cupy.ndarray((n_words,), dtype=np.uint32, memptr=cupy.cuda.MemoryPointer(memory, 0))


def _prove_reach(ranks: Ranks, own: Any, addresses: Sequence[int]) -> None:
    """Write from each rank to all; a search would wait forever for a lost write."""
    for address in addresses:
        _words_at(ranks, address, ranks.size)[ranks.rank] = ranks.rank + 1
    ranks.barrier()
    arrived = ranks.device.asnumpy(own[: ranks.size]).tolist() == list(range(1, ranks.size + 1))
    if not ranks.reduce([int(arrived)], "min")[0]:
        raise UserError("writes of a GPU of this host into another's memory do not arrive")
    own.fill(0)
    ranks.barrier()
