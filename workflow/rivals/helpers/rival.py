"""The adapter's side of the protocol in ``docs/rivals.md``, for libraries with a Python interface.

An adapter is a class and one call::

    class Mine(Rival):
        version = mine.__version__

        def __init__(self, graph, problem, parameters):  # timed as loading
            self.graph = mine.Graph(graph.offsets, graph.targets, graph.weights)

        def solve(self, source):  # timed
            self.found = self.graph.shortest_paths(source)

        def answer(self):  # not timed
            return {"distance": self.found.distances}


    serve(Mine)

It needs NumPy and nothing else. Messages go over the standard output that the process started with; whatever
a library prints goes to the standard error.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np

TYPES = {"<u4": "u32", "<i4": "i32", "<u8": "u64", "<i8": "i64", "<f4": "f32", "<f8": "f64"}


class Skipped(Exception):
    """The rival does not suit the graph, and why."""


class Unsupported(Exception):
    """The adapter lacks a method that the configuration needs."""


class Graph:
    """The graph of a job, or a batch of graphs.

    Attributes
    ----------
    n_vertices, n_arcs : int
    offsets : ndarray of shape (n_vertices + 1,), int64
        The arcs of vertex v are ``offsets[v]`` to ``offsets[v + 1] - 1``.
    targets : ndarray of shape (n_arcs,), uint32
    weights : ndarray of shape (n_arcs,), uint32
        None of a batch.
    first_vertex : ndarray of shape (n_graphs + 1,), int64
        Where the vertices of each graph of a batch begin; None of a graph.
    entries : ndarray of shape (n_graphs,), uint32
        The entry of each graph of a batch, counted within the graph.
    folder : Path
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.facts = json.loads((folder / "graph.json").read_text(encoding="utf-8"))
        self.n_vertices, self.n_arcs = self.facts["vertices"], self.facts["arcs"]
        self.offsets = self._array("offsets.i64", "<i8")
        self.targets = self._array("targets.u32", "<u4")
        self.weights = self._array("weights.u32", "<u4")
        self.first_vertex = self._array("first_vertex.i64", "<i8")
        self.entries = self._array("entries.u32", "<u4")

    def _array(self, name: str, dtype: str):
        path = self.folder / name
        return np.fromfile(path, dtype) if path.exists() else None

    @property
    def tails(self):
        """Tail of every arc, shape (n_arcs,), uint32."""
        return np.repeat(np.arange(self.n_vertices, dtype=np.uint32), np.diff(self.offsets))

    def parts(self):
        """Yield number of vertices, tails, heads and entry of each graph of a batch, with ids within it.

        A graph is its own only part. It has no entry: None.
        """
        if self.first_vertex is None:
            yield self.n_vertices, self.tails, self.targets, None
            return
        degrees, first = np.diff(self.offsets), self.first_vertex
        for begin, end, entry in zip(first, first[1:], self.entries, strict=False):
            tails = np.repeat(np.arange(end - begin, dtype=np.uint32), degrees[begin:end])
            yield int(end - begin), tails, self.targets[self.offsets[begin] : self.offsets[end]], int(entry)


class Queries:
    """A set of point-to-point queries.

    Attributes
    ----------
    origins, targets : ndarray of shape (n_queries,), uint32
    columns : int
        Of a table, the number of its targets: query i is from its row i // columns to its column i % columns.
        0 for other sets.
    cutoff : int
        Longer paths count as no path.
    paths : bool
        Whether paths are asked for in addition to distances.
    """

    def __init__(self, folder: Path):
        self.origins, self.targets = (
            np.fromfile(folder / f"{name}.u32", "<u4") for name in ("origins", "targets")
        )
        lines = (folder / "options.txt").read_text(encoding="ascii").splitlines()
        options = dict(line.split("=", 1) for line in lines)
        self.columns, self.cutoff = int(options["columns"]), int(options["cutoff"])
        self.paths = options["paths"] == "1"


class Rival:
    """Base of adapters: one library on one graph.

    Attributes
    ----------
    version : str
    rebuilds : bool
        Whether an object may be made anew in one process; False for a library that keeps state of its own.
    facts : dict
        Further facts to record, such as parameters that the library chose; read after `prepare` and after
        `customize`.
    solve : callable
        ``solve(source)`` makes a search; `source` is None if the problem has none. Each adapter defines it as
        a method, or sets one per problem.
    answer : callable
        ``answer()`` returns the columns of the last search's answer, arrays of one value per vertex, or per
        query; defined like `solve`.
    """

    version = "unknown"
    rebuilds = True
    facts: dict[str, object] = {}  # noqa: RUF012 - an adapter sets its own
    solve: Callable[[int | None], None]
    answer: Callable[[], dict]

    def __init__(self, graph: Graph, problem: str, parameters: dict[str, str]):
        """Load the graph into the library's own form; a `call` does so again.

        What belongs to the process and not to a graph, such as pools of memory, is made outside the class.
        """

    def ask(self, queries: Queries) -> None:
        """Convert the queries of the next search to the library's form; not timed.

        Only problems with query sets have it; their `solve` gets the number of the set.
        """
        raise Unsupported("the adapter does not answer queries")

    def prepare(self) -> None:
        """Prepare once for all searches, if the library offers it."""

    def fetch(self) -> None:
        """Copy the answer of the last search to host memory, if that leaves it on a GPU.

        The end of a call, whose time includes it; otherwise not timed. Called before every `answer`.
        """

    def take(self, weights) -> None:
        """Convert new weights of the same arcs, uint32 of shape (n_arcs,), to the library's form; not timed.

        An adapter whose definition says ``customizes: true`` has this method and `customize`.
        """
        raise Unsupported("the adapter does not take new weights")

    def customize(self) -> None:
        """Search with the weights that were taken last from now on; timed. `facts` are read again."""


def levels(predecessor, source: int):
    """Return the level of each vertex in a breadth-first tree, shape (n_vertices,), int64; -1 if unreached.

    For libraries that return no levels. It belongs in `answer`, outside the clock.

    Parameters
    ----------
    predecessor : ndarray of shape (n_vertices,), integers
        Negative where the search did not come. That of the source is not read.
    source : int
    """
    above = np.where(predecessor < 0, np.arange(len(predecessor)), predecessor)
    above[source] = source
    level = (above != np.arange(len(above))).astype(np.int64)
    for _ in range(len(above).bit_length()):  # each round doubles the steps that a jump takes
        level += level[above]
        above = above[above]
    level[above != source] = -1
    return level


def serve(rival: type[Rival]) -> None:
    """Answer messages until the standard input ends."""
    messages = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    try:
        _serve(rival, messages)
    except Skipped as why:
        print("skipped", _line(why), file=messages)
    except MemoryError as why:
        print("oom", _line(why), file=messages)
    except Unsupported as why:
        print("error", _line(why), file=messages)
    except Exception as error:
        print("error", _line(f"{type(error).__name__}: {error}") + _place(error, rival), file=messages)
        raise


def _serve(rival: type[Rival], messages) -> None:
    folder, problem, *options = sys.argv[1:]
    parameters = dict(option.split("=", 1) for option in options)
    begin = time.perf_counter()
    graph, queries = Graph(Path(folder)), None
    mine = rival(graph, problem, parameters)
    print("loaded", _ms(begin), *["rebuilds"] * rival.rebuilds, file=messages)
    begin = time.perf_counter()
    mine.prepare()
    ready = _ms(begin)
    print("ready", ready, *_told({"version": mine.version, **mine.facts}), file=messages)
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        if word == "solve":
            source = int(rest) if rest else None
            gc.disable()  # as in searches of our variants
            begin = time.perf_counter()
            mine.solve(source)
            done = _ms(begin)
            gc.enable()
            print("done", done, file=messages)
        elif word == "clear":
            mine = None
            gc.collect()
            print("cleared", file=messages)
        elif word == "call":
            gc.disable()
            begin = time.perf_counter()
            mine = rival(graph, problem, parameters)
            print("built", _ms(begin), file=messages)
            begin = time.perf_counter()
            mine.prepare()
            prepared = _ms(begin)
            if queries:
                mine.ask(queries)
            mine.solve(int(rest) if rest else None)
            solved = _ms(begin)
            mine.fetch()
            called = _ms(begin)
            gc.enable()
            print("called", called, *_told({"prepared": prepared, "solved": solved}), file=messages)
        elif word == "give":
            mine.fetch()
            _write(mine.answer(), Path(rest))
            print("given", file=messages)
        elif word == "weights":
            mine.take(np.fromfile(rest, "<u4"))
            print("taken", file=messages)
        elif word == "customize":
            begin = time.perf_counter()
            mine.customize()
            print("customized", _ms(begin), *_told(mine.facts), file=messages)
        elif word == "ping":
            print("pong", file=messages)
        elif word == "queries":
            queries = Queries(Path(rest))
            mine.ask(queries)
            print("taken", file=messages)
        elif word == "end":
            return


def _write(answer: dict, folder: Path) -> None:
    for name, values in answer.items():
        column = np.ascontiguousarray(values)
        dtype = column.dtype.newbyteorder("<")
        if dtype.str not in TYPES:
            raise TypeError(f"{name} has type {column.dtype}, expected one of {', '.join(TYPES.values())}")
        column.astype(dtype, copy=False).tofile(folder / f"{name}.{TYPES[dtype.str]}")


def _ms(begin: float) -> str:
    return f"{(time.perf_counter() - begin) * 1e3:.6f}"


def _told(facts: dict[str, object]) -> list[str]:
    return [f"{name}={_word(value)}" for name, value in facts.items()]


def _word(value: object) -> str:
    return "-".join(str(value).split()) or "none"


def _place(error: Exception, rival: type[Rival]) -> str:
    """Return the line of the adapter's file where an error arose, in brackets."""
    file = sys.modules[rival.__module__].__file__
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == file]
    return f" ({Path(file).name}:{lines[-1]})" if lines else ""


def _line(text: object) -> str:
    return " ".join(str(text).split())[:500]
