"""The ranks of a job and what they send each other: NCCL between GPUs, MPI between everything else.

A rank that fails must end the job: the others would wait for it without end. `ending_together` sees to that.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from relaxometer.core.errors import UserError
from relaxometer.device import Device, DeviceOutOfMemory, Module, get_device

Message = tuple[int, Any]
"""A rank and an array on the device: what goes to the rank, or what is to take what comes from it."""

Transport = Literal["auto", "nccl", "mpi"]

GRACE_S = 1.0
"""How long the other ranks leave the first to report a mistake."""

GPU_PAGE = 2 << 20
"""Bytes that a GPU maps at a time."""

_OPERATIONS = {"sum": "SUM", "max": "MAX", "min": "MIN"}


def load_mpi() -> Any:
    """Return mpi4py's MPI, which starts it.

    Raises
    ------
    UserError
        If there is no mpi4py, or no MPI library for it.
    """
    try:
        return importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(
            "searches over several ranks need MPI: install Open MPI (Debian: openmpi-bin libopenmpi-dev) "
            f"and relaxometer's extra mpi ({reason})"
        ) from None


@contextmanager
def ending_together() -> Iterator[None]:
    """End the whole job, in one line, if the block fails on this rank.

    A `UserError` gives its message; all ranks find most of them, and the first gets the time to say it alone.
    Anything else is a bug and keeps its traceback.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, SystemExit) and not error.code:
            raise
        rank, size, abort = 0, 1, None
        if "mpi4py.MPI" in sys.modules:
            world = sys.modules["mpi4py.MPI"].COMM_WORLD
            rank, size, abort = world.rank, world.size, world.Abort
        if not isinstance(error, UserError):
            traceback.print_exc()
        is_mistake = isinstance(error, UserError)
        if rank and is_mistake:
            time.sleep(GRACE_S)
        where = "" if is_mistake else f"rank {rank} of {size}: "
        line = str(error) if is_mistake else f"{type(error).__name__}: {error}"
        print(f"error: {where}{line.splitlines()[0] if line else 'no message'}", file=sys.stderr, flush=True)
        if size > 1 and abort is not None:
            abort(1)
        raise SystemExit(1) from None


@dataclass
class Tally:
    """What this rank sent of one kind.

    Parameters
    ----------
    messages, bytes : int
        To other ranks.
    plain_bytes : int
        What the bytes would have been without compression.
    seconds : float
        From the first message until all had come; only where the traffic is timed.
    """

    messages: int = 0
    bytes: int = 0
    plain_bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Region:
    """Memory that every rank of a host lends the others, for kernels that write to it directly.

    Parameters
    ----------
    own : device array of shape (n_words,), uint32
        This rank's part.
    addresses : device array of shape (n_ranks,), uint64
        Where this rank's kernels find each rank's part.
    keep : object
        What must live as long.
    """

    own: Any
    addresses: Any
    keep: Any


class Traffic:
    """Counts messages and bytes by kind, and where asked also times them.

    Parameters
    ----------
    timed : bool, default=False
        Whether ranks wait for each other and for their devices before and after every exchange, so that
        `seconds` are those of the exchange alone.

    Attributes
    ----------
    waiting_s : float
        Time in which this rank waited for others to begin an exchange, if it is timed.
    """

    def __init__(self) -> None:
        self.timed = False
        self.kinds: defaultdict[str, Tally] = defaultdict(Tally)

        self.waiting_s = 0.0

    def reset(self) -> None:
        """Forget what was counted."""
        self.kinds.clear()
        self.waiting_s = 0.0

    @property
    def bytes(self) -> int:
        """All that this rank sent."""
        return sum(tally.bytes for tally in self.kinds.values())

    @property
    def plain_bytes(self) -> int:
        """All that this rank would have sent without compression."""
        return sum(tally.plain_bytes for tally in self.kinds.values())

    @property
    def seconds(self) -> float:
        """Time in exchanges, if they are timed."""
        return sum(tally.seconds for tally in self.kinds.values())


class Pending:
    """An exchange that was begun.

    Parameters
    ----------
    finish : callable
        Waits for it.
    keep : object
        What must live until then.
    """

    def __init__(self, finish: Callable[[], None], keep: Any = None) -> None:
        self._finish, self._keep = finish, keep

    def finish(self) -> None:
        """Wait until everything has come and gone."""
        self._finish()
        self._keep = None


class Ranks:
    """All ranks of the job.

    Parameters
    ----------
    kind : {"auto", "cuda", "host"}
        The device of every rank. With CUDA, ranks of one host take its GPUs in turn.
    transport : {"auto", "nccl", "mpi"}
        How arrays travel: by NCCL from GPU to GPU, or by MPI through host memory. "auto" takes NCCL where
        every rank has a GPU to itself.

    Raises
    ------
    UserError
        If there is no such device, or NCCL is asked for where GPUs are shared or missing.
    """

    def __init__(self, kind: str = "auto", transport: Transport = "auto") -> None:
        self._mpi = load_mpi()
        self.world = self._mpi.COMM_WORLD
        self.rank, self.size = int(self.world.rank), int(self.world.size)
        host = self.world.Split_type(self._mpi.COMM_TYPE_SHARED)
        self.local_rank, self.local_size = int(host.rank), int(host.size)
        self._host = host
        self.gpu = _take_gpu(kind, self.local_rank)
        self.device: Device = get_device(kind)
        self.traffic = Traffic()
        self._nccl = self._open_nccl(transport)
        self._beside: Any = None

    @property
    def transport(self) -> str:
        """How arrays travel: ``"nccl"`` or ``"mpi"``."""
        return "mpi" if self._nccl is None else "nccl"

    def _open_nccl(self, transport: Transport) -> Any:
        """Return NCCL's communicator of all ranks, or None if arrays travel by MPI."""
        all_own = self._all_own_gpus()
        if transport == "nccl" and not all_own:
            raise UserError("transport nccl: every rank needs a GPU of its own; use transport mpi")
        if transport == "mpi" or not all_own or self.size == 1:
            return None
        return self._new_nccl()

    def _new_nccl(self) -> Any:
        nccl = importlib.import_module("cupy.cuda.nccl")
        if not nccl.available:
            raise UserError(
                "transport nccl: CuPy finds no libnccl; install nvidia-nccl-cu13 (-cu12 for CUDA 12), or use "
                "--transport mpi"
            )
        unique = self.world.bcast(nccl.get_unique_id() if self.rank == 0 else None)
        return nccl.NcclCommunicator(self.size, unique, self.rank)

    def _all_own_gpus(self) -> bool:
        """Whether every rank has a GPU that no other rank of its host has."""
        gpus = self._host.allgather(self.gpu)
        own = None not in gpus and len(set(gpus)) == len(gpus)
        return bool(self.reduce([int(own)], "min")[0])

    # ------------------------------------------------------------------------------------ numbers and objects

    def reduce(self, numbers: Sequence[int | float], operation: str = "sum") -> list[Any]:
        """Return the sum, or another operation, of each number over all ranks."""
        dtype = np.float64 if any(isinstance(number, float) for number in numbers) else np.int64
        own = np.array(numbers, dtype=dtype)
        total = np.empty_like(own)
        self.world.Allreduce(own, total, getattr(self._mpi, _OPERATIONS[operation]))
        return list(total.tolist())

    def gather(self, thing: Any) -> list[Any]:
        """Return what every rank passed, on every rank."""
        return list(self.world.allgather(thing))

    def barrier(self) -> None:
        """Wait until every rank's device has done what was asked of it."""
        self.device.synchronize()
        self.world.Barrier()

    @contextmanager
    def first_on_host(self) -> Iterator[None]:
        """Let one rank of each host run the block before the others, which find what it has compiled."""
        if self.local_rank:
            self._host.Barrier()
        yield
        if not self.local_rank:
            self._host.Barrier()

    def module(self, path: Path, *, cooperative: bool = False) -> Module:
        """Compile a ``.cu`` file once on each host."""
        with self.first_on_host():
            return self.device.module(path, cooperative=cooperative)

    # ------------------------------------------------------------------------------------------------- arrays

    def lend(self, n_words: int) -> Region:
        """Allocate memory of so many 32-bit words, zeros, on every rank, that all ranks can write to.

        Raises
        ------
        UserError
            If the ranks are not on one host, or some have no GPU of their own, or GPUs cannot reach each
            other.
        """
        if self.local_size != self.size:
            raise UserError("ranks on several hosts cannot write into each other's memory")
        if self.device.kind == "host":
            return self._lend_host(n_words)
        if not self._all_own_gpus():
            raise UserError("ranks that write into each other's memory need a GPU each")
        return self._lend_cuda(n_words)

    def _lend_host(self, n_words: int) -> Region:
        page = 4096
        window = self._mpi.Win.Allocate_shared((-(-4 * n_words // page) + 1) * page, 1, comm=self.world)
        parts = [window.Shared_query(rank)[0] for rank in range(self.size)]
        # MPI aligns a part to no more than its elements; every mapping of a page begins at a page.
        addresses = [-(-part.address // page) * page for part in parts]
        begin = addresses[self.rank] - parts[self.rank].address
        own = np.ndarray((n_words,), dtype=np.uint32, buffer=parts[self.rank], offset=begin)
        own[...] = 0
        self.barrier()
        return Region(own, np.array(addresses, dtype=np.uint64), window)

    def _lend_cuda(self, n_words: int) -> Region:
        """Allocate past CuPy's pool, whose blocks another process cannot map one by one.

        Nor can it map less than a page: CUDA would hand it whatever else lies in there, too.
        """
        cupy = self.device.xp
        runtime = cupy.cuda.runtime
        size = -(-4 * n_words // GPU_PAGE) * GPU_PAGE
        # The pool keeps what building the graph took, which may be all there is.
        self.device.synchronize()
        cupy.get_default_memory_pool().free_all_blocks()
        try:
            pointer = runtime.malloc(size)
        except runtime.CUDARuntimeError as error:
            raise DeviceOutOfMemory(f"{size} bytes to lend to other ranks: {error}") from error
        own = self._words_at(pointer, n_words)
        own.fill(0)
        try:
            handles = self.gather(runtime.ipcGetMemHandle(pointer))
            addresses = [
                pointer if rank == self.rank else runtime.ipcOpenMemHandle(handle)
                for rank, handle in enumerate(handles)
            ]
        except runtime.CUDARuntimeError as error:
            raise UserError(f"the GPUs of this host cannot write into each other's memory: {error}") from None
        self.barrier()
        self._prove_reach(own, addresses)
        return Region(own, cupy.asarray(np.array(addresses, dtype=np.uint64)), own)

    def _words_at(self, address: int, n_words: int) -> Any:
        """Return an array of memory that CuPy has not allocated, for kernels of this rank's GPU."""
        cupy = self.device.xp
        memory = cupy.cuda.UnownedMemory(address, 4 * n_words, self, cupy.cuda.runtime.getDevice())
        return cupy.ndarray((n_words,), dtype=np.uint32, memptr=cupy.cuda.MemoryPointer(memory, 0))

    def _prove_reach(self, own: Any, addresses: Sequence[int]) -> None:
        """Let a kernel of each rank write to all, since a search would wait without end for what is lost."""
        for address in addresses:
            self._words_at(address, self.size)[self.rank] = self.rank + 1
        self.barrier()
        arrived = self.device.asnumpy(own[: self.size]).tolist() == list(range(1, self.size + 1))
        if not self.reduce([int(arrived)], "min")[0]:
            raise UserError("what a GPU of this host writes into another's memory does not arrive there")
        own.fill(0)
        self.barrier()

    def exchange(self, kind: str, sends: Sequence[Message], receives: Sequence[Message]) -> None:
        """Send arrays to ranks and receive arrays from ranks.

        Between two ranks the n-th array sent is the n-th received, and as long. A rank may send to itself.

        Parameters
        ----------
        kind : str
            What the traffic counts it as.
        sends, receives : sequence of (int, contiguous device array)
        """
        self._count(kind, sends)
        with self._timed(kind):
            outgoing, incoming = self._to_others(sends, receives)
            if self._nccl is not None:
                self._send_nccl(self._nccl, self._stream(), outgoing, incoming)
            else:
                self._start_mpi(outgoing, incoming).finish()

    def start(self, kind: str, sends: Sequence[Message], receives: Sequence[Message]) -> Pending:
        """Begin an exchange and go on; as :meth:`exchange`.

        No array may be written, and none that comes be read, before the result's `finish` was called. Timed
        traffic is over when this returns.
        """
        if self.traffic.timed:
            self.exchange(kind, sends, receives)
            return Pending(lambda: None)
        self._count(kind, sends)
        outgoing, incoming = self._to_others(sends, receives)
        if self._nccl is None:
            return self._start_mpi(outgoing, incoming)
        return self._start_nccl(outgoing, incoming)

    def _to_others(
        self, sends: Sequence[Message], receives: Sequence[Message]
    ) -> tuple[list[Message], list[Message]]:
        """Copy what stays on this rank; return what goes to others and comes from them."""
        self._copy_own(sends, receives)
        outgoing = [(peer, array) for peer, array in sends if peer != self.rank and array.nbytes]
        incoming = [(peer, array) for peer, array in receives if peer != self.rank and array.nbytes]
        return outgoing, incoming

    def sum_counts(self, counts: Any) -> list[int]:
        """Return the sums of a small device array over all ranks, shape (n,), uint64.

        The host needs them, so MPI adds them up: between hosts' memories that is quicker than a kernel of
        NCCL's, after which the host would wait all the same.
        """
        with self._timed("counts"):
            return self.reduce(self.device.asnumpy(counts).astype(np.int64).tolist())

    def exchange_sized(self, kind: str, outgoing: Sequence[Any], dtype: Any) -> list[Any]:
        """Send one array of any length to each rank; return what came from each.

        Parameters
        ----------
        kind : str
        outgoing : sequence of device array, one for each rank
        dtype : dtype
        """
        lengths = self.world.alltoall([len(array) for array in outgoing])
        incoming = [self.device.xp.empty(length, dtype=dtype) for length in lengths]
        self.exchange(kind, list(enumerate(outgoing)), list(enumerate(incoming)))
        return incoming

    def exchange_lengths(self, sends: Sequence[Message], sources: Sequence[int]) -> list[int]:
        """Tell receivers how long their arrays will be; return the lengths of those from `sources`.

        Parameters
        ----------
        sends : sequence of (int, device array)
        sources : sequence of int
            The ranks whose arrays are to come, in the order of the messages.
        """
        lengths = np.zeros(len(sources), dtype=np.int64)
        requests = [
            self.world.Irecv(lengths[k : k + 1], source, tag=1)
            for k, source in enumerate(sources)
            if source != self.rank
        ]
        for peer, array in sends:
            if peer != self.rank:
                requests.append(self.world.Isend(np.array([len(array)], dtype=np.int64), peer, tag=1))
        self._mpi.Request.Waitall(requests)
        return [int(length) for length in lengths]

    def _send_nccl(
        self, communicator: Any, stream: int, outgoing: list[Message], incoming: list[Message]
    ) -> None:
        nccl = importlib.import_module("cupy.cuda.nccl")
        nccl.groupStart()
        for peer, array in outgoing:
            communicator.send(array.data.ptr, array.nbytes, nccl.NCCL_UINT8, peer, stream)
        for peer, array in incoming:
            communicator.recv(array.data.ptr, array.nbytes, nccl.NCCL_UINT8, peer, stream)
        nccl.groupEnd()

    def _start_nccl(self, outgoing: list[Message], incoming: list[Message]) -> Pending:
        """Send on a stream and by a communicator of its own, behind what the current stream was asked for."""
        cuda = self.device.xp.cuda
        if self._beside is None:
            self._beside = self._new_nccl(), cuda.Stream(non_blocking=True)
        communicator, beside = self._beside
        current = cuda.get_current_stream()
        beside.wait_event(current.record())
        self._send_nccl(communicator, beside.ptr, outgoing, incoming)
        done = beside.record()
        return Pending(lambda: current.wait_event(done), (outgoing, incoming))

    def _start_mpi(self, outgoing: list[Message], incoming: list[Message]) -> Pending:
        """Send by MPI; arrays of a GPU go through host memory, since MPI may know nothing of GPUs."""
        staged = self.device.kind == "cuda"
        landing = [np.empty(array.shape, array.dtype) if staged else array for _, array in incoming]
        requests = [
            self.world.Irecv(_bytes(array), source=peer)
            for (peer, _), array in zip(incoming, landing, strict=True)
        ]
        for peer, array in outgoing:
            requests.append(self.world.Isend(_bytes(self.device.asnumpy(array) if staged else array), peer))

        def finish() -> None:
            self._mpi.Request.Waitall(requests)
            if staged:
                for (_, array), landed in zip(incoming, landing, strict=True):
                    array.set(landed)

        return Pending(finish, (outgoing, incoming))

    def _copy_own(self, sends: Sequence[Message], receives: Sequence[Message]) -> None:
        own = [array for peer, array in sends if peer == self.rank]
        into = [array for peer, array in receives if peer == self.rank]
        for array, target in zip(own, into, strict=True):
            target[...] = array

    def _count(self, kind: str, sends: Sequence[Message]) -> None:
        tally = self.traffic.kinds[kind]
        for peer, array in sends:
            if peer != self.rank and array.nbytes:
                tally.messages += 1
                tally.bytes += array.nbytes
                tally.plain_bytes += array.nbytes

    @contextmanager
    def _timed(self, kind: str) -> Iterator[None]:
        if not self.traffic.timed:
            yield
            return
        self.device.synchronize()
        ready = time.perf_counter()
        self.world.Barrier()
        begin = time.perf_counter()
        self.traffic.waiting_s += begin - ready
        yield
        self.device.synchronize()
        self.traffic.kinds[kind].seconds += time.perf_counter() - begin

    def _stream(self) -> int:
        return int(self.device.xp.cuda.get_current_stream().ptr)


def _bytes(array: np.ndarray) -> np.ndarray:
    """Return the array's bytes: MPI counts them in 32 bits up to 2 GiB, which no message here reaches."""
    return array.reshape(-1).view(np.uint8)


def _take_gpu(kind: str, local_rank: int) -> str | None:
    """Make one of the host's GPUs the current one, before anything is allocated; return its place on the bus.

    A scheduler may show each rank one GPU only, which every rank then calls the first.
    """
    from relaxometer.device import cuda

    if kind == "host" or cuda.obstacle() is not None:
        return None
    runtime = importlib.import_module("cupy").cuda.runtime
    number = local_rank % int(runtime.getDeviceCount())
    runtime.setDevice(number)
    return str(runtime.deviceGetPCIBusId(number))


def share_cores(local_size: int) -> None:
    """Give each rank of a host its share of the cores for compiled CPU loops."""
    numba = importlib.import_module("numba")
    cores = len(os.sched_getaffinity(0))
    numba.set_num_threads(max(1, min(numba.config.NUMBA_NUM_THREADS, cores // local_size)))
