"""The program that an MPI launcher starts on every rank to do one run after the other with the same ranks.

``mpirun -n 4 python -m relaxometer.distributed.several runs.txt``

Each line of the file holds the arguments of one run of :mod:`relaxometer.distributed.run`. Starting ranks,
opening their GPUs and connecting them can take longer than a run.
"""

from __future__ import annotations

import argparse
import functools
import gc
import shlex
import time
from pathlib import Path

from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.process import ending_together, load_mpi
from relaxometer.distributed.run import execute, parser


def main() -> None:
    """Do the runs of the file until the limit has passed; the other ranks call it with the same arguments."""
    with ending_together():
        world = load_mpi().COMM_WORLD
        arguments = argparse.ArgumentParser(prog="relaxometer.distributed.several", description=__doc__)
        arguments.add_argument("file", type=Path)
        arguments.add_argument(
            "--limit-s", type=float, default=float("inf"), help="start nothing after so many seconds"
        )
        options = arguments.parse_args()
        ranks = functools.cache(Ranks)
        start = time.monotonic()
        for line in options.file.read_text(encoding="utf-8").splitlines():
            # Rank 0 decides for all: clocks differ.
            if world.bcast(time.monotonic() - start > options.limit_s):
                break
            run = parser().parse_args(shlex.split(line))
            execute(run, ranks)
            # An engine and its block refer to each other; the next run needs their memory.
            gc.collect()
            if world.rank == 0:
                print(f"{time.monotonic() - start:6.1f} s {run.out.name}, ranks: {world.size}", flush=True)


if __name__ == "__main__":
    main()
