"""Who is at work in this folder: a lock of a file ends with the process that holds it, however it ends."""

import fcntl
import os
import shutil
from pathlib import Path

OCCUPIED = Path(".snakemake/occupied")  # locked by every run and every job at work here
LOCKS = Path(".snakemake/locks")  # Snakemake's own locks, which a killed run leaves


def occupy() -> None:
    """Lock the folder until this process ends, together with others."""
    try:
        fcntl.flock(os.open(OCCUPIED, os.O_RDWR | os.O_CREAT, 0o666), fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return  # not the workflow's folder, or a file system without locks


def forget_killed_run() -> bool:
    """Remove the locks of a run that was killed, unless a run or a job is at work here; return whether."""
    try:
        OCCUPIED.parent.mkdir(exist_ok=True)
        descriptor = os.open(OCCUPIED, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            was_killed = LOCKS.is_dir() and any(LOCKS.iterdir())
            shutil.rmtree(LOCKS, ignore_errors=True)
            return was_killed
        finally:
            os.close(descriptor)
    except OSError:
        return False
