"""Feeds damaged input to readers, registry and configuration, and reports their faults.

Every mutant must be accepted, or refused by a `UserError` of one line, within seconds and 1 GiB of memory.
What is accepted must be what a simple, independent reader finds. Anything else is a fault: an exception, a
crash, a hang, memory, a wrong graph.

    python -m fuzz.driver --count 200000 --seed 1

A mutant depends on the seed and its number only; ``--only NUMBER`` repeats one and keeps its files.
"""

import argparse
import collections
import faulthandler
import importlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from multiprocessing.pool import ThreadPool
from pathlib import Path

from fuzz.target import Target

MODULES = ("fuzz.readers", "fuzz.graph_files", "fuzz.heaps", "fuzz.settings")
"""Modules with a list `TARGETS`."""

LIMIT_S = 20.0
"""CPU time for one mutant, since others may keep the machine busy."""

MAX_FAULTS = 20
"""A worker with this many faults gives up: after each, a new process may have to start."""

LIMIT_BYTES = 1 << 30
"""Memory for one mutant: address space beyond that of the loaded libraries, and resident pages in all."""


def schedule() -> list[Target]:
    """Return the targets in the order of mutants, each as often as its share says."""
    targets = [target for module in MODULES for target in importlib.import_module(module).TARGETS]
    order = [target for target in targets for _ in range(target.share)]
    random.Random(0).shuffle(order)
    return order


def try_mutant(targets: list[Target], seed: int, number: int, folder: Path) -> None:
    """Try mutant `number` in an empty folder; raises whatever a faulty reader raises."""
    target = targets[number % len(targets)]
    folder.mkdir(parents=True)
    target.try_one(random.Random(f"{seed}/{target.name}/{number}"), folder)


def work(targets: list[Target], seed: int, numbers: range, folder: Path) -> None:
    """Try mutants, and print a line before each and for each fault; the other end sees where it stops."""
    in_use = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)  # notes for users
    signal.signal(signal.SIGPROF, _too_long)
    for number in numbers:
        out.write(b"at %d\n" % number)
        os.chdir(folder.parent)  # a target may have gone to the folder
        shutil.rmtree(folder, ignore_errors=True)
        resource.setrlimit(resource.RLIMIT_AS, (in_use + LIMIT_BYTES, hard))
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
        faulthandler.dump_traceback_later(10 * LIMIT_S, exit=True)  # if it sleeps, or no signal interrupts it
        try:
            try_mutant(targets, seed, number, folder)
            peak = peak_bytes()
            if peak > LIMIT_BYTES:
                raise MemoryError(f"{peak / 2**20:.0f} MiB resident")
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in frames if "/relaxometer/" in frame.filename]
            last = (ours or frames)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            text = f"{type(error).__name__}: {error} ({where})".encode("ascii", "backslashreplace")
            out.write(b"fault %d %b\n" % (number, text.replace(b"\n", b"\\n")[:300]))
            if isinstance(error, MemoryError):
                raise SystemExit(1) from None  # the peak of a process never falls
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def peak_bytes() -> int:
    """Return the largest resident memory of this process; `getrusage` would count that of its parent too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


class Hang(BaseException):
    """A mutant takes too long. Not a TimeoutError, which readers of files handle as an OSError."""


def _too_long(*_: object) -> None:
    raise Hang(f"more than {LIMIT_S:.0f} s")


def faults_among(numbers: range, seed: int, folder: Path) -> dict[int, str]:
    """Try mutants in a process of their own. One that kills it is a fault; the next process goes on."""
    faults: dict[int, str] = {}
    while numbers and len(faults) < MAX_FAULTS:
        span = f"{numbers.start}:{numbers.stop}:{numbers.step}"
        command = [sys.executable, "-m", "fuzz.driver", "--seed", str(seed), "--work", span, str(folder)]
        at = -1
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
            assert process.stdout is not None
            for line in process.stdout:
                kind, number, *text = line.rstrip("\n").split(" ", 2)
                at = int(number)
                faults |= {at: text[0]} if kind == "fault" else {}
                if at % 10_000 == 0:
                    print(f"mutant {at}", flush=True)
        if process.returncode == 0:
            break
        code = process.returncode
        died = f"died of {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"
        if at < 0:
            return {**faults, numbers.start: f"does not start: {died}"}
        faults.setdefault(at, died)
        numbers = range(at + numbers.step, numbers.stop, numbers.step)
    return faults


def environment() -> dict[str, str]:
    """Return the environment of a worker: one thread each, and Python's path as it is here."""
    threads = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS")
    single = dict.fromkeys((*threads, "ARROW_IO_THREADS"), "1")
    path = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, **single, "MALLOC_ARENA_MAX": "2", "PYTHONPATH": path}


def fuzz(count: int, seed: int, processes: int) -> dict[int, str]:
    """Try `count` mutants; return the faults by number."""
    shared = Path("/dev/shm")
    place = shared if os.access(shared, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=place) as base, ThreadPool(processes) as threads:
        shares = [(range(k, count, processes), seed, Path(base, str(k))) for k in range(processes)]
        return dict(sorted(collections.ChainMap(*threads.starmap(faults_among, shares)).items()))


def repeat(targets: list[Target], seed: int, number: int) -> None:
    """Try one mutant in this process, with its traceback, and keep its files."""
    folder = Path(tempfile.mkdtemp(prefix=f"mutant-{number}-")) / "mutant"
    print(f"{targets[number % len(targets)].name}: the files are in {folder}", flush=True)
    try_mutant(targets, seed, number, folder)
    print("no fault")


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200_000, help="number of mutants (default 200000)")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other mutants (default 1)")
    parser.add_argument(
        "--processes", type=int, default=len(os.sched_getaffinity(0)), help="default: all cores"
    )
    parser.add_argument("--only", type=int, metavar="NUMBER", help="repeat this mutant and keep its files")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    targets = schedule()
    if options.work:
        span, folder = options.work
        work(targets, options.seed, range(*map(int, span.split(":"))), Path(folder))
        return
    if options.only is not None:
        repeat(targets, options.seed, options.only)
        return
    begin = time.monotonic()
    faults = fuzz(options.count, options.seed, options.processes)
    for number, text in faults.items():
        print(f"{targets[number % len(targets)].name} {number}: {text}")
    print(f"{options.count} mutants, {len(faults)} faults, {time.monotonic() - begin:.0f} s")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
