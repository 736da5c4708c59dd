"""A run over several ranks as a job of the workflow: starts the ranks, and fails in one line."""

import importlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from relaxometer.core.errors import UserError
from relaxometer.core.scripting import Tee
from relaxometer.device import cuda
from relaxometer.distributed.launch import launch
from relaxometer.plan.models import DistributedRun

LOCAL = "mpirun"  # the launcher that starts ranks on this machine only


def run_job(run: DistributedRun, arguments: list[str], launcher: str | None) -> None:
    """Start the ranks of a run and wait for them.

    The launcher ``"mpirun"`` starts ranks on this machine. Another command is given up to its ``-n``, such as
    ``"srun --mpi=pmix"``. None starts one rank without a launcher. UserError if the launcher is missing,
    there are fewer GPUs than ranks, or a rank failed; with the first line of the rank's or the launcher's
    error.
    """
    if launcher == LOCAL:
        check_gpus(run)
    said = StringIO()
    with redirect_stderr(Tee(sys.stderr, said)):
        code = (
            launch(run.ranks, arguments) if launcher == LOCAL else _launch_by(launcher, run.ranks, arguments)
        )
    if code:
        raise UserError(_reason(said.getvalue()) or f"{launcher or sys.executable} ended with {code}")


def arguments_of(
    run: DistributedRun,
    out: Path,
    *,
    folder_of_graph: Path | None,
    sources: str | None,
    repetitions: int,
    warmup: int,
) -> list[str]:
    """Return the arguments of :mod:`relaxometer.distributed.run`; without a folder, ranks generate graphs."""
    graph = f"kron:{run.scale}" if folder_of_graph is None else str(folder_of_graph)
    arguments = ["--problem", run.problem, "--engine", run.engine, "--graph", graph, "--scheme", run.scheme]
    arguments += ["--roots", str(run.roots), "--repetitions", str(repetitions), "--warmup", str(warmup)]
    arguments += ["--device", run.device, "--levels", "--no-verdict", "--out", str(out)]
    if sources is not None:
        arguments += ["--sources", sources]
    for name, value in run.parameters.items():
        arguments += ["--set", f"{name}={value}"]
    if _on_gpus(run):
        # NCCL refuses ranks that share a GPU, which would distort each other's times.
        arguments += ["--transport", "nccl"]
    return arguments


def check_gpus(run: DistributedRun) -> None:
    """Raise a `UserError` if this machine has fewer GPUs than a run needs."""
    if not _on_gpus(run):
        return
    ranks, found = run.ranks, int(importlib.import_module("cupy").cuda.runtime.getDeviceCount())
    if found < ranks:
        raise UserError(f"{ranks} ranks need {ranks} GPUs, found {found}; take fewer ranks, or device: host")


def _on_gpus(run: DistributedRun) -> bool:
    return run.device != "host" and cuda.obstacle() is None


def _launch_by(launcher: str | None, ranks: int, arguments: Sequence[str]) -> int:
    """Start the program by a cluster's launcher, or one rank without one; return the exit code."""
    program = [sys.executable, "-m", "relaxometer.distributed.run", *arguments]
    environment = dict(os.environ)
    if launcher is None:
        # Or MPI would take the scheduler's step, in which this job runs, for ranks.
        environment = {
            key: value for key, value in environment.items() if not key.startswith(("SLURM_", "PMI"))
        }
    else:
        words = shlex.split(launcher)
        if shutil.which(words[0]) is None:
            raise UserError(f"{words[0]} is not on the PATH: the resource mpi says {launcher!r}")
        program = [*words, "-n", str(ranks), *program]
    process = subprocess.Popen(program, stderr=subprocess.PIPE, text=True, env=environment)
    for line in process.stderr or ():
        print(line, end="", file=sys.stderr, flush=True)
    return process.wait()


def _reason(said: str) -> str | None:
    """Return the first error, a rank's before a launcher's."""
    marks = ("error: ", "srun: error: ")
    lines = [line.removeprefix(mark) for mark in marks for line in said.splitlines() if line.startswith(mark)]
    return lines[0] if lines else None
