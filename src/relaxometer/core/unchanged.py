"""Whether anything has changed since the same command of Snakemake ended with nothing left to do.

Snakemake takes seconds to find this out, most of them to start. At the end of such a run, :class:`Sources`
records the size and date of every file that it read or made; :func:`is_unchanged` compares them. A run that
has anything to do forgets the record first.
"""

import hashlib
import json
import os
import re
import stat
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

RECORD = Path(".snakemake/unchanged.json")
UP_TO_DATE = "Nothing to be done: all files are up to date"

WORKFLOW = ("Snakefile", "workflow", "config", "profiles", "resources", "src")
"""The files and folders of a checkout that make up the workflow."""

_VARIABLES = re.compile("RELAXOMETER_|SNAKEMAKE|PYTHON|NUMBA_|OMP_|CUDA|XDG_|(CXX|HOME|PATH)$")
"""Environment variables that may change what a run does."""


class Sources:
    """What a run depends on, as it is before the run; a folder stands for all files in it.

    `is_done`: nothing is left to do.
    """

    def __init__(self) -> None:
        self.is_done = False
        self._machine = _machine()
        self._states: dict[str, str] = {}
        self.add(WORKFLOW)

    def add(self, paths: Iterable[str]) -> None:
        """Note the state of further files and folders."""
        self._states |= {path: _state(path) for path in {*paths} - self._states.keys()}

    def record(self, made: Iterable[str], text: str, **more: Any) -> None:
        """Record that nothing is left to do, the files that were made, what the run printed, and `more`."""
        self.add(made)
        content = {"arguments": sys.argv[1:], "machine": self._machine, "states": self._states, "text": text}
        with suppress(OSError):
            RECORD.write_text(json.dumps(content | more), encoding="utf-8")


def forget() -> None:
    """Forget what is recorded."""
    RECORD.unlink(missing_ok=True)


def recorded(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return the record of a command of Snakemake with these arguments, if there is one."""
    try:
        record = json.loads(RECORD.read_text(encoding="utf-8"))
        return dict(record) if record["arguments"] == [*arguments] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_unchanged(record: dict[str, Any]) -> bool:
    """Return whether machine and files are what they were when the record was made."""
    same = (_state(path) == state for path, state in record["states"].items())
    return record["machine"] == _machine() and all(same)


def _machine() -> str:
    """Describe Python and its packages, devices and variables."""
    packages = Path(sysconfig.get_path("purelib")).stat().st_mtime_ns
    devices = sorted(map(str, Path("/dev").glob("nv*")))
    variables = sorted(item for item in os.environ.items() if _VARIABLES.match(item[0]))
    return str([sys.version, sys.prefix, packages, devices, variables])


def _state(path: str) -> str:
    """Return size, date and number of a file, or a hash of those of all files in a folder."""
    state = _of_file(path)
    if state != _FOLDER:
        return state
    return hashlib.sha256("\n".join(_of_files(path)).encode(errors="surrogateescape")).hexdigest()


_FOLDER = "folder"


def _of_file(path: str) -> str:
    try:
        facts = Path(path).stat()
    except OSError:
        return "missing"
    return _FOLDER if stat.S_ISDIR(facts.st_mode) else f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ino}"


def _of_files(top: str) -> Iterator[str]:
    for folder, folders, names in os.walk(top, followlinks=True):
        folders[:] = sorted({*folders} - {"__pycache__"})
        yield from (f"{folder}/{name} {_of_file(f'{folder}/{name}')}" for name in sorted(names))
