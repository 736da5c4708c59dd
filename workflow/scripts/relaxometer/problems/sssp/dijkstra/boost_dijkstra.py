"""Boost.Graph's Dijkstra on one CPU core, with which the survey compares its kernels."""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
import time
import weakref
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from relaxometer.core.errors import UserError
from relaxometer.device import KernelError
from relaxometer.device.host_build import Compiler, built_once, find_compiler
from relaxometer.problems import variants
from relaxometer.problems.phases import Phase
from relaxometer.problems.sssp import NO_PREDECESSOR, UNREACHED, Answer

if TYPE_CHECKING:
    from relaxometer.graphs.resident import ResidentGraph

PROGRAM = Path(__file__).with_name("boost_dijkstra.cpp")
FLAGS = ("-std=c++17", "-O3", "-DNDEBUG", "-shared", "-fPIC")
HEADER = "boost/graph/dijkstra_shortest_paths.hpp"


class Parameters(variants.Parameters):
    """No parameters."""


class Solver:
    """SSSP by ``boost::dijkstra_shortest_paths``, compiled by the system's C++ compiler.

    Raises
    ------
    Skipped
        If there is no C++ compiler, or Boost's headers are not installed.
    """

    runs_on: ClassVar[Literal["device", "cpu"]] = "cpu"

    def __init__(self, graph: ResidentGraph, parameters: Parameters) -> None:
        self._library, self._version = _library()
        host = graph.host
        self._degrees = host.degrees
        arrays = (host.offsets, host.targets, host.weights)
        self._graph = self._library.graph_new(host.n_vertices, *(array.ctypes.data for array in arrays))
        weakref.finalize(self, self._library.graph_delete, self._graph)

    @property
    def resolved(self) -> dict[str, Any]:
        """Return the version of Boost."""
        return {"boost": self._version}

    def solve(self, source: int, phases: list[Phase] | None = None) -> Answer:
        """Find the shortest paths from `source`; see :class:`relaxometer.problems.sssp.Solver`.

        There are no phases; an instrumented run records the search as one. Paths longer than 2**32 - 2 set
        the answer's flag, and their ends count as unreached.
        """
        start = time.perf_counter()
        n = len(self._degrees)
        wide = np.empty(n, dtype=np.uint64)
        predecessor = np.empty(n, dtype=np.uint32)
        self._library.graph_search(self._graph, source, wide.ctypes.data, predecessor.ctypes.data)
        reached = wide < UNREACHED
        distance = np.where(reached, wide, UNREACHED).astype(np.uint32)
        predecessor[~reached] = NO_PREDECESSOR
        if phases is not None:
            elapsed_ms = (time.perf_counter() - start) * 1e3
            arcs = int(self._degrees[reached].sum())
            phases.append(Phase("heap", int(reached.sum()) - 1, arcs, elapsed_ms))
        overflowed = (wide != np.uint64(2**64 - 1)) & ~reached
        return Answer(distance, predecessor, None, bool(overflowed.any()))


@cache
def _library() -> tuple[Any, str]:
    """Return the program, compiled or from the cache, and the version of Boost."""
    try:
        compiler = find_compiler()
    except UserError as error:
        raise variants.Skipped("no C++ compiler: install g++ to run boost-dijkstra") from error
    version = _boost_version(compiler)
    parts = (compiler.version, *compiler.command, *FLAGS, version, PROGRAM.read_text(encoding="utf-8"))
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    def build(scratch: Path) -> Path:
        target = scratch / "library.so"
        compiler.run([*FLAGS, str(PROGRAM), "-o", str(target)], str(PROGRAM))
        return target

    library = ctypes.CDLL(str(built_once(f"boost_dijkstra-{digest}.so", build)))
    pointer = ctypes.c_void_p
    library.graph_new.restype = pointer
    library.graph_new.argtypes = (ctypes.c_uint32, pointer, pointer, pointer)
    library.graph_delete.restype = None
    library.graph_delete.argtypes = (pointer,)
    library.graph_search.restype = None
    library.graph_search.argtypes = (pointer, ctypes.c_uint32, pointer, pointer)
    return library, version


def _boost_version(compiler: Compiler) -> str:
    """Return the version of Boost that the compiler finds.

    Raises
    ------
    Skipped
        If it finds none.
    """
    question = f"#include <{HEADER}>\n#include <boost/version.hpp>\nversion: BOOST_LIB_VERSION\n"
    with tempfile.TemporaryDirectory(prefix="boost-") as scratch:
        file = Path(scratch) / "version.cpp"
        file.write_text(question, encoding="utf-8")
        try:
            expanded = compiler.run(["-std=c++17", "-E", "-P", str(file)], HEADER)
        except KernelError as error:
            raise variants.Skipped(
                f"no {HEADER}: install Boost's headers (Debian and Ubuntu: apt install libboost-graph-dev)"
            ) from error
    return expanded.rpartition("version:")[2].strip().strip('"').replace("_", ".")
