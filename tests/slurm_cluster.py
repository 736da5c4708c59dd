"""A SLURM cluster of one node, started from Debian's packages in a temporary folder, without systemd."""

import contextlib
import getpass
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "sinfo", "scontrol")
START_TIMEOUT_S = 30
PROCESSORS = 16
GPUS = 4

# The node claims more processors and GPUs than the machine has: tests ask which jobs run together, and
# `timeshares` of short jobs on two cores are fast enough. There is no accounting; `squeue` remembers jobs for
# MinJobAge seconds. Nothing here needs cgroups.
CONFIGURATION = """\
ClusterName=relaxometer-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/node
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=100000,bf_interval=2
MinJobAge=300
ReturnToService=2
MpiDefault=none
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} RealMemory=1000000 Gres=gpu:{gpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES OverSubscribe=NO MaxTime=INFINITE State=UP
"""


class ClusterError(Exception):
    """The reason why no cluster could be started."""


def missing_programs() -> list[str]:
    """Return the programs of SLURM and munge that are not installed."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
    return [program for program in PROGRAMS if shutil.which(program, path=path) is None]


def free_ports(count: int) -> list[int]:
    """Return ports that are free."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Daemons:
    """The processes of a cluster, stopped in reverse order of their start."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        self.processes: list[subprocess.Popen] = []

    def start(self, *command: str) -> None:
        """Start a daemon in the foreground, its output in a file of its name."""
        output = (self.folder / f"{command[0]}.out").open("w", encoding="utf-8")
        with output:
            self.processes.append(
                subprocess.Popen(
                    command,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    def wait_until(self, *command: str, prints: str) -> None:
        """Wait until a command prints a word; raise `ClusterError` with the ends of the daemons' logs."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and all(process.poll() is None for process in self.processes):
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
            if done.returncode == 0 and prints in done.stdout:
                return
            time.sleep(0.2)
        ends = [
            f"{path.name}: {path.read_text(errors='replace').strip()[-300:]}"
            for path in sorted([*self.folder.glob("*.out"), *self.folder.glob("*.log")])
        ]
        raise ClusterError(f"{command[0]} did not answer {prints!r}: " + " | ".join(ends))

    def stop(self) -> None:
        """Stop all daemons, the last one first."""
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def one_node_cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the environment in which the commands of SLURM speak to a cluster of one node.

    Raises
    ------
    ClusterError
        If a program is missing or a daemon does not come up, with the reason.
    """
    if missing := missing_programs():
        raise ClusterError(f"not installed: {', '.join(missing)} (Debian: slurm-wlm, munge)")
    for name in ("munge", "controller", "node"):
        (folder / name).mkdir(mode=0o755)
    key = folder / "munge/key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    host = socket.gethostname().split(".")[0]
    controller_port, node_port = free_ports(2)
    configuration = folder / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(
            host=host,
            user=getpass.getuser(),
            folder=folder,
            processors=PROCESSORS,
            gpus=GPUS,
            controller_port=controller_port,
            node_port=node_port,
        ),
        encoding="utf-8",
    )
    gpus = [folder / f"node/gpu{number}" for number in range(GPUS)]
    for gpu in gpus:
        gpu.touch()
    lines = [f"NodeName={host} Name=gpu File={gpu}\n" for gpu in gpus]
    (folder / "gres.conf").write_text("".join(lines), encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_")}
    environment["SLURM_CONF"] = str(configuration)
    environment["PATH"] = os.pathsep.join((str(folder), environment["PATH"], "/usr/sbin"))
    # The plugin takes all SLURM_* variables from the steps that it starts, this one too.
    srun = folder / "srun"
    srun.write_text(
        f'#!/bin/sh\nSLURM_CONF={configuration} exec {shutil.which("srun")} "$@"\n', encoding="utf-8"
    )
    srun.chmod(0o755)
    daemons = Daemons(folder, environment)
    try:
        files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed"}
        options = [f"--{option}={folder}/munge/{name}" for option, name in files.items()]
        daemons.start("munged", "--foreground", "--force", *options, f"--log-file={folder}/munge/munged.log")
        daemons.wait_until("munge", "-n", f"--socket={folder}/munge/socket", prints="MUNGE")
        daemons.start("slurmctld", "-D", "-i")
        daemons.start("slurmd", "-D", "-N", host)
        daemons.wait_until("sinfo", "--noheader", "--format=%t", prints="idle")
        yield environment
    finally:
        daemons.stop()
