"""Targets that do what a fuzzer must notice, one each, and one that is well."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

from fuzz.target import Target, outcome
from relaxometer.core.errors import UserError


def traceback(rng: random.Random, folder: Path) -> None:
    {}[rng.random()]


def crash(rng: random.Random, folder: Path) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def hang(rng: random.Random, folder: Path) -> None:
    try:
        time.sleep(1000)
    except Exception as error:
        raise UserError("refused") from error


def memory(rng: random.Random, folder: Path) -> None:
    bytearray(2 << 30)


def terminal(rng: random.Random, folder: Path) -> None:
    def refuse() -> None:
        raise UserError("\x1b]0;owned\x07")

    outcome(refuse)


def exit_(rng: random.Random, folder: Path) -> None:
    raise SystemExit(3)


def fine(rng: random.Random, folder: Path) -> None:
    (folder / "file").write_bytes(rng.randbytes(10))


PLANTED = (traceback, crash, hang, memory, terminal, exit_, fine)
TARGETS = [Target(function.__name__, function) for function in PLANTED]
