"""Builds ``.cu`` files with the host's C++ compiler into cached shared libraries.

A build preprocesses the file, rewrites its ``__shared__`` declarations, compiles it after the emulator's
headers, and links it with the emulator's scheduler, which is compiled once per set of flags and never
instrumented by a sanitizer. Sanitized code calls functions of the emulator, not the compiler's libraries.
"""

import errno
import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from relaxometer.core.cache import cache_location
from relaxometer.core.checkout import PACKAGE
from relaxometer.core.environment import is_full
from relaxometer.core.errors import UserError, quoted
from relaxometer.device import KernelError, compile_error
from relaxometer.device.signature import Source

EMULATOR = Path(__file__).resolve().parent / "emulator"

_LANGUAGE_FLAGS = [
    "-std=c++17",
    "-U_GNU_SOURCE",  # leaves select, index, y1 and other short names of POSIX to kernels
    "-O2",
    "-g1",  # lines and inlined calls, which messages name; no variables
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
    "-fno-tree-loop-distribute-patterns",  # or faults would be in memset; Clang has other flags for that
    "-fno-gnu-unique",  # or two kernels' libraries would share inline variables
    "-fno-exceptions",
    "-fno-ipa-icf",  # or equal kernels would be one, with the lines of the first
]
_CLANG_FLAGS = [
    "-fno-builtin-memset",
    "-fno-builtin-memcpy",
    "-gdwarf-4",  # addr2line of Binutils 2.40 names wrong files from the DWARF 5 of Clang 14
    "-g1",  # -gdwarf-4 alone would add variables
]
# Checks of accesses are calls; local variables get none, since "undefined" finds wrong indices of theirs.
_ADDRESS_PARAMETERS = ("asan-instrumentation-with-call-threshold=0", "asan-stack=0", "asan-globals=0")
# In CUDA, volatile accesses are relaxed ones. GCC tells them apart since version 11.
_VOLATILE_APART = "tsan-distinguish-volatile=1"
_SANITIZER_FLAGS = {
    None: [],
    "undefined": ["-fsanitize=undefined", "-fno-sanitize=vptr,alignment", "-fno-sanitize-recover=all"],
    "address": ["-fsanitize=kernel-address"],
    "thread": ["-fsanitize=thread", "-DEMULATOR_RACES"],
}
_CALLBACKS = {"undefined": "undefined.cpp", "address": "bounds.cpp", "thread": "races.cpp"}
"""What the compiler's run-time libraries would do."""
# Lets arrays begin anywhere: x86-64's aligned moves would fault where a kernel loads a uint4.
_UNALIGNED = "-Wa,-muse-unaligned-vector-move"
SANITIZERS = tuple(name for name in _SANITIZER_FLAGS if name is not None)

_HOW_TO_INSTALL = "Debian: apt install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install"
_REMEDY = f"install one ({_HOW_TO_INSTALL}), or let CXX name one"


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: the command with its leading arguments, its version message, and its optional flags."""

    command: tuple[str, ...]
    version: str
    takes: tuple[str, ...] = ()

    @property
    def is_clang(self) -> bool:
        """Whether the compiler is Clang, whatever its name."""
        return "clang" in self.version.lower()

    @property
    def flags(self) -> list[str]:
        """Flags of every compilation."""
        flags = [*_LANGUAGE_FLAGS, *(_CLANG_FLAGS if self.is_clang else _GCC_FLAGS)]
        if os.uname().machine == "x86_64":
            flags.append("-fcf-protection=none")  # switching stacks breaks shadow stacks
        if _UNALIGNED in self.takes:
            flags.append(_UNALIGNED)
        return flags

    def sanitizer_flags(self, sanitize: str | None) -> list[str]:
        """Return the flags of kernels that a sanitizer checks."""
        flags = list(_SANITIZER_FLAGS[sanitize])
        parameters: tuple[str, ...] = ()
        if sanitize == "address":
            parameters = _ADDRESS_PARAMETERS
        elif sanitize == "thread" and (self.is_clang or f"--param={_VOLATILE_APART}" in self.takes):
            parameters = (_VOLATILE_APART,)
        for parameter in parameters:
            flags += ["-mllvm", f"-{parameter}"] if self.is_clang else ["--param", parameter]
        if sanitize == "undefined" and self.is_clang:
            flags.append("-fno-sanitize=function")  # GCC has no such check
        return flags

    def run(self, arguments: Iterable[str], subject: Path) -> str:
        """Run the compiler and return its output; KernelError with its messages if it fails."""
        command = [*self.command, *arguments]
        result = _run(command)
        if result.returncode != 0:
            _check_space()
            raise compile_error(subject, "the host", result.stderr)
        return result.stdout


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    except OSError as error:
        raise UserError(f"{_named(command)} cannot be run: {error.strerror}; {_REMEDY}") from None


def _named(command: Sequence[str]) -> str:
    origin = " ($CXX)" if os.environ.get("CXX") else ""
    return f"the C++ compiler {quoted(command[0])}{origin}"


def find_compiler() -> Compiler:
    """Find the C++ compiler: ``$CXX``, else g++, c++ or clang++."""
    requested = os.environ.get("CXX")
    found = filter(shutil.which, ("g++", "c++", "clang++"))
    try:
        command = shlex.split(requested) if requested else [*found][:1]
    except ValueError as error:
        raise UserError(f"$CXX is {quoted(requested)}, which is not a command: {error}; {_REMEDY}") from None
    if not command or shutil.which(command[0]) is None:
        missing = (
            f"$CXX names {quoted(requested)}, which is missing" if requested else "no C++ compiler found"
        )
        raise UserError(f"{missing}: device host compiles its kernels; {_REMEDY}")
    return _identify(tuple(command))


def can_load_unaligned() -> bool:
    """Return whether kernels may load vectors of 16 bytes from any address."""
    return os.uname().machine != "x86_64" or _UNALIGNED in find_compiler().takes


@functools.cache
def _identify(command: tuple[str, ...]) -> Compiler:
    """Ask a compiler what it is and which optional flags it takes, once until one of its programs changes."""
    programs = [Path(found).resolve() for word in (*command, "as") if (found := shutil.which(word))]
    stamps = [f"{program} {program.stat().st_size} {program.stat().st_mtime_ns}" for program in programs]

    def ask(scratch: Path) -> Path:
        said = _run([*command, "--version"])
        if said.returncode != 0:
            complaint = quoted(said.stderr.strip().partition("\n")[0])
            raise UserError(f"{_named(command)} fails with --version: {complaint}; {_REMEDY}")
        empty = ["-x", "c++", "-c", os.devnull, "-o", f"{scratch}/empty.o"]
        flags = (_UNALIGNED, f"--param={_VOLATILE_APART}")
        takes = [flag for flag in flags if _run([*command, flag, *empty]).returncode == 0]
        answer = scratch / "answer"
        answer.write_text(json.dumps({"version": said.stdout.strip(), "takes": takes}), encoding="utf-8")
        return answer

    answer = json.loads(built_once(f"compiler-{_digest([*command, *stamps])}.json", ask).read_text("utf-8"))
    return Compiler(command, answer["version"], tuple(answer["takes"]))


def cache_folder() -> Path:
    """Return the folder of built libraries, made if it is missing."""
    folder = cache_location()
    with _writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    """Report a cache that cannot be written in one line."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"cannot write compiled kernels to {folder}: {error.strerror}; set RELAXOMETER_CACHE"
        ) from None


def build_library(
    source: Source, expressions: Sequence[str], *, options: Sequence[str] = (), sanitize: str | None = None
) -> Path:
    """Return the shared library of a ``.cu`` file, built if it is not in the cache.

    The library numbers its kernels in the order of `expressions`: names or template instantiations.
    `sanitize` is one of `SANITIZERS`, or None.
    """
    compiler = find_compiler()
    flags = [*compiler.flags, *compiler.sanitizer_flags(sanitize), *options]
    flags += [f"-I{folder}" for folder in (source.path.parent, PACKAGE, EMULATOR)]
    main = _main_file(source, expressions)
    texts = [main, *_emulator_texts(), *source.files.values()]
    key = _digest([compiler.version, *compiler.command, *flags, *texts])

    def build(scratch: Path) -> Path:
        subject = source.path
        (scratch / "main.cpp").write_text(main, encoding="utf-8")
        expanded = compiler.run([*flags, "-E", str(scratch / "main.cpp")], subject)
        (scratch / "kernels.ii").write_text(rewrite_shared(expanded), encoding="utf-8")
        defines = [flag for flag in _SANITIZER_FLAGS[sanitize] if flag.startswith("-D")]
        objects = [str(_emulator_file("scheduler.cpp", "o", "-c", *defines))]
        if sanitize is not None:
            objects.append(str(_emulator_file(_CALLBACKS[sanitize], "o", "-c", *defines)))
        kernels = ["-x", "c++-cpp-output", str(scratch / "kernels.ii"), "-x", "none"]
        compiler.run([*flags, "-c", *kernels, "-o", str(scratch / "kernels.o")], subject)
        target = scratch / "library.so"
        compiler.run(["-shared", str(scratch / "kernels.o"), *objects, "-o", str(target)], subject)
        return target

    return built_once(f"{source.path.stem}-{key}.so", build)


def build_guards() -> Path:
    """Return the shared library of the arrays' red zones."""
    return _emulator_file("guards.cpp", "so", "-shared")


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


def _emulator_file(name: str, suffix: str, *more: str) -> Path:
    """Return a compiled source file of the emulator; `more` are flags."""
    compiler = find_compiler()
    # Host code may use all of the host's API.
    flags = [flag for flag in compiler.flags if flag != "-U_GNU_SOURCE"] + list(more)
    if os.uname().machine == "x86_64":
        flags.append("-mno-red-zone")  # switching stacks pushes registers that the compiler does not know of
    key = _digest([compiler.version, *compiler.command, *flags, *_emulator_texts()])
    path = EMULATOR / name

    def build(scratch: Path) -> Path:
        compiler.run([*flags, str(path), "-o", f"{scratch}/{name}.{suffix}"], path)
        return scratch / f"{name}.{suffix}"

    return built_once(f"{path.stem}-{key}.{suffix}", build)


def built_once(name: str, build: Callable[[Path], Path]) -> Path:
    """Return a file of the cache, made by `build` in a scratch folder if it is missing or damaged.

    The finished file is renamed into place, so several processes may build it at once. Its checksum is kept
    in ``{name}.sha256``, since a damaged library could end the process that loads it.
    """
    folder = cache_folder()
    target, seal = folder / name, folder / f"{name}.sha256"
    if not _is_whole(target, seal):
        with _writing_to(folder), tempfile.TemporaryDirectory(prefix="building-", dir=folder) as scratch:
            built = build(Path(scratch))
            if not built.is_file():
                raise UserError(f"{_named(find_compiler().command)} compiles nothing; {_REMEDY}")
            checksum = Path(scratch) / "checksum"
            checksum.write_text(_sha256(built), encoding="utf-8")
            built.replace(target)
            checksum.replace(seal)
    return target


def _is_whole(file: Path, seal: Path) -> bool:
    """Return whether a file of the cache is the one that was built."""
    try:
        return seal.read_text(encoding="utf-8") == _sha256(file)
    except (OSError, ValueError):
        return False


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _check_space() -> None:
    """Refuse to blame a kernel if a disk that the compiler writes to is full."""
    for folder in (cache_folder(), Path(tempfile.gettempdir())):
        if is_full(folder):
            with _writing_to(folder):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


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
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'")
_NAMESPACE = re.compile(r"(?:\bnamespace(?:\s+[\w:]+)?|\bextern)\s*\Z")
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
        if _is_at_file_scope(text, found.start()):
            raise KernelError(
                f"{_place(text, found.start())}: for the emulation, declare __shared__ variables inside a "
                f"function: {' '.join(found[0].split())}"
            )
        type_name = " ".join(["volatile"] * ("volatile" in qualifiers) + variable["type"].split())
        name = variable["name"]
        lines = "\n" * found[0].count("\n")
        if "extern" in found["before"]:
            return f"{type_name}* const {name} = emulator::dynamic_shared<{type_name}>();{lines}"
        alias = f"emulator_shared_{count}"
        return (
            f"typedef {type_name} {alias}{''.join(variable['extents'].split())}; "
            f'{alias}& {name} = emulator::shared_variable<{alias}>([]{{}}, "{name}");{lines}'
        )

    return _SHARED.sub(rewritten, text)


def _is_at_file_scope(text: str, position: int) -> bool:
    """Return whether no brace is open there but those of namespaces and of ``extern "C"``."""
    code = _QUOTED.sub("", text[:position])
    are_namespaces: list[bool] = []
    for brace in re.finditer("[{}]", code):
        if brace[0] == "}":
            del are_namespaces[-1:]
        else:
            before = code[max(0, brace.start() - 200) : brace.start()]
            are_namespaces.append(bool(_NAMESPACE.search(before)))
    return all(are_namespaces)


def _place(text: str, position: int) -> str:
    """Return file and line of a position in preprocessed text, from the line marker before it."""
    lines = text[:position].split("\n")
    for distance, line in enumerate(reversed(lines)):
        marker = _LINE_MARKER.match(line)
        if marker is not None:
            return f"{marker['file']}:{int(marker['line']) + distance - 1}"
    return "unknown place"
