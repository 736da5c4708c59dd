"""Control-flow graphs of C files, as clang lowers them to LLVM's intermediate representation."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from llvmlite import binding

from relaxometer.core.errors import UserError, quoted
from relaxometer.datasets.formats.programs import CCfgParameters
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.batch import Arcs, Batch

# Keep the names of labels, so that the text does not depend on how clang was built; leave out debug records,
# whose format differs between versions of LLVM.
OPTIONS = ["-S", "-emit-llvm", "-g0", "-fno-discard-value-names", "-w", "-o", "-"]

TIMEOUT_S = 600
"""Time for one file in seconds."""


def build(name: str, dataset: Dataset[CCfgParameters], file: Path) -> Batch:
    """Make the batch of a C file; see :data:`relaxometer.datasets.build.Reader`."""
    parameters = dataset.parameters
    graphs = list(control_flow(compile_to_llvm(file, parameters.options), file))
    metadata = {"compiler": clang_version(), "functions": len(graphs)}
    batch = Batch.from_graphs(name, graphs, metadata=metadata)
    return batch.select(batch.sizes >= parameters.minimum_blocks)


def clang() -> str:
    """Return the path of clang, or raise a UserError if it is not installed."""
    path = shutil.which("clang")
    if path is None:
        raise UserError(
            "clang, which lowers C files to LLVM, is not on PATH; install clang or leave the batch out"
        )
    return path


def clang_version() -> str:
    """Return the first line of ``clang --version``."""
    run = subprocess.run([clang(), "--version"], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()[0]


def compile_to_llvm(file: Path, options: list[str]) -> str:
    """Return LLVM's intermediate representation of a C file as text.

    UserError if clang is not installed, or refuses the file or takes too long.
    """
    command = [clang(), *options, *OPTIONS, "--", str(file)]
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{file}: clang could not compile it within {TIMEOUT_S} s") from None
    if run.returncode:
        said = run.stderr.strip().splitlines() or ["no reason given"]
        reason = next((line for line in said if "error:" in line), said[0]).removeprefix(f"{file}:")
        raise UserError(f"{file}: clang could not compile it: {quoted(reason)}")
    return run.stdout


def control_flow(llvm: str, file: Path) -> Iterator[Arcs]:
    """Yield the control-flow graph of every function in LLVM's intermediate representation of a C file.

    The name is that of file and function; blocks are in LLVM's order, whose entry is the first. Parallel arcs
    occur. UserError if llvmlite cannot read the module.
    """
    try:
        module = binding.parse_assembly(llvm)
    except RuntimeError as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), "no reason given")
        raise UserError(
            f"{file}: llvmlite {'.'.join(map(str, binding.llvm_version_info))} (LLVM) cannot read what "
            f"{clang_version()} wrote: {quoted(reason)}"
        ) from None
    for function in module.functions:
        if not function.is_declaration:
            yield f"{file.name}:{function.name}", *_arcs(function)


def _arcs(function: binding.ValueRef) -> tuple[int, list[int], list[int], int]:
    """Return a function's blocks, the arcs between them, and the entry."""
    blocks = list(function.blocks)
    # The values themselves, since blocks need not have names.
    index_of = {block: index for index, block in enumerate(blocks)}
    tails: list[int] = []
    heads: list[int] = []
    for index, block in enumerate(blocks):
        *_, terminator = block.instructions
        # The successors of a block are the labels among its terminator's operands.
        for operand in terminator.operands:
            if str(operand.type) == "label":
                tails.append(index)
                heads.append(index_of[operand])
    return len(blocks), tails, heads, 0
