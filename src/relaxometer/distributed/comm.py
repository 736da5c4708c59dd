"""The ranks of a job: collective operations, exchanges of arrays, and their traffic."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from relaxometer.core.errors import UserError
from relaxometer.device import Device, get_device
from relaxometer.device.kernels import Module
from relaxometer.distributed.meter import Meter
from relaxometer.distributed.process import load_mpi, take_gpu
from relaxometer.distributed.transport import Message, MpiTransport, NcclTransport, Transport
from relaxometer.distributed.watch import Watch

TransportKind = Literal["auto", "nccl", "mpi"]

_OPERATIONS = {"sum": "SUM", "max": "MAX", "min": "MIN"}


class Traffic:
    """Counts the bytes that this rank sends to others, as sent and as they were without compression.

    If `timed`, ranks and devices synchronize around every exchange, so that `seconds` measures it alone, and
    `waiting_s` the time until other ranks begin it.
    """

    def __init__(self) -> None:
        self.timed = False
        self.reset()

    def reset(self) -> None:
        """Set all counts to zero."""
        self.bytes = self.plain_bytes = 0
        self.seconds = self.waiting_s = 0.0

    def count(self, outgoing: Sequence[Message]) -> None:
        """Count arrays sent without compression."""
        sent = sum(array.nbytes for _, array in outgoing)
        self.bytes += sent
        self.plain_bytes += sent


class Ranks:
    """All ranks of the job, each with a device of a kind; ranks of one host take its GPUs in turn.

    The transport "auto" is NCCL if every rank has a GPU to itself (:mod:`relaxometer.distributed.transport`).
    UserError if the device does not exist, or NCCL is requested although GPUs are shared or missing. `watch`
    ends the job if a rank of this host hangs while others wait for it.
    """

    def __init__(self, kind: str = "auto", transport: TransportKind = "auto") -> None:
        self.mpi = load_mpi()
        self.world = self.mpi.COMM_WORLD
        self.rank, self.size = int(self.world.rank), int(self.world.size)
        self._host = self.world.Split_type(self.mpi.COMM_TYPE_SHARED)
        self.local_rank, self.local_size = int(self._host.rank), int(self._host.size)
        self.gpu = take_gpu(kind, self.local_rank)
        self.device: Device = get_device(kind)
        self.watch = Watch(self._host, self._host.allgather(self.rank), self.size, self.device.kind)
        self.traffic, self.memory = Traffic(), Meter(self.device)
        with self.watch.waiting():
            gpus = self._host.allgather(self.gpu)
        have_own = None not in gpus and len(set(gpus)) == len(gpus)
        self.have_own_gpus = bool(self.reduce([int(have_own)], "min")[0])
        with self.watch.waiting():
            self._transport = self._open(transport)

    @property
    def transport(self) -> str:
        """How arrays travel: ``"nccl"`` or ``"mpi"``."""
        return self._transport.name

    def _open(self, transport: TransportKind) -> Transport:
        if transport == "nccl" and not self.have_own_gpus:
            raise UserError("transport nccl: every rank needs its own GPU; use transport mpi")
        if transport == "mpi" or not self.have_own_gpus or self.size == 1:
            return MpiTransport(self.mpi, self.device)
        return NcclTransport(self.world, self.device)

    def all_to_all(self, parts: Sequence[Any]) -> list[Any]:
        """Send the part of its number to each rank; return what the ranks have sent to this one."""
        with self.watch.waiting():
            return list(self.world.alltoall(parts))

    def reduce(self, numbers: Sequence[int | float], operation: str = "sum") -> list[Any]:
        """Return the sum, "max" or "min" of each number over all ranks."""
        dtype = np.float64 if any(isinstance(number, float) for number in numbers) else np.int64
        own = np.array(numbers, dtype=dtype)
        total = np.empty_like(own)
        with self.watch.waiting():
            self.world.Allreduce(own, total, getattr(self.mpi, _OPERATIONS[operation]))
        return list(total.tolist())

    def gather(self, thing: Any) -> list[Any]:
        """Return the objects of all ranks, on every rank."""
        with self.watch.waiting():
            return list(self.world.allgather(thing))

    def barrier(self) -> None:
        """Wait until the devices of all ranks are idle."""
        self.device.synchronize()
        with self.watch.waiting():
            self.world.Barrier()

    @contextmanager
    def first_on_host(self) -> Iterator[None]:
        """Run the block on one rank of each host first, so that the others find cached compiled code."""
        if self.local_rank:
            with self.watch.waiting():
                self._host.Barrier()
        yield
        if not self.local_rank:
            with self.watch.waiting():
                self._host.Barrier()

    def module(self, path: Path, *, cooperative: bool = False) -> Module:
        """Compile a ``.cu`` file once on each host."""
        with self.first_on_host():
            return self.device.module(path, cooperative=cooperative)

    def exchange(
        self, sends: Sequence[Message], receives: Sequence[Message], *, counts: Any | None = None
    ) -> None:
        """Send contiguous device arrays to ranks and receive arrays from ranks.

        The n-th array sent from one rank to another is the n-th received, and has its length. A rank may send
        to itself. `counts` are equally many numbers of each rank, of which this one sends its own to all
        others; they travel with the arrays and do not count as traffic.
        """
        with self._timed(), self.watch.waiting():
            outgoing, incoming = self._to_others(sends, receives)
            self.traffic.count(outgoing)
            if counts is not None:
                of_ranks = list(enumerate(self.device.xp.split(counts, self.size)))
                own, others = of_ranks.pop(self.rank)[1], of_ranks
                outgoing = outgoing + [(rank, own) for rank, _ in others]
                incoming = incoming + others
            self._transport.exchange(outgoing, incoming)

    def exchange_sized(self, outgoing: Sequence[Any], dtype: Any) -> list[Any]:
        """Send one array of any length to each rank; return the arrays received, by rank."""
        with self.watch.waiting():
            lengths = self.world.alltoall([len(array) for array in outgoing])
        incoming = [self.device.xp.empty(length, dtype=dtype) for length in lengths]
        self.exchange(list(enumerate(outgoing)), list(enumerate(incoming)))
        return incoming

    def concatenated(self, own: Any) -> Any:
        """Return the arrays of all ranks, equally long, one after the other."""
        everything = self.device.xp.empty(len(own) * self.size, dtype=own.dtype)
        parts = [everything[k * len(own) : (k + 1) * len(own)] for k in range(self.size)]
        self.exchange([(rank, own) for rank in range(self.size)], list(enumerate(parts)))
        return everything

    def exchange_lengths(self, sends: Sequence[Message], senders: Sequence[int]) -> list[int]:
        """Send the lengths of arrays to their receivers; return those from `senders`, in order."""
        lengths = np.zeros(len(senders), dtype=np.int64)
        requests = [
            self.world.Irecv(lengths[k : k + 1], sender, tag=1)
            for k, sender in enumerate(senders)
            if sender != self.rank
        ]
        for peer, array in sends:
            if peer != self.rank:
                requests.append(self.world.Isend(np.array([len(array)], dtype=np.int64), peer, tag=1))
        with self.watch.waiting():
            self.mpi.Request.Waitall(requests)
        return list(lengths.tolist())

    def _to_others(
        self, sends: Sequence[Message], receives: Sequence[Message]
    ) -> tuple[list[Message], list[Message]]:
        """Copy the arrays that stay on this rank; return the messages to and from others."""
        own = [array for peer, array in sends if peer == self.rank]
        into = [array for peer, array in receives if peer == self.rank]
        for array, target in zip(own, into, strict=True):
            target[...] = array
        outgoing = [(peer, array) for peer, array in sends if peer != self.rank and array.nbytes]
        incoming = [(peer, array) for peer, array in receives if peer != self.rank and array.nbytes]
        return outgoing, incoming

    @contextmanager
    def _timed(self) -> Iterator[None]:
        if not self.traffic.timed:
            yield
            return
        self.device.synchronize()
        ready = time.perf_counter()
        with self.watch.waiting():
            self.world.Barrier()
        begin = time.perf_counter()
        self.traffic.waiting_s += begin - ready
        yield
        self.device.synchronize()
        self.traffic.seconds += time.perf_counter() - begin
