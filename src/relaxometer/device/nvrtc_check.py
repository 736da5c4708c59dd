"""Compiles kernels for GPUs without one: ``python -m relaxometer.device.nvrtc_check [file ...]``.

NVRTC needs neither driver nor GPU. It finds errors that g++ accepts: a missing include, a host function in a
kernel, registers that spill into memory. Without arguments, all ``.cu`` files of the package are compiled.
Templates that no kernel of the file instantiates are only parsed.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relaxometer.core.checkout import PACKAGE
from relaxometer.core.errors import UserError
from relaxometer.device import KernelError, compile_error
from relaxometer.device.cuda import compiler_options, numbered_source
from relaxometer.device.signature import Source, read_source

ARCHITECTURES = ("80", "90", "100")
# Options that CuPy adds at run time.
_CUPY_OPTIONS = ("-ftz=true", "--device-as-default-execution-space")

CACHES = (12, 9)
"""The first version of NVRTC with a cache."""

_USAGE = re.compile(
    r"Compiling entry function '(?P<kernel>\w+)' for.*?"
    r"bytes stack frame, "
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers",
    re.DOTALL,
)


@dataclass(frozen=True)
class Usage:
    """A kernel's registers and spilled bytes per thread."""

    kernel: str
    registers: int
    spilled_bytes: int


def load_nvrtc() -> Any:
    """Import CuPy's binding of NVRTC and load the library."""
    try:
        nvrtc = importlib.import_module("cupy.cuda").nvrtc
        nvrtc.getVersion()
    except (ImportError, OSError, RuntimeError) as error:
        raise UserError(
            "NVRTC is not installed: pip install cupy-cuda13x==14.2.0 'nvidia-cuda-nvrtc==13.0.*' "
            f"'nvidia-cuda-runtime==13.0.*' ({error})"
        ) from error
    return nvrtc


def compile_source(source: Source, architecture: str, more: tuple[str, ...] = ()) -> list[Usage]:
    """Compile a file for an architecture such as ``"90"``, with `more` options; KernelError if this fails."""
    nvrtc = load_nvrtc()
    assemble = importlib.import_module("cupy._core.core").assemble_cupy_compiler_options
    options = assemble(compiler_options(source, more))
    options += (f"-arch=sm_{architecture}", "--ptxas-options=-v", *_CUPY_OPTIONS)
    if nvrtc.getVersion() >= CACHES:
        options += ("--no-cache",)  # what comes from the cache has no log
    program = nvrtc.createProgram(numbered_source(source), source.path.name, (), ())
    try:
        nvrtc.compileProgram(program, options)
        log = nvrtc.getProgramLog(program)
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(program)
        raise compile_error(source.path, f"sm_{architecture}", log) from error
    finally:
        nvrtc.destroyProgram(program)
    found = (usage.group("kernel", "registers", "stores", "loads") for usage in _USAGE.finditer(log))
    return [
        Usage(kernel, int(registers), int(stores) + int(loads)) for kernel, registers, stores, loads in found
    ]


def check(paths: Sequence[Path], architectures: Sequence[str]) -> list[str]:
    """Print the registers of every kernel in these files; return one line per problem."""
    complaints = []
    print(f"{'registers for':<52}" + "".join(f"{'sm_' + name:>8}" for name in architectures))
    for path in paths:
        registers: dict[str, list[int]] = {}
        for architecture in architectures:
            try:
                usages = compile_source(read_source(path, [PACKAGE]), architecture)
            except KernelError as error:
                complaints.append(str(error))
                continue
            for usage in usages:
                registers.setdefault(usage.kernel, []).append(usage.registers)
                if usage.spilled_bytes:
                    complaints.append(
                        f"{path}: {usage.kernel} spills {usage.spilled_bytes} bytes on sm_{architecture}"
                    )
        for kernel, counts in registers.items():
            print(f"{path.name + ' ' + kernel:<52}" + "".join(f"{count:>8}" for count in counts))
    return complaints


def main() -> None:
    """Check the files named on the command line, or all of the package."""
    parser = argparse.ArgumentParser(
        prog="python -m relaxometer.device.nvrtc_check",
        description="Compile kernels with NVRTC; no GPU is needed.",
    )
    parser.add_argument("files", nargs="*", type=Path, help="default: every .cu file of the package")
    parser.add_argument(
        "--arch", nargs="+", default=ARCHITECTURES, help="compute capabilities without the dot"
    )
    arguments = parser.parse_args()
    try:
        load_nvrtc()
    except UserError as error:
        sys.exit(str(error))
    complaints = check(arguments.files or sorted(PACKAGE.rglob("*.cu")), arguments.arch)
    if complaints:
        sys.exit("\n".join(complaints))


if __name__ == "__main__":
    main()
