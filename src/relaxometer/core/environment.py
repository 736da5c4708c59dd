"""The machine and the software that a measurement ran on."""

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from relaxometer.core.checkout import ROOT

PROJECT = ROOT / "pyproject.toml"

HARMFUL = {
    "MPLBACKEND": "that of a notebook cannot be imported here",
    "NUMBA_DISABLE_JIT": "programs would be interpreted, and ranked all the same",
    "PIP_TARGET": "packages of rivals would be installed elsewhere than in their environments",
    "PIP_USER": "as PIP_TARGET",
    "PYTHONDONTWRITEBYTECODE": "each job, a process of its own, would spend two seconds on compiling",
}
"""Variables, set for other programs, under which a run would fail or measure something else, and how."""


def is_verbose() -> bool:
    """Return whether the user wants to see everything: the variable ``VERBOSE`` is neither empty nor 0."""
    return os.environ.get("VERBOSE", "") not in ("", "0")


def forget_harmful() -> None:
    """Unset what would harm this process and those that it starts."""
    for name in HARMFUL:
        os.environ.pop(name, None)
    sys.dont_write_bytecode = False


def python_obstacle() -> str | None:
    """Return why Snakemake could not start jobs with this Python, or None."""
    if " " not in sys.executable:
        return None
    return (
        f"{sys.executable}: Snakemake cannot start jobs with a Python whose path has a space; move the clone"
    )


def how_to_install(*packages: str) -> str:
    """Return the end of a message, the command that installs packages; empty if the project names none."""
    if not PROJECT.is_file():
        return ""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    required = [project["dependencies"], *project["optional-dependencies"].values()]
    versions = {re.split(r"[^\w.-]", one)[0]: one for group in required for one in group}
    if not versions.keys() >= set(packages):
        return ""
    python = Path(sys.executable)
    python = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    command = [str(python), "-m", "pip", "install", *(versions[package] for package in packages)]
    return f"; install it with: {shlex.join(command)}"


def cpu_model() -> str:
    """Return the processor's name, as the operating system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


@cache
def usable_cores() -> int:
    """Return the number of cores that this process could use before :func:`keep_to_one_core`."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def keep_to_one_core() -> None:
    """Keep this process to one core, the same for every program that is timed on one."""
    usable_cores()
    if sys.platform == "linux":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def is_full(folder: Path) -> bool:
    """Return whether the disk of a folder has less than a megabyte left."""
    return shutil.disk_usage(folder).free < 1 << 20


def environment() -> dict[str, Any]:
    """Return machine, versions, commit and date of a measurement."""
    packages = ("numpy", "numba", "pyarrow", "scipy", "snakemake", "cupy-cuda12x", "cupy-cuda13x")
    versions = {}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "machine": platform.platform(),
        "python": platform.python_version(),
        "packages": versions,
        "commit": current_commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def current_commit() -> str:
    """Return ``$RELAXOMETER_COMMIT``, or the commit of this checkout, marked if files have changed."""
    if given := os.environ.get("RELAXOMETER_COMMIT"):
        return given
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        found = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()
