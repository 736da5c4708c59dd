"""Builds ``.cu`` files with the host's C++ compiler into cached shared libraries.

A build preprocesses the file, rewrites its ``__shared__`` declarations, compiles it after the emulator's
headers, and links it with the emulator's scheduler, which is compiled once per set of flags and never
instrumented by a sanitizer.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from relaxometer.core.errors import UserError
from relaxometer.device import KernelError
from relaxometer.device.signature import PACKAGE, Source

EMULATOR = Path(__file__).resolve().parent / "emulator"

_LANGUAGE_FLAGS = [
    "-std=c++17",
    "-U_GNU_SOURCE",  # leaves select, index, y1 and other short names of POSIX to kernels
    "-O2",
    "-g",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-strict-aliasing",  # kernels reinterpret buffers, as CUDA code does
    "-fno-threadsafe-statics",
    "-ffp-contract=off",
    "-Wall",
    "-Wno-unknown-pragmas",
    "-Wno-unused",
]
_GCC_FLAGS = [
    "-fno-gnu-unique",  # or two kernels' libraries would share inline variables
    "-fno-exceptions",
]
_SANITIZER_FLAGS = {
    None: [],
    "undefined": ["-fsanitize=undefined", "-fno-sanitize=vptr,alignment", "-fno-sanitize-recover=all"],
    "address": ["-fsanitize=address", "-fno-omit-frame-pointer", "-DEMULATOR_ASAN"],
    "thread": ["-fsanitize=thread", "-DEMULATOR_TSAN"],
}
SANITIZERS = tuple(name for name in _SANITIZER_FLAGS if name is not None)

_HOW_TO_INSTALL = "Debian: apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install"


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: the command with its leading arguments, and its version message."""

    command: tuple[str, ...]
    version: str

    @property
    def is_clang(self) -> bool:
        """Whether the compiler is Clang, whatever its name."""
        return "clang" in self.version.lower()

    @property
    def flags(self) -> list[str]:
        """Flags of every compilation."""
        flags = list(_LANGUAGE_FLAGS) if self.is_clang else [*_LANGUAGE_FLAGS, *_GCC_FLAGS]
        if os.uname().machine == "x86_64":
            flags.append("-fcf-protection=none")  # switching stacks breaks shadow stacks
        return flags

    def run(self, arguments: Iterable[str], subject: str) -> str:
        """Run the compiler and return its output; KernelError with its messages if it fails."""
        command = [*self.command, *arguments]
        result = _run(command)
        if result.returncode != 0:
            raise KernelError(f"{subject} does not compile for the host:\n{result.stderr.strip()}")
        return result.stdout


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a compiler without a sanitizer that was loaded into this process."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def find_compiler() -> Compiler:
    """Find the C++ compiler: ``$CXX``, else g++, c++ or clang++."""
    requested = os.environ.get("CXX")
    found = filter(shutil.which, ("g++", "c++", "clang++"))
    command = shlex.split(requested) if requested else [*found][:1]
    if not command or shutil.which(command[0]) is None:
        missing = f"$CXX names {requested!r}, which is missing" if requested else "no C++ compiler found"
        raise UserError(f"{missing}: device host compiles its kernels; install one ({_HOW_TO_INSTALL})")
    return _identify(tuple(command))


@functools.cache
def _identify(command: tuple[str, ...]) -> Compiler:
    result = _run([*command, "--version"])
    if result.returncode != 0:
        complaint = result.stderr.strip().partition("\n")[0]
        raise UserError(f"{shlex.join(command)} --version fails ({_HOW_TO_INSTALL}): {complaint}")
    return Compiler(command, result.stdout.strip())


def cache_folder() -> Path:
    """Return the folder of built libraries: ``$RELAXOMETER_CACHE``, else relaxometer in the user's cache."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "relaxometer"
    folder = Path(os.environ.get("RELAXOMETER_CACHE") or default)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot write compiled kernels to {folder}: {error.strerror}; set RELAXOMETER_CACHE"
        ) from error
    return folder


def build_library(
    source: Source,
    expressions: Sequence[str],
    *,
    options: Sequence[str] = (),
    sanitize: str | None = None,
) -> Path:
    """Return the shared library of a ``.cu`` file, built if it is not in the cache.

    The library numbers its kernels in the order of `expressions`: names or template instantiations.
    `sanitize` is one of `SANITIZERS`, or None.
    """
    compiler = find_compiler()
    flags = [*compiler.flags, *_SANITIZER_FLAGS[sanitize], *options]
    flags += [f"-I{folder}" for folder in (source.path.parent, PACKAGE, EMULATOR)]
    main = _main_file(source, expressions)
    texts = [main, *_emulator_texts(), *source.files.values()]
    key = _digest([compiler.version, *compiler.command, *flags, *texts])
    library = cache_folder() / f"{source.path.stem}-{key}.so"

    def build(scratch: Path) -> Path:
        subject = str(source.path)
        (scratch / "main.cpp").write_text(main, encoding="utf-8")
        expanded = compiler.run([*flags, "-E", str(scratch / "main.cpp")], subject)
        (scratch / "kernels.ii").write_text(rewrite_shared(expanded), encoding="utf-8")
        defines = [flag for flag in _SANITIZER_FLAGS[sanitize] if flag.startswith("-D")]
        objects = [str(_emulator_object(compiler, "scheduler.cpp", defines))]
        if sanitize == "undefined":
            objects.append(str(_emulator_object(compiler, "undefined.cpp", [])))
        kernels = ["-x", "c++-cpp-output", str(scratch / "kernels.ii"), "-x", "none"]
        compiler.run([*flags, "-c", *kernels, "-o", str(scratch / "kernels.o")], subject)
        # undefined.cpp replaces the run-time library of UBSan.
        runtime = [f"-fsanitize={sanitize}"] if sanitize in ("address", "thread") else []
        target = scratch / "library.so"
        linked = [str(scratch / "kernels.o"), *objects, "-o", str(target)]
        compiler.run(["-shared", *runtime, *linked], subject)
        return target

    return _built_once(library, build)


def _main_file(source: Source, expressions: Sequence[str]) -> str:
    exports = ""
    for number, expression in enumerate(expressions):
        parameters = source.parameters(expression)
        passed = [parameter.passed for parameter in parameters]
        size = -1 if None in passed else sum(dtype.itemsize for dtype in passed if dtype)
        exports += f"EMULATOR_EXPORT({number}, {len(parameters)}, {size}, {expression})\n"
    return f'#include "emulator.h"\n#include "{source.path}"\n' + exports


@functools.cache
def _emulator_texts() -> tuple[str, ...]:
    return tuple(file.read_text(encoding="utf-8") for file in sorted(EMULATOR.iterdir()) if file.is_file())


def _emulator_object(compiler: Compiler, name: str, defines: Sequence[str]) -> Path:
    """Return a compiled source file of the emulator."""
    # Host code may use all of the host's API.
    flags = [flag for flag in compiler.flags if flag != "-U_GNU_SOURCE"] + list(defines)
    if os.uname().machine == "x86_64":
        flags.append("-mno-red-zone")  # switching stacks pushes registers that the compiler does not know of
    key = _digest([compiler.version, *compiler.command, *flags, *_emulator_texts()])
    path = EMULATOR / name

    def build(scratch: Path) -> Path:
        target = scratch / "object.o"
        compiler.run([*flags, "-c", str(path), "-o", str(target)], str(path))
        return target

    return _built_once(cache_folder() / f"{path.stem}-{key}.o", build)


def _built_once(target: Path, build: Callable[[Path], Path]) -> Path:
    """Return a file of the cache, made by `build` in a scratch folder if it is missing.

    The finished file is renamed into place, so several processes may build it at once.
    """
    if not target.exists():
        with tempfile.TemporaryDirectory(prefix="building-", dir=target.parent) as scratch:
            build(Path(scratch)).replace(target)
    return target


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


# ------------------------------------------------------------------------------------------ shared memory

_SHARED = re.compile(
    r"(?P<before>(?:\b(?:extern|static|volatile|alignas\s*\([^()]*\))\s*)*)\b__shared__\b\s*"
    r"(?P<declaration>[^;={}]*)(?P<end>[;={}])"
)
_QUALIFIER = re.compile(r"\b(?:volatile|extern|static)\b|\balignas\s*\([^()]*\)")
_VARIABLE = re.compile(
    r"(?P<type>.*?[\s>*])(?P<name>[A-Za-z_]\w*)\s*(?P<extents>(?:\[[^\]]*\]\s*)*)", re.DOTALL
)
_LINE_MARKER = re.compile(r'^# (?P<line>\d+) "(?P<file>[^"]*)"')


def rewrite_shared(text: str) -> str:
    """Rewrite the ``__shared__`` declarations of preprocessed text into C++.

    ``__shared__ T x[A];`` becomes a reference to memory of the running block, and
    ``extern __shared__ T x[];`` a pointer to the launch's dynamic shared memory. Line numbers do not change.
    """
    count = 0

    def rewritten(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        qualifiers = found["before"] + found["declaration"]
        declaration = _QUALIFIER.sub(" ", found["declaration"]).strip()
        variable = _VARIABLE.fullmatch(declaration)
        one_name = "," not in re.sub(r"<[^<>]*>|\[[^\]]*\]", "", declaration)
        if variable is None or not one_name or found["end"] != ";":
            raise KernelError(
                f"{_place(text, found.start())}: declare one __shared__ variable per statement, of a named "
                f"type and without a value: {' '.join(found[0].split())}"
            )
        type_name = " ".join(["volatile"] * ("volatile" in qualifiers) + variable["type"].split())
        name = variable["name"]
        lines = "\n" * found[0].count("\n")
        if "extern" in found["before"]:
            return f"{type_name}* const {name} = emulator::dynamic_shared<{type_name}>();{lines}"
        alias = f"emulator_shared_{count}"
        return (
            f"typedef {type_name} {alias}{''.join(variable['extents'].split())}; "
            f"{alias}& {name} = emulator::shared_variable<{alias}>([]{{}});{lines}"
        )

    return _SHARED.sub(rewritten, text)


def _place(text: str, position: int) -> str:
    """Return file and line of a position in preprocessed text, from the line marker before it."""
    lines = text[:position].split("\n")
    for distance, line in enumerate(reversed(lines)):
        marker = _LINE_MARKER.match(line)
        if marker is not None:
            return f"{marker['file']}:{int(marker['line']) + distance - 1}"
    return "unknown place"
