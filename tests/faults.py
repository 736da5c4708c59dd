"""Faults for tests: a disk that fills up, folders that refuse writes, too little memory.

The limits of a process show them within a test. A command can be run in a mount namespace of its own, where a
folder is really full or read-only, for root too.
"""

import resource
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path


@contextmanager
def largest_file(n_bytes: int) -> Iterator[None]:
    """Let writes fail that make a file of this process or its children longer than `n_bytes`."""
    with _limit(resource.RLIMIT_FSIZE, n_bytes):
        yield


@contextmanager
def _limit(kind: int, value: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (value, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (soft, hard))


def under_faults(
    command: Sequence[str], *, read_only: Sequence[Path] = (), full: Sequence[Path] = ()
) -> list[str]:
    """Return a command line that runs `command` where some folders are read-only, or full but for 64 kB."""
    mounts = [
        f'mount --bind "{folder}" "{folder}" && mount -o remount,ro,bind "{folder}"' for folder in read_only
    ]
    for folder in full:
        mounts.append(f'mount -t tmpfs -o size=64k tmpfs "{folder}"')
    script = " && ".join([*mounts, 'exec "$@"'])
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", *command]


@cache
def can_mount() -> bool:
    """Return whether :func:`under_faults` works on this machine."""
    if not shutil.which("unshare"):
        return False
    trial = under_faults(["true"], full=[Path("/mnt")])
    return subprocess.run(trial, capture_output=True, check=False).returncode == 0
