"""Program of each rank for several runs in one job: starting and connecting ranks can exceed a run's time.

``mpirun -n 4 python -m relaxometer.distributed.several runs.txt``

Each line of the file holds the arguments of one run of :mod:`relaxometer.distributed.run`.
"""

from __future__ import annotations

import argparse
import functools
import shlex
import time
from pathlib import Path

from relaxometer.distributed.comm import Ranks
from relaxometer.distributed.process import ending_together, load_mpi
from relaxometer.distributed.run import execute, parser


def main() -> None:
    """Do the runs of the file until the limit has passed."""
    with ending_together():
        world = load_mpi().COMM_WORLD
        arguments = argparse.ArgumentParser(prog="relaxometer.distributed.several", description=__doc__)
        arguments.add_argument("file", type=Path)
        arguments.add_argument(
            "--limit-s", type=float, default=float("inf"), help="start no run after this many seconds"
        )
        options = arguments.parse_args()
        ranks = functools.cache(Ranks)
        start = time.monotonic()
        for line in options.file.read_text(encoding="utf-8").splitlines():
            # Clocks differ: rank 0 decides.
            if world.bcast(time.monotonic() - start > options.limit_s):
                break
            run = parser().parse_args(shlex.split(line))
            execute(run, ranks)
            if world.rank == 0:
                print(f"{time.monotonic() - start:6.1f} s {run.out.name}, ranks: {world.size}", flush=True)


if __name__ == "__main__":
    main()
