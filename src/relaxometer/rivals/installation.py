"""Installs rivals: a virtual environment or a compiled program for each, in the user's cache."""

import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from relaxometer.core.checkout import ROOT
from relaxometer.core.errors import UserError, quoted
from relaxometer.core.files import locked, write_json
from relaxometer.device import KernelError
from relaxometer.device.host_build import built_once, cache_folder, find_compiler
from relaxometer.rivals.definition import HELPERS, REQUIREMENTS, Rival

FLAGS = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG", f"-I{HELPERS}")


class Absent(Exception):  # noqa: N818 - a status
    """The rival is not installed and cannot be: why, and how to install it."""


@dataclass(frozen=True)
class Installed:
    """How to start an adapter: variables, and a command; graph's folder, problem and parameters follow it."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)


def install(rival: Rival, command: str | None = None, *, elsewhere: bool = False) -> Installed:
    """Install a rival, unless it is in the cache; Absent if it cannot be, or lacks something that it needs.

    A `command`, words as in a shell, starts the adapter instead of the rival's own. With `elsewhere`, another
    machine with the same cache runs it, as on a cluster. Then only what comes over the network is installed
    here, and the command is empty: that machine has its own GPU, CPU and compiler. UserError if the cache
    cannot be written.
    """
    definition = rival.definition
    if elsewhere:
        if definition.adapter == "adapter.py" and not command:
            _environment(rival)
        return Installed([])
    if definition.class_ == "gpu" and not _has_gpu():
        raise Absent("it needs an NVIDIA GPU")
    if command:
        return _given(command)
    needs = definition.needs
    if needs and needs.program and not shutil.which(needs.program):
        raise Absent(f"no program {needs.program}: {needs.how}")
    if definition.adapter == "adapter.py":
        adapter = (rival.folder / definition.adapter).absolute()
        return Installed([str(_environment(rival)), str(adapter)], {"PYTHONPATH": str(HELPERS)})
    if definition.adapter == "adapter.cpp":
        return Installed([str(_compiled(rival))])
    raise Absent(f"no program: build it as {definition.url} says, and let `command` start it")


def installation(rival: Rival, command: str | None = None, *, elsewhere: bool = False) -> Installed | str:
    """Return how to start a rival, installed if need be, or why it is absent; see :func:`install`."""
    try:
        return install(rival, command, elsewhere=elsewhere)
    except Absent as why:
        return str(why)


def state_of_files(command: str | None) -> str:
    """Return a text that changes with the program of a command, or with a file that it names."""
    with suppress(ValueError):
        words = _words(command or "")
        paths = [shutil.which(word) if not number else word for number, word in enumerate(words)]
        files = [Path(path) for path in paths if path and os.path.isfile(path)]  # noqa: PTH113 (never raises)
        return " ".join(f"{file}:{file.stat().st_size}:{file.stat().st_mtime_ns}" for file in files)
    return ""


def write_installation(found: Installed | str, path: Path) -> None:
    """Write whether :func:`installation` found a rival absent; another machine may start it otherwise."""
    write_json({"absent": found if isinstance(found, str) else None}, path)


def read_absence(path: Path) -> str | None:
    """Return why a rival is absent, as :func:`write_installation` wrote it; UserError if it is damaged."""
    try:
        absent = json.loads(path.read_text(encoding="utf-8"))["absent"]
        return None if absent is None else str(absent)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path}: not readable ({quoted(error)}); delete it and run again") from None


def has_absent(folder: Path, rivals: Mapping[str, Rival]) -> bool:
    """Return whether a rival is absent that :func:`retry_absent` would try to install."""
    paths = (path for path in folder.glob("*.json") if path.stem in rivals)
    return any(read_absence(path) is not None for path in paths)


def retry_absent(folder: Path, rivals: Mapping[str, Rival], *, elsewhere: bool = False) -> None:
    """Try to install absent rivals again; only if that changes anything, their runs are made again.

    `folder` holds the files of :func:`write_installation`; that of a rival whose state has changed is written
    anew. `rivals` are those of the configuration by name; others are left alone.
    """

    def retry(path: Path) -> None:
        with suppress(UserError):  # The rule that needs the file reports it.
            before = read_absence(path)
            if before is not None:
                found = installation(rivals[path.stem], elsewhere=elsewhere)
                if found != before:
                    write_installation(found, path)

    with ThreadPoolExecutor() as pool:
        list(pool.map(retry, [path for path in folder.glob("*.json") if path.stem in rivals]))


def _has_gpu() -> bool:
    """Return whether the system has an NVIDIA GPU; opens none, since a process that did cannot fork."""
    return any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/dxg").exists()


def _given(command: str) -> Installed:
    """Return the user's own command, with whole paths: the adapter has another working directory."""
    try:
        words = _words(command)
    except ValueError as error:
        raise Absent(f"`command` is {quoted(command)}, which is not a command: {error}") from None
    program = shutil.which(words[0]) if words else None
    if program is None:
        named = quoted(words[0] if words else command)
        if words and os.path.isfile(words[0]):  # noqa: PTH113 (never raises)
            raise Absent(f"{named}, which `command` names, is not executable: chmod +x")
        raise Absent(f"no program {named}, which `command` names")
    is_path = os.path.exists  # never raises
    arguments = [str(Path(word).absolute()) if is_path(word) else word for word in words[1:]]
    return Installed([str(Path(program).absolute()), *arguments], {"PYTHONPATH": str(HELPERS)})


def _words(command: str) -> list[str]:
    """Return the words of a command, ``~`` expanded; ValueError if a quotation does not end."""
    return [os.path.expanduser(word) for word in shlex.split(command)]  # noqa: PTH111 (never raises)


def _environment(rival: Rival) -> Path:
    requirements = rival.folder / REQUIREMENTS
    needed = requirements.read_bytes() if requirements.is_file() else b""
    digest = hashlib.sha256(needed + sys.version.encode() + sys.base_prefix.encode()).hexdigest()[:24]
    folder = cache_folder() / "rivals" / f"{rival.name}-{digest}"
    python, ready = folder / "bin/python", folder / "ready"
    with locked(folder):
        if not (ready.is_file() and python.exists()):
            shutil.rmtree(folder, ignore_errors=True)
            # Our uv installs into it; installing pip there takes longer than most packages.
            has_uv = importlib.util.find_spec("uv") is not None
            _run([sys.executable, "-m", "venv", *["--without-pip"] * has_uv, str(folder)])
            if needed.strip():
                installer = [sys.executable, "--into", str(python)] if has_uv else [str(python)]
                options = ["--require-hashes", "--only-binary=:all:", "-r", str(requirements.absolute())]
                _run(["sh", str(ROOT / "workflow/envs/install.sh"), *installer, *options])
            ready.touch()
    return python


def _run(command: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        env=environment,
        cwd=ROOT,
    )
    if done.returncode != 0:
        print(done.stderr.strip(), file=sys.stderr)
        raise Absent(f"its packages cannot be installed: {_last_error(done.stderr.splitlines())}")


def _last_error(lines: Sequence[str]) -> str:
    """Return pip's last error, with the line below it if that is what it announces."""
    for place, line in reversed([*enumerate(lines)]):
        if line.startswith("ERROR"):
            below = lines[place + 1 : place + 2] if line.rstrip().endswith(":") else []
            return " ".join([line.removeprefix("ERROR: ").strip(), *(one.strip() for one in below)])
    return "no reason given"


def _compiled(rival: Rival) -> Path:
    definition, program = rival.definition, rival.folder / "adapter.cpp"
    try:
        compiler = find_compiler()
    except UserError as error:
        raise Absent(str(error)) from None
    flags = [*definition.flags, *_printed_flags(definition.flags_command)]
    parts = [compiler.version, *compiler.command, *FLAGS, *flags, os.uname().nodename, rival.code]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    def build(scratch: Path) -> Path:
        target = scratch / "adapter"
        # Libraries, which may be among the flags, belong behind the source.
        compiler.run([*FLAGS, str(program), "-o", str(target), *flags], program)
        return target

    try:
        return built_once(f"rival-{rival.name}-{digest}", build)
    except KernelError as error:
        print(error, file=sys.stderr)
        # GCC and Clang. The first header that is missing need not be the one that the definition names.
        missing = re.search(r"fatal error: '?([^':]+)'?(: No such file|.* not found)", str(error))
        needs = definition.needs
        if missing and needs and needs.header:
            raise Absent(f"no {missing[1]}: {needs.how}") from None
        raise Absent(str(error).splitlines()[0]) from None


def _printed_flags(command: str | None) -> list[str]:
    try:
        words = shlex.split(command or "")
        if not words:
            return []
        done = subprocess.run(words, capture_output=True, encoding="utf-8", check=True)
        return shlex.split(done.stdout)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        said = str(getattr(error, "stderr", None) or error).strip().partition("\n")[0]
        raise Absent(f"its flags_command fails: {command}: {quoted(said)}") from None
