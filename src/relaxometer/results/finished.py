"""The tables over all runs of a configuration as the workflow makes them, from the runs alone.

:mod:`relaxometer.cli.all_runs` leaves runs without these tables, and graphs without their files.
"""

from pathlib import Path
from typing import Any

from relaxometer.core.errors import UserError
from relaxometer.core.failures import is_made
from relaxometer.core.files import write_csv, write_json, write_table
from relaxometer.datasets.build import build_batch, build_graph
from relaxometer.graphs import batch as batches
from relaxometer.graphs import graph as graphs
from relaxometer.graphs.batch import Batch
from relaxometer.graphs.files import read_metadata
from relaxometer.graphs.graph import Graph
from relaxometer.plan.models import RivalRun, Run
from relaxometer.plan.plan import Plan
from relaxometer.results.contexts import merge_contexts, read_contexts
from relaxometer.results.gather import gather, gather_searches, summarise, unmade_runs
from relaxometer.results.recorded import CONTEXT, TIMINGS

CERTIFICATES, SUMMARY_FILE = "certificates.parquet", "summary.csv"

NOT_RUN = "not run"
"""Reason of a run of the configuration that has no results."""


class Descriptions(dict[str, dict[str, Any]]):
    """The metadata of the graphs and batches of a run by name, read or made when they are asked for.

    Each has at least ``content_sha256``, ``vertices`` and ``arcs``. A graph without its file in the folder
    `results` is generated again.
    """

    def __init__(self, plan: Plan, results: Path) -> None:
        super().__init__()
        self._plan, self._results = plan, results

    def __missing__(self, name: str) -> dict[str, Any]:
        dataset = self._plan.datasets[name]
        kind = "batches/{}/batch.json" if dataset.is_batch else "graphs/{}/graph.json"
        file = self._results / kind.format(name)
        if file.is_file() or dataset.files or dataset.extracted_from:
            self[name] = read_metadata(file, ("content_sha256", "vertices", "arcs"))
        else:
            made = (build_batch if dataset.is_batch else build_graph)(name, dataset, files=[])
            facts = {"vertices": made.n_vertices, "arcs": made.n_arcs, "content_sha256": content_hash(made)}
            self[name] = {**made.metadata, **facts}
        return self[name]


def content_hash(made: Graph | Batch) -> str:
    """Return the SHA-256 of the content of a graph or a batch."""
    return batches.content_hash(made) if isinstance(made, Batch) else graphs.content_hash(made)


def write_tables(plan: Plan, results: Path, target: Path, described: Descriptions | None = None) -> None:
    """Write ``timings.parquet``, ``certificates.parquet``, ``summary.csv`` and ``context.json`` to `target`.

    The summary lists runs that were not made as errors; rounds that were not made are missing. UserError if
    no run was made, or a file of one is damaged.
    """
    described = Descriptions(plan, results) if described is None else described
    made = {key: _rounds(run, results) for key, run in plan.runs.items()}
    folders = [folder for of_run in made.values() for folder in of_run]
    if not folders:
        raise UserError(f"{results / 'runs'}: no run of this configuration; run the workflow first: make run")
    lost = {key: NOT_RUN for key, of_run in made.items() if not of_run}
    rivals = {run.variant: run.kind for run in plan.runs.values() if isinstance(run, RivalRun)}
    timings = gather_searches(folders, unmade_runs(lost, rivals))
    write_table(timings, target / TIMINGS)
    write_table(gather(folders, "certificates.parquet"), target / CERTIFICATES)
    write_json(merge_contexts(read_contexts(one / CONTEXT for one in folders)), target / CONTEXT)
    measured = {run.graph for key, run in plan.runs.items() if made[key]}
    directed = {name: bool(described[name].get("directed", True)) for name in measured}
    write_csv(summarise(timings.to_pandas(), directed), target / SUMMARY_FILE, float_format="%.6g")


def _rounds(run: Run, results: Path) -> list[Path]:
    """Return the folders of the rounds of a run that were made; none without the first."""
    rounds = range(1, run.timing.processes(emulated=False) + 1)
    folders = [results / Path(run.folder(number)).relative_to("results") for number in rounds]
    made = [one for one in folders if is_made(one / CONTEXT)]
    return made if made[:1] == folders[:1] else []
