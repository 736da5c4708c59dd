"""Start and end of a rank: MPI, a GPU, its part of the cores, and errors that end the whole job."""

from __future__ import annotations

import importlib
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from relaxometer.core.environment import usable_cores
from relaxometer.core.errors import UserError, naming_lacks
from relaxometer.device import DeviceOutOfMemory, cuda

GRACE_S = 1.0  # seconds before the other ranks repeat an error that rank 0 reports

PATIENCE_S = {"cuda": 20.0, "host": 300.0}
"""Seconds that a rank waits for another at a step of a search, by the kind of device."""

explanations: list[Callable[[], str | None]] = []  # each may explain an error of a kernel in one line


@contextmanager
def patience(seconds: float | None) -> Iterator[None]:
    """Set `PATIENCE_S` for a block, if it is given, and forget the block's `explanations` if it succeeds."""
    former = dict(PATIENCE_S)
    if seconds is not None:
        PATIENCE_S.update(dict.fromkeys(PATIENCE_S, seconds))
    yield
    # Not after an error: the job ends, and says why.
    PATIENCE_S.update(former)
    explanations.clear()


def load_mpi() -> Any:
    """Import mpi4py's MPI, which starts MPI; UserError if mpi4py or its MPI library is missing."""
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
    """End the whole job, with one line on stderr, if the block fails on this rank.

    The other ranks would wait for it forever. A `UserError` prints its message; most occur on all ranks, so
    rank 0 reports first. Any other exception is a bug and keeps its traceback.
    """
    try:
        with naming_lacks():
            yield
    except BaseException as error:
        if isinstance(error, SystemExit) and not error.code:
            raise
        rank, size, abort = 0, 1, None
        if "mpi4py.MPI" in sys.modules:
            world = sys.modules["mpi4py.MPI"].COMM_WORLD
            rank, size, abort = world.rank, world.size, world.Abort
        explained = next(filter(None, (explain() for explain in explanations)), None)
        if explained is not None:
            # Several ranks may have noticed; the first to report ends all.
            line = explained
            time.sleep(GRACE_S * rank)
        elif isinstance(error, UserError):
            line = str(error)
            time.sleep(GRACE_S if rank else 0)
        elif isinstance(error, DeviceOutOfMemory):
            line = f"rank {rank} of {size}: out of memory: {error}"
            time.sleep(GRACE_S if rank else 0)
        else:
            line = f"rank {rank} of {size}: {type(error).__name__}: {error}"
            traceback.print_exc()
        print(f"error: {line.splitlines()[0] if line else 'no message'}", file=sys.stderr, flush=True)
        if size > 1 and abort is not None:
            abort(1)
        raise SystemExit(1) from None


def take_gpu(kind: str, local_rank: int) -> str | None:
    """Select a GPU for a rank of this host; return its PCI bus id, since each may be shown as number 0."""
    if kind == "host" or cuda.obstacle() is not None:
        return None
    runtime = importlib.import_module("cupy").cuda.runtime
    number = local_rank % int(runtime.getDeviceCount())
    runtime.setDevice(number)
    return str(runtime.deviceGetPCIBusId(number))


def share_cores(local_size: int) -> None:
    """Divide the cores of a host among the Numba loops of its ranks."""
    numba = importlib.import_module("numba")
    numba.set_num_threads(max(1, min(numba.config.NUMBA_NUM_THREADS, usable_cores() // local_size)))
