"""Program of each rank of a job: searches a graph and proves the answers.

``mpirun -n 4 python -m relaxometer.distributed.run --problem bfs --graph kron:20 --scheme 2x2 --out runs/a``

When every rank has succeeded, rank 0 writes into the folder ``times.parquet`` (one row per search),
``certificates.parquet`` (violations of each rule by each answer), with ``--levels`` ``levels.parquet`` (one
row per level of each instrumented search), and last ``run.json`` (machine, graph, parameters, memory).
"""

from __future__ import annotations

import argparse
import gc
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
from pydantic import ValidationError

from relaxometer.core.environment import environment
from relaxometer.core.errors import UserError
from relaxometer.core.files import write_json, write_table
from relaxometer.datasets.formats.generated import Graph500Parameters
from relaxometer.distributed import process
from relaxometer.distributed.certify import Certifier, reached_totals
from relaxometer.distributed.comm import Ranks, TransportKind
from relaxometer.distributed.engines import ENGINES, Engine
from relaxometer.distributed.graph500 import degrees_of, kronecker_block
from relaxometer.distributed.levels import Level
from relaxometer.distributed.memory import Size, forecast, refuse_too_large
from relaxometer.distributed.partition import Block, Layout
from relaxometer.distributed.process import ending_together, load_mpi, share_cores
from relaxometer.distributed.stored import stored_block
from relaxometer.graphs.files import read_sources
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.problems.problem import load_problem
from relaxometer.problems.records import PHASES, RUNS, WARM_BELOW_MS, certificates_schema

ON_ONE = {"bfs": "hybrid-packed", "sssp": "push-pull"}
"""The best variant on one GPU, by problem; it sends nothing to other ranks."""

TRAFFIC = (
    ("computing_ms", pa.float64()),
    ("communication_ms", pa.float64()),
    ("sent_bytes", pa.int64()),
    ("plain_bytes", pa.int64()),
)

TIMES = pa.schema(
    [
        *RUNS,
        ("ranks", pa.int32()),
        ("engine", pa.string()),
        ("scheme", pa.string()),
        ("device_kind", pa.string()),
        ("teps", pa.float64()),
        *TRAFFIC,
    ]
)
"""One row per search. `teps` counts input edges, or stored ones without an edge list. Columns of `TRAFFIC`
sum the levels of the instrumented search; they are empty without ``--levels``."""

LEVELS = pa.schema([*PHASES, *TRAFFIC])
"""One row per level of an instrumented search: see :class:`relaxometer.distributed.levels.Level`."""


MAX_SEARCHES = 100_000
"""Limit of roots, repetitions and warm-ups each; the samples of all searches are in memory at the end."""

MIN_SECONDS, MAX_SECONDS = 1e-9, 1e9


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are a user's."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see --help")


def _between(kind: type[int | float], least: float, most: float, range_: str) -> Callable[[str], float]:
    """Return the type of an argument that is a number from `least` to `most`; `range_` says so."""

    def read(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text}: expected {range_}")
        return number

    return read


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments."""
    result = _Parser(prog="relaxometer.distributed.run", description=__doc__, allow_abbrev=False)
    result.add_argument("--problem", choices=tuple(ENGINES), required=True)
    result.add_argument(
        "--graph",
        required=True,
        help="kron:SCALE or kron:SCALE:SEED (Graph500's, user seeds SEED and SEED + 1, 2 by default), or the "
        "folder of a graph",
    )
    result.add_argument(
        "--engine",
        choices=[name for engines in ENGINES.values() for name in engines],
        help="hybrid-2d (default for bfs), hybrid-peers (GPUs of one host that reach each other), sssp-1d "
        "(default for sssp), sssp-peers (as hybrid-peers)",
    )
    result.add_argument(
        "--scheme",
        default="auto",
        help="RxC, paired or auto (default): 2x1 on two ranks, paired on 8, 32, ..., else the squarest RxC; "
        "on P ranks always Px1 for hybrid-peers, 1xP for sssp-1d and Px1-dealt for sssp-peers",
    )
    positive, count = (_between(int, least, MAX_SEARCHES, f"{least} to {MAX_SEARCHES:,}") for least in (1, 0))
    seconds = _between(float, MIN_SECONDS, MAX_SECONDS, f"a positive number up to {MAX_SECONDS:g}")
    result.add_argument(
        "--roots",
        type=positive,
        default=8,
        help="how many roots at most (default 8); kron: has 64, and --sources those of its file",
    )
    result.add_argument("--sources", type=Path, help="a Parquet file whose column source gives the roots")
    result.add_argument("--repetitions", type=positive, default=1, help="searches from each root (default 1)")
    result.add_argument("--warmup", type=count, default=1, help="searches before timing (default 1)")
    result.add_argument("--device", choices=("auto", "cuda", "host"), default="auto")
    result.add_argument("--transport", choices=("auto", "nccl", "mpi"), default="auto")
    result.add_argument(
        "--patience-s",
        type=seconds,
        help="end the job if a rank has kept others waiting for so long in a search (default 20, or 300 "
        "without a GPU)",
    )
    result.add_argument("--levels", action="store_true", help="one more, instrumented, search from each root")
    result.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the search, such as parents=level, messages=compressed, alpha=20, delta=5",
    )
    result.add_argument(
        "--no-verdict", action="store_true", help="exit with 0 although an answer is wrong: the tables say it"
    )
    result.add_argument("--out", type=Path, required=True, help="the folder to write into")
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program."""
    with ending_together():
        load_mpi()
        options = parser().parse_args(arguments)
        wrong = execute(options, Ranks)
        if wrong and not options.no_verdict:
            raise UserError(wrong)


def execute(options: argparse.Namespace, make_ranks: Callable[[str, TransportKind], Ranks]) -> str | None:
    """Do a run, with ranks of a device and a transport; return the first answer that is not proven."""
    with process.patience(options.patience_s):
        wrong = _execute(options, make_ranks)
    gc.collect()  # cyclic references keep the solver's memory, and CUDA graphs of NCCL's calls beyond its end
    return wrong


def _execute(options: argparse.Namespace, make_ranks: Callable[[str, TransportKind], Ranks]) -> str | None:
    make_block = _graph_maker(options)
    engines = ENGINES[options.problem]
    options.engine = options.engine or next(iter(engines))
    if options.engine not in engines:
        raise UserError(f"engine {options.engine} does not solve {options.problem}")
    engine = engines[options.engine]
    ranks = make_ranks(options.device, options.transport)
    share_cores(ranks.local_size)
    scheme = engine.scheme(options.scheme, ranks.size)
    ranks.memory.begin()
    before = time.perf_counter()
    block, size = make_block(ranks, scheme)
    ranks.barrier()
    ranks.memory.release("building")
    built = time.perf_counter()
    solver = engine.solver(ranks, block, _parameters(engine, options.set))
    ranks.barrier()
    prepared = time.perf_counter()
    ranks.memory.release("preparing")
    roots = _roots(ranks, block, options)
    searches = Searches(ranks, block, solver, options)
    fixed = {"upload_ms": (built - before) * 1e3, "prepare_ms": (prepared - built) * 1e3}
    for root in np.resize(roots, options.warmup if roots else 0).tolist():
        solver.solve(root)
    for repetition in range(options.repetitions):
        for root, other in zip(roots, np.roll(roots, 1).tolist(), strict=True):
            if options.warmup and searches.last_was_short:
                solver.solve(other)  # as variants on one GPU do, since a search after a proof takes longer
            searches.time(root, repetition, fixed)
    if options.levels:
        for root in roots:
            searches.instrument(root)
    context = _context(ranks, block, forecast(options.engine, block.layout, size))
    if ranks.rank == 0:
        print(_memory_in_words(context), flush=True)
        alone = forecast(options.engine, Layout(engine.scheme("auto", 1), 1, block.n_vertices), size)
        if ranks.size > 1 and max(alone.values()) <= context["ranks"][0].get("memory_bytes", 0):
            print(
                f"one GPU has room for this engine, too; compare {ON_ONE[options.problem]} there", flush=True
            )
        parameters = {**solver.resolved, "scheme": scheme, "ranks": ranks.size}
        arguments = {name: str(value) for name, value in vars(options).items()}
        searches.write(options.out, context | {"parameters": parameters, "arguments": arguments})
    ranks.barrier()
    return searches.wrong()


def _context(ranks: Ranks, block: Block, expected: dict[str, int]) -> dict[str, Any]:
    """Return the machine, the graph and the memory of ranks by phase, as forecast and, on a GPU, measured."""
    machine = ranks.gather({"rank": ranks.rank, **ranks.device.context(), "gpu": ranks.gpu})
    arcs = {"rank": ranks.rank, "block_bytes": block.bytes, "arcs": len(block.out.targets)}
    return {
        "device_kind": ranks.device.kind,
        "device": ranks.device.name,
        "ranks": machine,
        "blocks": ranks.gather(arcs | {"peak_bytes": ranks.memory.taken}),
        "forecast_bytes": expected,
        **environment(),
        "graph": {key: value for key, value in block.metadata.items() if key != "search_keys"}
        | {"name": block.name, "vertices": block.n_vertices, "arcs": block.n_arcs},
    }


def _memory_in_words(context: dict[str, Any]) -> str:
    """Say how much memory a rank takes in its largest phase, as forecast and, on a GPU, as measured."""
    measured = [phase for block in context["blocks"] for phase in block["peak_bytes"].items()]
    phases = {"forecast": context["forecast_bytes"].items(), "measured": measured}
    most = {kind: max(found, key=lambda phase: phase[1]) for kind, found in phases.items() if found}
    words = (f"{kind} {taken / 1e9:.3g} GB ({phase})" for kind, (phase, taken) in most.items())
    return f"memory of a rank: {', '.join(words)}"


def _graph_maker(options: argparse.Namespace) -> Callable[[Ranks, str], tuple[Block, Size]]:
    weighted = options.problem == "sssp"
    found = re.fullmatch(r"kron:(\d+)(?::(\d+))?", options.graph)
    if found is None:
        folder = Path(options.graph)
        if not (folder / "graph.json").is_file():
            raise UserError(
                f"graph {options.graph}: expected kron:SCALE, kron:SCALE:SEED or a folder with a graph.json"
            )

        def read(ranks: Ranks, scheme: str) -> tuple[Block, Size]:
            block = stored_block(ranks, scheme, folder, weighted=weighted)
            return block, Size(block.n_vertices, block.n_arcs, block.metadata.get("directed") is False)

        return read
    seed = int(found[2] or 2)
    try:
        parameters = Graph500Parameters(scale=int(found[1]), user_seeds=(seed, seed + 1))
    except ValidationError as error:
        first = error.errors()[0]
        raise UserError(f"graph {options.graph}: {first['loc'][0]}: {first['msg']}") from None

    def make(ranks: Ranks, scheme: str) -> tuple[Block, Size]:
        refuse_too_large(ranks, options.engine, scheme, parameters)
        return kronecker_block(ranks, scheme, parameters, weighted=weighted), Size.generated(parameters)

    return make


def _parameters(engine: Engine, settings: Sequence[str]) -> Any:
    given = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"--set {text}: expected NAME=VALUE")
        given[name] = value
    try:
        return engine.parameters.model_validate(given, strict=False)  # all values are text
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise UserError(f"--set {name}={given.get(name, '')}: {first['msg']}") from None


def _roots(ranks: Ranks, block: Block, options: argparse.Namespace) -> list[int]:
    """Return the roots: those of a file, the graph's search keys, or drawn among vertices with arcs."""
    if options.sources is not None:
        sources: list[int] = read_sources(options.sources, block.n_vertices).tolist()
        return sources[: options.roots]
    if keys := block.metadata.get("search_keys"):
        return list(keys[: options.roots])
    generator = np.random.default_rng(1)
    found: dict[int, None] = {}
    for _ in range(64):
        drawn = generator.integers(0, max(block.n_vertices, 1), 4 * options.roots).tolist()
        degrees = degrees_of(ranks, block, drawn)
        found |= dict.fromkeys(vertex for vertex, degree in zip(drawn, degrees, strict=True) if degree)
        if len(found) >= options.roots:
            break
    if not found:
        raise UserError(f"graph {block.name}: no vertex with arcs was drawn; name roots with --sources")
    return list(found)[: options.roots]


class Searches:
    """Times searches, proves their answers, and keeps the rows of the tables."""

    def __init__(self, ranks: Ranks, block: Block, solver: Any, options: argparse.Namespace) -> None:
        self._ranks, self._block, self._solver = ranks, block, solver
        self._engine, self._problem = options.engine, options.problem
        self._certifier = Certifier(ranks, block, self._problem)
        self.times: list[dict[str, Any]] = []
        self.certificates: list[dict[str, Any]] = []
        self.levels: list[dict[str, Any]] = []

    @property
    def last_was_short(self) -> bool:
        """Whether the last search took less than `WARM_BELOW_MS`; the same on all ranks."""
        return bool(self.times) and self.times[-1]["time_ms"] < WARM_BELOW_MS

    def time(self, root: int, repetition: int, fixed: dict[str, float]) -> None:
        """Search once, timed by the slowest rank, and prove the answer."""
        self._ranks.barrier()
        with self._ranks.watch.searching(), self._ranks.device.timer() as search:
            answer = self._solver.solve(root)
        elapsed = self._ranks.reduce([float(search.ms)], "max")[0]
        self._ranks.memory.note("searching")
        columns = answer.columns
        certificate = self._certifier.check(root, *columns.values())
        key = {"source": root, "repetition": repetition}
        violations = {f"rule_{rule}": count for rule, count in certificate.violations.items()}
        self._ranks.memory.note("proving")
        self.certificates.append(key | {"holds": certificate.holds} | violations)
        value = next(iter(columns.values()))
        totals = reached_totals(self._ranks, self._block, value, self._certifier)
        overflowed, too_long = getattr(answer, "overflowed", False), LENGTHS["uint32"].too_long
        status, reason = certificate.outcome(overflowed=overflowed, too_long=too_long)
        edges = totals["input_edges"]
        if edges is None:
            directed = self._block.metadata.get("directed") is not False
            edges = int(totals["reached_arcs"] or 0) // (1 if directed else 2)
        row = {
            "time_ms": elapsed,
            "phases": answer.phases,
            "status": status,
            "reason": reason,
            "teps": edges / (elapsed * 1e-3),
            "ranks": self._ranks.size,
            "engine": self._engine,
            "scheme": self._block.layout.scheme,
            "device_kind": self._ranks.device.kind,
        }
        self.times.append(key | fixed | totals | row)

    def wrong(self) -> str | None:
        """Describe the first answer that was not proven correct, or return None; the same on all ranks."""
        for row in self.times:
            if row["status"] != "ok":
                return f"the answer from root {row['source']} is {row['status']}: {row['reason']}"
        return None

    def instrument(self, root: int) -> None:
        """Record the levels of one more search, and add their sums to the rows of the timed ones."""
        levels: list[Level] = []
        self._solver.solve(root, levels)
        for number, level in enumerate(levels, start=1):
            self.levels.append({"source": root, "phase": number, **asdict(level)})
        names = ("relaxed_arcs", *(name for name, _ in TRAFFIC))
        sums = {name: sum(getattr(level, name) for level in levels) for name in names}
        for row in self.times:
            if row["source"] == root:
                row.update(sums)

    def write(self, folder: Path, context: dict[str, Any]) -> None:
        """Write the tables, and last ``run.json``: a folder that has it is complete."""
        schema = certificates_schema(load_problem(self._problem))
        write_table(pa.Table.from_pylist(self.times, schema=TIMES), folder / "times.parquet")
        write_table(pa.Table.from_pylist(self.certificates, schema=schema), folder / "certificates.parquet")
        if self.levels:
            write_table(pa.Table.from_pylist(self.levels, schema=LEVELS), folder / "levels.parquet")
        write_json(context, folder / "run.json")


if __name__ == "__main__":
    main()
