"""All runs of a configuration in one process: ``relaxometer all-runs SUITE.yaml``.

Each job of the workflow starts Python and reads its graph, which can take longer than its searches. This
program starts once, reads each graph once, forks a process for each job, and starts ranks once per number of
ranks, largest first. It makes all rounds on a graph before it goes to the next. Run it in the workflow's
folder, between ``snakemake --configfile SUITE.yaml --until draw_sources build_batch`` and ``snakemake
--configfile SUITE.yaml --rerun-triggers mtime``; it writes the files of the workflow's own jobs. Missing
graphs that can be generated are made in memory.
"""

import argparse
import importlib
import math
import multiprocessing
import shlex
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.cli import command
from relaxometer.core.cache import let_numba_write
from relaxometer.core.errors import UserError, naming_lacks
from relaxometer.core.failures import forget, is_made
from relaxometer.core.files import write_table
from relaxometer.core.supervision import Child, ChildDied, Link
from relaxometer.core.words import counted
from relaxometer.datasets.build import build_batch, build_graph
from relaxometer.device import cuda
from relaxometer.device.host import HostDevice
from relaxometer.distributed.launch import launch
from relaxometer.graphs.batch import Batch, read_batch
from relaxometer.graphs.files import read_sources
from relaxometer.graphs.graph import Graph, read_graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.graphs.resident_batch import ResidentBatch
from relaxometer.plan.load import load_plan
from relaxometer.plan.models import DistributedRun, RivalRun, Run
from relaxometer.plan.plan import Plan
from relaxometer.plan.session import withdraw
from relaxometer.problems.dominators.certify import DominatorsCertifier
from relaxometer.problems.problem import load_problem, problem_names
from relaxometer.problems.queries import QuerySets
from relaxometer.problems.variants import kernel_hash
from relaxometer.race.jobs import run_rival, run_variant
from relaxometer.race.ranks import arguments_of, check_gpus
from relaxometer.race.requests import Request, request_for_queries, request_for_sources, serves, with_request
from relaxometer.race.sources import sources_table
from relaxometer.results.configured import check_graph, draws_of, of_run, queries_file, sources_file
from relaxometer.studies import parameters
from relaxometer.studies.registry import STUDIES, run_study

MAKE_FIRST = (
    "let the workflow make it first: "
    "snakemake --cores 1 --configfile SUITE.yaml --until draw_sources build_batch"
)

FAILED = "failed"
"""Stands for the statuses of a job that left no results."""


def graph_of(plan: Plan, name: str) -> Graph | Batch:
    """Return a graph or a batch as the workflow made it, or generate it; UserError if neither is possible."""
    dataset = plan.datasets[name]
    folder = folder_of(plan, name)
    if is_made(folder / "arcs.parquet"):
        return read_batch(folder) if dataset.is_batch else read_graph(folder)
    refuse_missing(plan, name)
    build: Callable[..., Graph | Batch] = build_batch if dataset.is_batch else build_graph
    return _in_fork(build, name, dataset, files=[])


def folder_of(plan: Plan, name: str) -> Path:
    """Return the folder of a graph or a batch."""
    return Path("results/batches" if plan.datasets[name].is_batch else "results/graphs", name)


def refuse_missing(plan: Plan, name: str) -> None:
    """Raise UserError if a graph or batch cannot be generated and is missing, or is of another entry."""
    dataset, folder = plan.datasets[name], folder_of(plan, name)
    if is_made(folder / "arcs.parquet"):
        check_graph(plan, name, MAKE_FIRST)
    elif dataset.files or dataset.extracted_from:
        raise UserError(f"{folder} is missing; {MAKE_FIRST}")


def _in_fork(do: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function in another process: one that has used OpenMP cannot fork jobs that do."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return pool.submit(do, *arguments, **options).result()


def sources_of(plan: Plan, problem: str, graph: Graph | Batch) -> npt.NDArray[np.int64] | QuerySets | None:
    """Return the sources or query sets that the workflow drew, or draw them; None if there are none.

    A file that is missing, or was drawn for another configuration, is written.
    """
    if isinstance(graph, Batch) or not load_problem(problem).has_source:
        return None
    if kind := load_problem(problem).queries:
        path = queries_file(problem, graph.name)
        drawn = plan.queries[problem], plan.draws, plan.config.seed
        request = request_for_queries(*drawn)
        if not path.is_file() or _is_stale(path, request):
            table = _in_fork(kind.draw, graph, *drawn)
            write_table(with_request(table, request), path)
        return kind.read(path, graph)
    path = sources_file(graph.name)
    wanted = plan.config.timing.sources, plan.config.seed
    if not path.is_file() or _is_stale(path, request_for_sources(*wanted)):
        write_table(with_request(sources_table(graph, *wanted), request_for_sources(*wanted)), path)
    return read_sources(path, graph.n_vertices)


def refuse_to_mix(plan: Plan, graph: str) -> None:
    """Raise UserError if what was drawn for a graph with finished runs does not serve this configuration."""
    for path, (_, request) in draws_of(plan).items():
        if path.stem == graph and path.is_file() and not serves(path, request):
            raise UserError(
                f"{path}: drawn for another configuration, as finished runs on {graph} were; "
                "leave out --missing, or delete the file and those runs"
            )


def _is_stale(path: Path, request: Request) -> bool:
    """Return whether a file was drawn for something else, and say so."""
    is_stale = not serves(path, request)
    if is_stale:
        print(f"{path}: drawn for another configuration; drawn again", file=sys.stderr)
    return is_stale


def inputs_of(plan: Plan) -> list[str]:
    """Return the graphs and batches that some run needs, in the order of the configuration's `graphs`."""
    named = [name for problem in problem_names() for name in plan.config.problem(problem).graphs]
    needed = {run.graph for run in plan.runs.values()}
    needed.update(name for study in STUDIES.values() for name in study.graphs(plan.config))
    return [name for name in dict.fromkeys(named) if name in needed]


@dataclass(frozen=True)
class Results:
    """The files that a job of the workflow writes, the last one at the end."""

    files: list[Path]

    @property
    def are_there(self) -> bool:
        """Whether the job has been done."""
        return is_made(self.files[-1])

    def remove(self) -> None:
        """Remove what is about to be replaced, so that nothing else is taken for it after a kill."""
        for file in reversed(self.files):
            with suppress(NotADirectoryError):  # the job names what is in its way
                file.unlink(missing_ok=True)
                forget(file)


@dataclass(frozen=True)
class Job(Results):
    """A job on one graph: its results, and the function that writes them and returns the statuses."""

    do: Callable[[Any], set[str]]
    run: Run | None = None


def jobs_of(plan: Plan, name: str | None) -> dict[str, Job]:
    """Return the jobs on a graph or a batch, or those that need none, by name; rounds in mirrored order."""
    device = plan.config.device

    def variant(run: Run, number: int) -> Job:
        folder = Path(run.folder(number))

        def do(graph: Any) -> set[str]:
            what = graph, sources_of(plan, run.problem, graph), device, folder, number
            if isinstance(run, RivalRun):
                return run_rival(run, plan.rivals[run.solver], None, *what)
            return run_variant(run, *what)

        files = ["runs.parquet", "certificates.parquet", "phases.parquet", "answer.parquet", "context.json"]
        own = files if number == 1 else [files[0], files[1], files[-1]]
        return Job([folder / file for file in own], do, run)

    def study(kind: str) -> Job:
        path, *further = (Path(path.format(graph=name)) for path in STUDIES[kind].paths)
        given = parameters.of_study(plan, kind)["parameters"]

        def do(graph: Any) -> set[str]:
            return run_study(kind, given, graph, device, path)

        return Job([*further, path], do)

    jobs = {
        f"{run.problem} {name} {run.variant}" + f" round {number}" * (number > 1): variant(run, number)
        for run, number in plan.processes
        if run.graph == name
    }
    for kind, one in STUDIES.items():
        if name in one.graphs(plan.config):
            jobs[f"{kind} {name}"] = study(kind)
        elif name is None and not one.papers.isdisjoint(plan.config.report.papers):
            jobs[kind] = study(kind)
    return jobs


def run_all(plan: Plan, limit_s: float, missing: bool) -> list[str]:
    """Run everything, graph by graph, until the limit has passed; return the names of the jobs left out.

    With `missing`, jobs are skipped whose results exist, unless they are of another configuration.
    """
    if plan.config.device != "host" and cuda.may_be_there():
        with suppress(ImportError):  # ahead of the jobs that would each import it; importing opens no GPU
            importlib.import_module("cupy")
    start = time.monotonic()
    left = []
    for graph_name in [None, *inputs_of(plan)]:
        graph = None
        jobs = jobs_of(plan, graph_name)
        if missing:
            done = [name for name, job in jobs.items() if job.are_there and not _is_of_another(plan, job)]
            if graph_name and done:
                refuse_to_mix(plan, graph_name)
            jobs = {name: job for name, job in jobs.items() if name not in done}
        for name, job in jobs.items():
            if time.monotonic() - start > limit_s:
                left.append(name)
                continue
            if graph is None and graph_name:
                graph = graph_of(plan, graph_name)
            if job.run and graph is not None:
                with suppress(UserError):  # the job says it
                    _find_ahead(plan, graph, job.run)
            job.remove()
            statuses = _in_child(job, graph)
            print(f"{time.monotonic() - start:6.1f} s {name}: {statuses}", flush=True)
            if statuses == FAILED:
                left.append(f"{name}, which failed")
    return left


def _find_ahead(plan: Plan, graph: Graph | Batch, run: Run) -> None:
    """Find what jobs on a graph would each find: the kernels' sources, and what proves dominators."""
    if not isinstance(run, RivalRun):
        kernel_hash(run.problem, run.solver)
    if run.problem != "dominators":
        return
    sources = run.timing.sources
    upload: Any = ResidentBatch.upload if isinstance(graph, Batch) else ResidentGraph.upload
    drawn = sources_of(plan, run.problem, graph)
    assert not isinstance(drawn, QuerySets)
    count = sources if isinstance(sources, int) else len(sources)
    roots = [None] if drawn is None else [*map(int, drawn[:count])]
    DominatorsCertifier(upload(HostDevice(emulates=False), graph)).find_witnesses(roots)


def _is_of_another(plan: Plan, job: Job) -> bool:
    """Return whether a finished run is of another configuration, and say so."""
    is_of_another = job.run is not None and any(of_run(job.run, plan.config.device))
    if is_of_another:
        print(f"{job.files[-1].parent}: of another configuration; made again", file=sys.stderr)
    return is_of_another


def _in_child(job: Job, graph: Graph | Batch | None) -> str:
    """Do a job in a forked process, since one that opened the GPU can fork no other; return its statuses."""

    def serve(link: Link) -> None:
        try:
            with naming_lacks():
                link.reply(statuses=", ".join(sorted(job.do(graph))))
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
        except Exception:
            traceback.print_exc()

    with Child(serve) as child:
        try:
            return str(child.ask(math.inf)["statuses"])
        except ChildDied:
            return FAILED


def run_all_distributed(plan: Plan, limit_s: float, missing: bool) -> list[str]:
    """Do all runs over several ranks, until the limit has passed; return the names of those not done.

    A failure ends the later runs on the same number of ranks. UserError without MPI, or with
    fewer cores or GPUs than ranks.
    """
    start = time.monotonic()
    folder = Path("results/runs/distributed")
    files = ("times.parquet", "certificates.parquet", "levels.parquet", "run.json")
    jobs = {name: Results([folder / name / file for file in files]) for name in plan.distributed}
    if missing:
        jobs = {name: job for name, job in jobs.items() if not job.are_there}
    failed = set()
    left = [*jobs]
    for ranks in sorted({plan.distributed[name].ranks for name in jobs}, reverse=True):
        group = {name: job for name, job in jobs.items() if plan.distributed[name].ranks == ranks}
        rest_s = limit_s - (time.monotonic() - start)
        if rest_s > 0:
            for job in group.values():
                job.remove()
            code = _launch_several([plan.distributed[name] for name in group], plan, folder, rest_s)
            made = [name for name, job in group.items() if job.are_there]
            failed |= set([name for name in group if name not in made][:1] if code else [])
            left = [name for name in left if name not in made]
    return [f"distributed {name}{', which failed' * (name in failed)}" for name in left]


def _launch_several(runs: list[DistributedRun], plan: Plan, folder: Path, limit_s: float) -> int:
    timing = plan.config.timing
    request = request_for_sources(timing.sources, plan.config.seed)
    lines = []
    for run in runs:
        check_gpus(run)
        if run.graph:
            check_graph(plan, run.graph, MAKE_FIRST)
        sources = sources_file(run.graph) if run.graph else None
        if sources and not serves(sources, request):
            raise UserError(
                f"{sources}: drawn for another configuration; delete it, and let snakemake --until "
                "draw_sources draw it again"
            )
        arguments = arguments_of(
            run,
            folder / run.name,
            folder_of_graph=Path("results/graphs", run.graph) if run.graph else None,
            sources=str(sources) if sources else None,
            repetitions=timing.repetitions,
            warmup=timing.warmup,
        )
        lines.append(shlex.join(arguments))
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write("\n".join(lines))
        file.flush()
        return launch(runs[0].ranks, [file.name, "--limit-s", str(limit_s)], program="several")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("configfiles", nargs="*", type=Path, help="overlays of config/config.yaml")
    parser.add_argument(
        "--limit-s", type=float, default=float("inf"), help="start nothing after this many seconds"
    )
    parser.add_argument("--missing", action="store_true", help="skip runs that have results")


def main(given: argparse.Namespace) -> None:
    """Run what the configuration files ask for; UserError if a run was not made."""
    let_numba_write()
    plan, begin = load_plan(given.configfiles), time.monotonic()
    for name in inputs_of(plan):
        refuse_missing(plan, name)
    if plan.config.device == "cuda":
        cuda.require(plan.origin)
    withdraw()
    left = run_all(plan, given.limit_s, given.missing)
    left += run_all_distributed(plan, given.limit_s - (time.monotonic() - begin), given.missing)
    for job in left:
        print(f"not run: {job}")
    if left:
        why = "" if math.isinf(given.limit_s) else f" in {given.limit_s:g} s; raise --limit-s"
        raise UserError(f"{counted(len(left), 'run')} {'was' if len(left) == 1 else 'were'} not made{why}")


if __name__ == "__main__":
    command.main("all-runs")
