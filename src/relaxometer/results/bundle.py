"""Packs a finished run of the workflow into a bundle; docs/bundle.md."""

import hashlib
import io
import math
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from relaxometer.core.environment import PROJECT, environment
from relaxometer.core.errors import UserError, escaped
from relaxometer.core.files import MAKE_AGAIN, read_table
from relaxometer.core.provenance import code_hash
from relaxometer.datasets.build import build_graph
from relaxometer.graphs.graph import Graph, read_graph
from relaxometer.plan.models import RivalRun, Run
from relaxometer.plan.plan import Plan
from relaxometer.problems.problem import load_problem
from relaxometer.results import bundle_file
from relaxometer.results.bundle_file import BundleFile, Manifest
from relaxometer.results.finished import CERTIFICATES, SUMMARY_FILE, Descriptions, write_tables
from relaxometer.results.published import SAMPLES, read_timings, run_of, samples_of
from relaxometer.results.recorded import CONTEXT, RATES, TIMINGS
from relaxometer.results.rows import KEY, PROVEN
from relaxometer.results.tree_answers import places_of
from relaxometer.results.verify import TREE, contradictions
from relaxometer.studies.parameters import code_of_variant

LOCK = "requirements.lock"

MOST_VERTICES = 1 << 22
"""Answers on larger graphs are left out unless asked for: each has 8 bytes per vertex."""

ANSWER_BYTES, LINE_BYTES = 600, 100
"""Bytes of an answer besides its columns, and of a line that says why one is left out, at most."""


def pack(
    plan: Plan,
    results: Path,
    target: Path,
    name: str,
    *,
    most_vertices: int = MOST_VERTICES,
    most_bytes: float = math.inf,
) -> str:
    """Write a bundle, `name` in its manifest, of a finished run of a configuration; return its SHA-256.

    Without ``summary.csv`` in `results`, all tables are made from the runs
    (:mod:`relaxometer.results.finished`). First answers on graphs of more than `most_vertices` are left out,
    and those that would make the file larger than `most_bytes`; those on small graphs come first, and trees
    are packed as :mod:`relaxometer.results.tree_answers` has them.

    UserError if the run is not finished, of another configuration, or a table of it is damaged.
    """
    described = Descriptions(plan, results)
    timings, members = _tables(plan, results, described)
    runs = [run_of(plan, tuple(key)) for key in timings.select(KEY).to_pandas().drop_duplicates().to_numpy()]
    members[SAMPLES] = _parquet(samples_of(timings))
    for file in (PROJECT.with_name(LOCK), results / RATES):
        if file.is_file():
            members[file.name] = file.read_bytes()
    manifest = {
        "format": "relaxometer-bundle",
        "version": bundle_file.VERSION,
        "name": name,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": environment()["commit"],
        "graphs": _graphs(plan, described, [run.graph for run in runs]),
        "kernels": {f"{run.problem}/{run.variant}": _code(plan, run) for run in runs},
        "answers": [],
        "left_out": [],
    }
    room = most_bytes - LINE_BYTES * len(runs) - len(bundle_file.archive(manifest, members))
    packer = _Packer(plan, results, described, most_vertices, most_bytes, room, members)
    for run in sorted(runs, key=lambda run: described[run.graph]["vertices"]):
        packer.add(run)
    manifest |= {"answers": packer.answers, "left_out": packer.left_out}
    made = BundleFile(results, "", Manifest.model_validate(manifest), members, MAKE_AGAIN)
    if wrong := contradictions(made):
        raise UserError(f"{results}: {escaped(wrong[0])}; delete {SUMMARY_FILE} and run again: make run")
    return bundle_file.write(target, manifest, members)


def _tables(plan: Plan, results: Path, described: Descriptions) -> tuple[pa.Table, dict[str, bytes]]:
    with tempfile.TemporaryDirectory() as made:
        folder = results
        # Whatever measures deletes the summary first, so one that is there is that of the runs.
        if not (results / SUMMARY_FILE).is_file():
            folder = Path(made)
            write_tables(plan, results, folder, described)
        files = (SUMMARY_FILE, CERTIFICATES, CONTEXT)
        for file in (*files, TIMINGS):
            if not (folder / file).is_file():
                raise UserError(f"{folder / file} is not there; run the workflow first: make run")
        timings = read_timings(folder / TIMINGS)
        if not len(timings):
            raise UserError(f"{results}: no searches to pack; searches over several ranks are not bundled")
        return timings, {file: (folder / file).read_bytes() for file in files}


def _code(plan: Plan, run: Run) -> str:
    """Return the hash of the code that ran and proved a variant, as the workflow's rules know it."""
    if isinstance(run, RivalRun):
        return code_hash("race.rival") + plan.rivals[run.solver].code
    return code_of_variant(run)


def _graphs(plan: Plan, described: Descriptions, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    waiting = list(dict.fromkeys(names))
    for name in waiting:  # which grows
        dataset = plan.datasets[name]
        found[name] = {
            **{key: described[name][key] for key in ("content_sha256", "vertices", "arcs")},
            "batch": dataset.is_batch,
            "dataset": dataset.model_dump(mode="json"),
            "base": dataset.extracted_from,
        }
        if dataset.extracted_from and dataset.extracted_from not in waiting:
            waiting.append(dataset.extracted_from)
    return found


@dataclass
class _Packer:
    """Adds first answers to the members of a bundle; equal columns share one."""

    plan: Plan
    results: Path
    described: Descriptions
    most_vertices: int
    most_bytes: float
    room: float
    members: dict[str, bytes]
    answers: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    graph: Graph | None = None
    """That of the last tree."""

    def add(self, run: Run) -> None:
        folder = self.results / Path(run.folder()).relative_to("results")
        first = read_table(folder / "runs.parquet", ["status", "source"]).slice(0, 1).to_pylist()
        if not (reason := self._reason(run, folder, first)):
            has_source = load_problem(run.problem).has_source and not self.plan.datasets[run.graph].is_batch
            source = int(first[0]["source"]) if has_source else None
            columns, tree, added = self._packed(run, source, read_table(folder / "answer.parquet"))
            size = ANSWER_BYTES + sum(map(len, added.values()))
            if size <= self.room:
                self.room -= size
                self.members |= added
                identity = {"problem": run.problem, "graph": run.graph, "variant": run.variant}
                self.answers.append({**identity, "source": source, "columns": columns, "tree": tree})
                return
            reason = f"the bundle would have more than {self.most_bytes:,.0f} bytes"
        self.left_out.append(f"{run.problem} {run.variant} on {run.graph}: {reason}")

    def _reason(self, run: Run, folder: Path, first: list[dict[str, Any]]) -> str:
        """Return why a run has no answer to pack; nothing if it has one."""
        if self.described[run.graph]["vertices"] > self.most_vertices:
            return f"more than {self.most_vertices:,} vertices"
        if load_problem(run.problem).queries:
            return "a bundle holds no query sets"
        if not first or first[0]["status"] not in PROVEN:
            return f"no proven answer: {first[0]['status'] if first else 'no searches'}"
        if not (folder / "answer.parquet").is_file():
            return "its file was not kept"
        return "" if len(read_table(folder / "answer.parquet")) else "no proven answer"

    def _packed(
        self, run: Run, source: int | None, answer: pa.Table
    ) -> tuple[dict[str, str], str | None, dict[str, bytes]]:
        """Return the member of each column or that of the tree, and the content of those that are new."""
        columns = {name: answer[name].to_numpy() for name in answer.column_names}
        tree = None
        if source is not None and self.most_bytes < math.inf:
            tree = places_of(self._graph(run.graph), run.problem, source, columns)
        packed = columns if tree is None else {TREE: tree}
        named = {name: _member(run, name, values) for name, values in packed.items()}
        added = {
            # A dictionary of values that rarely repeat would double them.
            member: _parquet(pa.table({name: packed[name]}), repeats=name == TREE)
            for name, member in named.items()
            if member not in self.members
        }
        return (named, None, added) if tree is None else ({}, named[TREE], added)

    def _graph(self, name: str) -> Graph:
        """Return the arrays of a graph, from its files or generated again."""
        if self.graph is None or self.graph.name != name:
            folder, dataset = self.results / "graphs" / name, self.plan.datasets[name]
            is_here = folder.is_dir() or dataset.files or dataset.extracted_from
            self.graph = read_graph(folder) if is_here else build_graph(name, dataset, files=[])
        return self.graph


def _member(run: Run, name: str, values: npt.NDArray[Any]) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(values).view(np.uint8).data).hexdigest()
    return f"answers/{run.problem}/{run.graph}/{name}-{digest[:16]}.parquet"


def _parquet(table: pa.Table, *, repeats: bool = True) -> bytes:
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd", compression_level=9, use_dictionary=repeats)
    return content.getvalue()
