"""Remove what a killed run left in this folder: ``python -m relaxometer.cli.unlock``.

That is its lock, and the results that it had put aside to replace them.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from relaxometer.plan.session import WITHDRAWN

LOCKS = Path(".snakemake/locks")


def at_work(process: psutil.Process) -> bool:
    """Return whether a process is Snakemake running in this folder."""
    try:
        in_this_folder = Path(process.cwd()) == Path.cwd()
        return in_this_folder and any("snakemake" in word for word in process.cmdline()[:3])
    except (psutil.Error, OSError):
        return False


def main(arguments: list[str] | None = None) -> None:
    """Remove the lock and the withdrawn results, unless another run is at work here."""
    parser = argparse.ArgumentParser(prog="python -m relaxometer.cli.unlock", description=__doc__)
    parser.parse_args(arguments)
    if LOCKS.is_dir() and any(LOCKS.iterdir()):
        others = [process.pid for process in psutil.process_iter() if at_work(process)]
        if others:
            sys.exit(
                f"error: another run is at work in {Path.cwd()} (process {others[0]}); wait for it or stop it"
            )
        print("removing the lock of a run that was killed")
        shutil.rmtree(LOCKS)
        # A run that finds nothing to do would leave them for good.
        shutil.rmtree(WITHDRAWN, ignore_errors=True)


if __name__ == "__main__":
    main()
