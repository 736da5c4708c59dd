"""Control-flow graphs of the running Python's standard library."""

import dis
import platform
import sysconfig
import warnings
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import numpy as np
from bytecode import Bytecode, Instr, Label, TryBegin, TryEnd  # type: ignore[attr-defined]
from bytecode.instr import MONITORING_ONLY_JUMP_OPS

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.progress import Progress
from relaxometer.core.validation import suggestion
from relaxometer.datasets.formats.programs import PythonCfgParameters
from relaxometer.datasets.registry import Dataset
from relaxometer.graphs.batch import Arcs, Batch

PROCESSES = 2

JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])

TEST_FOLDERS = frozenset({"test", "tests", "idle_test"})


def build(name: str, dataset: Dataset[PythonCfgParameters]) -> Batch:
    """Make the batch of the standard library; see :data:`relaxometer.datasets.build.Reader`."""
    parameters = dataset.parameters
    library = Path(sysconfig.get_path("stdlib"))
    _check_modules(name, library, parameters.modules or [])
    sources = library_files(library, parameters.modules, tests=parameters.tests)
    progress = Progress(f"control-flow graphs of {library}", len(sources))
    graphs: list[Arcs] = []
    n_files = not_compiled = not_decoded = candidates = 0
    # A fork could copy locks that other threads hold; a spawned process starts clean.
    with get_context("spawn").Pool(PROCESSES) as pool:
        for found in pool.imap(partial(graphs_of_file, library=library), sources, chunksize=8):
            progress.step()
            n_files += 1
            not_compiled += not found.compiled
            not_decoded += found.not_decoded
            graphs += found.graphs
            candidates += sum(arcs[1] >= parameters.minimum_blocks for arcs in found.graphs)
            if parameters.first and candidates >= parameters.first:
                # Blocks that are never reached do not count.
                candidates = int((Batch.from_graphs(name, graphs).sizes >= parameters.minimum_blocks).sum())
                if candidates >= parameters.first:
                    break
    metadata = {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "decoder": f"bytecode {version('bytecode')}",
        "files": n_files,
        "files_not_compiled": not_compiled,
        "code_objects": len(graphs),
        "code_objects_not_decoded": not_decoded,
    }
    batch = Batch.from_graphs(name, graphs, metadata=metadata)
    wanted = batch.sizes >= parameters.minimum_blocks
    if parameters.first:
        wanted &= np.cumsum(wanted) <= parameters.first
    return batch.select(wanted)


def _check_modules(name: str, library: Path, modules: Collection[str]) -> None:
    """Refuse names that are not Python modules or packages of the library."""
    known = [entry.stem for entry in library.iterdir() if entry.is_dir() or entry.suffix == ".py"]
    for module in modules:
        if module not in known:
            hint = suggestion(module, known)
            raise UserError(
                f"batch {name}: parameters.modules: unknown module {quoted(module)} of {library}{hint}"
            )


def library_files(library: Path, modules: Collection[str] | None, *, tests: bool) -> list[Path]:
    """Return the files of the modules and packages of a library (None for all), with or without its tests."""
    files = []
    for file in sorted(library.rglob("*.py")):
        parts = file.relative_to(library).with_suffix("").parts
        wanted = modules is None or parts[0] in modules
        # Installed packages are not part of the library.
        if wanted and "site-packages" not in parts and (tests or TEST_FOLDERS.isdisjoint(parts)):
            files.append(file)
    return files


class FileGraphs(NamedTuple):
    """The graphs of a Python file, and what could not be compiled or decoded."""

    graphs: list[Arcs]
    compiled: bool = True
    not_decoded: int = 0


def graphs_of_file(file: Path, library: Path) -> FileGraphs:
    """Return the control-flow graphs of a Python file of a library.

    Some files of the library's tests are wrong on purpose; they are marked as not compiled.
    """
    module = ".".join(file.relative_to(library).with_suffix("").parts)
    try:
        with warnings.catch_warnings(action="ignore"):
            code = compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return FileGraphs([], compiled=False)
    graphs: list[Arcs] = []
    not_decoded = 0
    for part in nested_code(code):
        try:
            graphs.append((f"{module}.{part.co_qualname}:{part.co_firstlineno}", *control_flow(part)))
        except IndexError:
            # bytecode 0.19 fails on a comprehension inside the bound of a type parameter.
            not_decoded += 1
    return FileGraphs(graphs, not_decoded=not_decoded)


def nested_code(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all inside it: functions, comprehensions, class bodies."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested_code(constant)


def control_flow(code: CodeType) -> tuple[int, list[int], list[int], int]:
    """Return the basic blocks of a code object as a graph: their number, tails, heads and the entry, 0.

    Arcs lead from a block to the next one, to the target of its jump, and to its exception handler, because
    any of its instructions may raise. Parallel arcs occur.
    """
    # Most code has a single block, which shows without decoding.
    if not code.co_exceptiontable and JUMPS.isdisjoint(code.co_code[::2]):
        return 1, [], [], 0
    blocks = _basic_blocks(code)
    index_of = {label: index for index, block in enumerate(blocks) for label in block.labels}
    tails: list[int] = []
    heads: list[int] = []
    for index, block in enumerate(blocks):
        successors = [index_of[label] for label in (block.jump, block.handler) if label is not None]
        if not block.last.is_final() and index + 1 < len(blocks):
            successors.append(index + 1)
        tails += [index] * len(successors)
        heads += successors
    return len(blocks), tails, heads, 0


@dataclass
class _Block:
    """A basic block: the labels of jumps to it, its exception handler, and its last instruction."""

    labels: list[Label]
    handler: Label | None
    last: Instr

    @property
    def jump(self) -> Label | None:
        """The label that the block may jump to, if any."""
        # Some instructions have a target for debuggers only and never jump there.
        jumps = self.last.has_jump() and self.last.opcode not in MONITORING_ONLY_JUMP_OPS
        return self.last.arg if jumps and isinstance(self.last.arg, Label) else None


def _basic_blocks(code: CodeType) -> list[_Block]:
    """Cut a code object before each label, after each jump, return or raise, and where the handler changes.

    ``bytecode.ControlFlowGraph`` records a handler only in the first block that it covers, and is slower.
    """
    blocks: list[_Block] = []
    labels: list[Label] = []
    handler: Label | None = None
    may_go_on = False
    for item in Bytecode.from_code(code):
        if isinstance(item, Instr):
            if may_go_on:
                blocks[-1].last = item
            else:
                blocks.append(_Block(labels, handler, item))
                labels = []
            may_go_on = not (item.has_jump() or item.is_final())
            continue
        may_go_on = False
        if isinstance(item, Label):
            labels.append(item)
        elif isinstance(item, TryBegin):
            assert isinstance(item.target, Label)
            handler = item.target
        elif isinstance(item, TryEnd):
            handler = None
    return blocks
