"""Starts `relaxometer.distributed.run` on several ranks of this machine; reports errors in one line.

``python -m relaxometer.distributed.launch --ranks 4 --problem bfs --graph kron:20 --out results/run``

Arguments other than ``--ranks`` and ``--oversubscribe`` go to the program. On a cluster, use the scheduler's
launcher instead.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence

from relaxometer.core.environment import how_to_install, usable_cores
from relaxometer.core.errors import UserError

RULE = "-" * 10  # beginning of the lines that frame Open MPI's messages


def obstacle() -> str | None:
    """Return in one line why no ranks can be started, or None."""
    if shutil.which("mpirun") is None:
        return "mpirun is not on the PATH: install an MPI library (Debian: openmpi-bin libopenmpi-dev)"
    if importlib.util.find_spec("mpi4py") is None:
        return f"mpi4py is not installed{how_to_install('mpi4py')}"
    return None


def launch(ranks: int, arguments: Sequence[str], *, oversubscribe: bool = False, program: str = "run") -> int:
    """Run a program of `relaxometer.distributed` on ranks of this machine and return its exit code.

    The ranks' stderr is passed on. Of the launcher's framed messages only one line is, if the ranks failed
    without a message. UserError if MPI is missing, or there are fewer cores than ranks without
    `oversubscribe`.
    """
    if reason := obstacle():
        raise UserError(reason)
    cores = usable_cores()
    if ranks > cores and not oversubscribe:
        raise UserError(
            f"{ranks} ranks on {cores} cores: use fewer, or let them share cores with --oversubscribe"
        )
    # Ranks divide the cores themselves; launchers would bind two of them to one core each.
    options = ["--bind-to", "none", *(["--oversubscribe"] if oversubscribe else [])]
    if os.geteuid() == 0:
        options.append("--allow-run-as-root")
    command = [sys.executable, "-m", f"relaxometer.distributed.{program}", *arguments]
    process = subprocess.Popen(
        ["mpirun", *options, "-n", str(ranks), *command], stderr=subprocess.PIPE, text=True
    )
    own, framed = _passed_on(process)
    code = process.wait()
    if code and not any(line.startswith("error: ") for line in own):
        text = " ".join(framed) or "no message"
        cause = re.search(r"mpirun noticed that (.*?\))\.?", text) or re.search(r"(.{1,200})", text)
        line = cause[1].strip() if cause else text
        ended = "the job has ended and wrote no answer" if program == "run" else "all ranks have ended"
        print(f"error: {line}; {ended}", file=sys.stderr)
    return code


def _passed_on(process: subprocess.Popen[str]) -> tuple[list[str], list[str]]:
    """Pass the ranks' lines on to stderr; return these and the launcher's lines."""
    own: list[str] = []
    framed: list[str] = []
    inside = False
    for line in process.stderr or ():
        line = line.rstrip("\n")
        if line.startswith(RULE):
            inside = not inside
        elif inside or re.match(r"\[[^]]*:\d+\] ", line):
            framed.append(line)
        else:
            own.append(line)
            print(line, file=sys.stderr, flush=True)
    return own, [line for line in framed if line.strip()]


def main() -> int:
    """Run the program of this module."""
    parser = argparse.ArgumentParser(prog="relaxometer.distributed.launch", allow_abbrev=False)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--oversubscribe", action="store_true", help="allow more ranks than cores")
    options, rest = parser.parse_known_args()
    try:
        return launch(options.ranks, rest, oversubscribe=options.oversubscribe)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
