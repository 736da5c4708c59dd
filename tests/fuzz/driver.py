"""Feeds damaged input to readers, registry, configuration and downloader, and reports their faults.

Every mutant must be accepted, or refused by a `UserError` of one line, within seconds and 1 GiB of memory.
What is accepted must be what a simple, independent reader finds. Anything else is a fault: an exception, a
crash, a hang, memory, a wrong graph.

    python -m fuzz.driver --count 200000 --seed 1

A mutant depends on the seed and its number only; ``--only NUMBER`` repeats one and keeps its files.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import itertools
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
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.target import Target

MODULES = ("fuzz.readers", "fuzz.graph_files", "fuzz.settings", "fuzz.downloads")
"""Modules with a list `TARGETS`."""

LIMIT_S = float(os.environ.get("FUZZ_LIMIT_S", "20"))
"""Time for one mutant; on a busy machine most of it is waiting."""

START_S = 60.0
"""Time until the first mutant: libraries are loaded."""

MAX_FAULTS = 20
"""A worker with this many faults gives up: after each, a new process may have to start."""

LIMIT_BYTES = 1 << 30
"""Memory for one mutant: address space beyond that of the loaded libraries, and resident pages in all."""


def schedule(modules: list[str]) -> list[Target]:
    """Return the targets in the order in which mutants are drawn, each as often as its share says."""
    targets: list[Target] = []
    for module in modules:
        if importlib.util.find_spec(module) is not None:
            targets += getattr(importlib.import_module(module), "TARGETS", [])
    rounds = itertools.chain.from_iterable([target] * target.share for target in targets)
    order = list(rounds)
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
    signal.signal(signal.SIGALRM, _too_long)
    place = folder / "mutant"
    for number in numbers:
        out.write(b"at %d\n" % number)
        shutil.rmtree(place, ignore_errors=True)
        reserves = targets[number % len(targets)].reserves_memory
        resource.setrlimit(resource.RLIMIT_AS, (hard if reserves else in_use + LIMIT_BYTES, hard))
        signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
        try:
            try_mutant(targets, seed, number, place)
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
            signal.setitimer(signal.ITIMER_REAL, 0)
    out.write(b"done\n")


def peak_bytes() -> int:
    """Return the largest resident memory of this process; `getrusage` would count that of its parent too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


class Hang(BaseException):
    """A mutant takes too long. Not a TimeoutError, which readers of files handle as an OSError."""


def _too_long(*_: object) -> None:
    raise Hang(f"more than {LIMIT_S:.0f} s")


@dataclass
class Worker:
    """A process that tries every `step`-th mutant. One that kills it is a fault; the next process goes on."""

    arguments: list[str]
    numbers: range
    folder: Path
    at: int = -1
    started_at: int = -1
    heard: float = 0.0
    finished: bool = False
    faults: dict[int, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    _rest: bytes = b""

    def start(self) -> None:
        """Start with the mutant after the last."""
        shutil.rmtree(self.folder, ignore_errors=True)
        first = self.numbers.start if self.at < 0 else self.at + self.numbers.step
        if first not in self.numbers or len(self.faults) >= MAX_FAULTS:
            self.finished = True
            return
        span = f"{first}:{self.numbers.stop}:{self.numbers.step}"
        command = [sys.executable, "-m", "fuzz.driver", *self.arguments, "--work", span, str(self.folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment())
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self.heard = time.monotonic()
        self.started_at = self.at

    def look(self) -> None:
        """Read what the process says; note its death, or kill it if it hangs."""
        assert self.process is not None
        assert self.process.stdout is not None
        code = self.process.poll()
        if said := self.process.stdout.read() or b"":
            self.heard = time.monotonic()
            *lines, self._rest = (self._rest + said).split(b"\n")
            for line in lines:
                self._note(line)
        silent = time.monotonic() - self.heard
        if code is None and silent > 2 * LIMIT_S + (START_S if self.started_at == self.at else 0):
            self.process.kill()
            self.process.wait()
            self._died(f"hangs for more than {silent:.0f} s")
        elif code is not None and not self.finished:
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            self._died(f"died of {name}")

    def _died(self, reason: str) -> None:
        """Note why, and start again after the mutant."""
        if self.at == self.started_at and self.at not in self.faults:
            self.faults[self.at] = f"does not start: {reason}"
            self.finished = True
            return
        self.faults.setdefault(self.at, reason)
        self._rest = b""
        self.start()

    def _note(self, line: bytes) -> None:
        kind, _, rest = line.partition(b" ")
        if kind == b"at":
            self.at = int(rest)
        elif kind == b"fault":
            number, _, text = rest.partition(b" ")
            self.faults[int(number)] = text.decode()
        elif kind == b"done":
            self.finished = True


def environment() -> dict[str, str]:
    """Return the environment of a worker: one thread each, and Python's path as it is here."""
    threads = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS")
    single = dict.fromkeys((*threads, "ARROW_IO_THREADS"), "1")
    return {
        **os.environ,
        **single,
        "MALLOC_ARENA_MAX": "2",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }


def fuzz(
    count: int, seed: int, processes: int, modules: list[str], first: int = 0
) -> tuple[dict[int, str], float]:
    """Try mutants `first` to ``first + count - 1``; return the faults by number, and the seconds it took."""
    begin = shown = time.monotonic()
    shared = Path("/dev/shm")
    base = tempfile.mkdtemp(prefix="fuzz-", dir=shared if os.access(shared, os.W_OK) else None)
    arguments = ["--seed", str(seed), "--modules", *modules]
    workers = [
        Worker(arguments, range(first + k, first + count, processes), Path(base, str(k)))
        for k in range(processes)
    ]
    try:
        for worker in workers:
            worker.start()
        while running := [worker for worker in workers if not worker.finished]:
            for worker in running:
                worker.look()
            if time.monotonic() - shown > 10:
                shown = time.monotonic()
                done = sum(max(worker.at - first, 0) for worker in workers) // processes
                faults = sum(len(worker.faults) for worker in workers)
                print(f"{done} of {count} mutants, {faults} faults, {shown - begin:.0f} s", flush=True)
            time.sleep(0.02)
    finally:
        for worker in workers:
            if worker.process and worker.process.poll() is None:
                worker.process.kill()
            if worker.process:
                worker.process.wait()
        shutil.rmtree(base, ignore_errors=True)
    faults = {number: text for worker in workers for number, text in worker.faults.items()}
    return dict(sorted(faults.items())), time.monotonic() - begin


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
    parser.add_argument("--modules", nargs="+", default=list(MODULES), help="modules with a list TARGETS")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="repeat this mutant and keep its files")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        span, folder = options.work
        work(schedule(options.modules), options.seed, range(*map(int, span.split(":"))), Path(folder))
        return
    targets = schedule(options.modules)
    if options.only is not None:
        repeat(targets, options.seed, options.only)
        return
    faults, seconds = fuzz(options.count, options.seed, options.processes, options.modules)
    for number, text in faults.items():
        print(f"{targets[number % len(targets)].name} {number}: {text}")
    for kind, times in Counter(text.partition(":")[0] for text in faults.values()).most_common():
        print(f"{times} x {kind}")
    rate = options.count / seconds
    print(f"{options.count} mutants, {len(faults)} faults, {seconds:.0f} s, {rate:.0f} mutants per second")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
