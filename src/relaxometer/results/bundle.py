"""Packs a finished run of the workflow into a bundle, and checks one without a network; docs/bundle.md."""

from __future__ import annotations

import hashlib
import io
import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from relaxometer.core.environment import PROJECT, environment
from relaxometer.core.errors import UserError, escaped, quoted
from relaxometer.core.files import read_table
from relaxometer.core.provenance import code_hash
from relaxometer.datasets.build import build_graph
from relaxometer.datasets.build_batch import build_batch
from relaxometer.datasets.download import all_mirrors, fetch
from relaxometer.datasets.registry import DataFile, Dataset
from relaxometer.device import DeviceOutOfMemory, get_device
from relaxometer.graphs import batch as batches
from relaxometer.graphs import graph as graphs
from relaxometer.graphs.batch import Batch, read_batch
from relaxometer.graphs.graph import Graph, read_graph
from relaxometer.plan.models import RivalRun, Run
from relaxometer.plan.plan import Plan
from relaxometer.problems.problem import load_problem, problem_names
from relaxometer.race.proofs import Prover, Search
from relaxometer.results import bundle_file
from relaxometer.results.bundle_checks import (
    LOCK,
    called_for,
    title,
    wrong_context,
    wrong_graph,
    wrong_manifest,
)
from relaxometer.results.bundle_file import AnswerOf, BundleFile, Manifest
from relaxometer.results.checked import checked
from relaxometer.results.finished import CERTIFICATES, SUMMARY_FILE, Descriptions, write_tables
from relaxometer.results.gather import SUMMARY, summarise
from relaxometer.results.processes import PROCESS
from relaxometer.results.published import RENAMED, SAMPLES, read_timings, run_of, samples_of
from relaxometer.results.recorded import CONTEXT, RATES, TIMINGS
from relaxometer.results.rows import KEY, PROVEN
from relaxometer.results.tree_answers import columns_of, places_of
from relaxometer.studies.parameters import code_of_variant

MOST_VERTICES = 1 << 22
"""Answers on larger graphs are left out unless asked for: each has 8 bytes per vertex."""


@dataclass(frozen=True)
class Limits:
    """Which first answers a bundle leaves out.

    Parameters
    ----------
    most_vertices : int
        Those on larger graphs.
    most_bytes : float
        Those that would make the file larger than this; answers on small graphs come first, and trees are
        packed as :mod:`relaxometer.results.tree_answers` has them.
    """

    most_vertices: int = MOST_VERTICES
    most_bytes: float = math.inf


TREE = "tree"
"""The column of an answer that is packed as a tree."""

Packed = tuple[dict[str, Any], dict[str, bytes]]
"""The manifest's keys of an answer's content, and the members that are new."""

NEEDED = ["round", "reached_arcs", "phases"]
"""Columns that the samples of a bundle must have besides those of every reader."""

SAME_TIME = 1e-5
"""Relative difference of a number and the same in the summary, which has six digits."""

UNCHECKED = ["mteps", "mteps_harmonic"]
"""Columns of the summary that follow from more than the samples."""


def pack(plan: Plan, results: Path, target: Path, name: str, limits: Limits | None = None) -> str:
    """Write a bundle of a finished run, and return its SHA-256.

    Parameters
    ----------
    plan : Plan
        Of the configuration that was run.
    results : Path
        Without ``summary.csv``, all tables are made from the runs (:mod:`relaxometer.results.finished`).
    target : Path
    name : str
        Of the bundle, in its manifest.
    limits : Limits, optional

    Raises
    ------
    UserError
        If the run is not finished, or of another configuration.
    """
    described = Descriptions(plan, results)
    timings, members = _tables(plan, results, described)
    keys = [tuple(row[column] for column in KEY) for row in timings.select(KEY).to_pylist()]
    runs = {key: run_of(plan, key) for key in dict.fromkeys(keys)}
    members[SAMPLES] = _parquet(samples_of(timings))
    for file in (PROJECT.with_name(LOCK), results / RATES):
        if file.is_file():
            members[file.name] = file.read_bytes()
    _check_members(results, members)
    manifest = {
        "format": "relaxometer-bundle",
        "version": bundle_file.VERSION,
        "name": name,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": environment()["commit"],
        "graphs": _graphs(plan, described, dict.fromkeys(run.graph for run in runs.values())),
        "kernels": {f"{run.problem}/{run.variant}": _code(plan, run) for run in runs.values()},
        "lock_sha256": hashlib.sha256(members[LOCK]).hexdigest() if LOCK in members else None,
    }
    limits = limits or Limits()
    room = math.inf
    trees: dict[str, npt.NDArray[np.uint32] | None] = {}
    while True:
        packer = _Packer(plan, results, described, limits, room, dict(members), trees)
        for run in sorted(runs.values(), key=lambda run: described[run.graph]["vertices"]):
            packer.add(run)
        answers = {"answers": packer.answers, "left_out": packer.left_out}
        sha256 = bundle_file.write(target, manifest | answers, packer.members)
        excess = target.stat().st_size - limits.most_bytes
        if excess <= 0 or not packer.answers:
            return sha256
        # Tables shrink in the file, answers do not: what the file has too much, answers must give.
        room = sum(map(len, packer.members.values())) - excess


def _check_members(results: Path, members: Mapping[str, bytes]) -> None:
    """Check the tables of a folder as :func:`verify` does; UserError if one is damaged."""
    found = BundleFile(results, "", Manifest.model_construct(), members)
    samples = _samples(found)
    if wrong := [*wrong_context(found, samples), *_wrong_tables(found, samples)]:
        raise UserError(f"{results}: {escaped(wrong[0])}; delete {SUMMARY_FILE} and run again: make run")


def _tables(plan: Plan, results: Path, described: Descriptions) -> tuple[pa.Table, dict[str, bytes]]:
    """Return the gathered searches, and the members that are tables over all runs."""
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


def _graphs(plan: Plan, described: Descriptions, names: Mapping[str, None]) -> dict[str, dict[str, Any]]:
    """Return the manifest's entries of graphs, and of those that they are extracted from."""
    found: dict[str, dict[str, Any]] = {}
    waiting = list(names)
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
    limits: Limits
    room: float
    members: dict[str, bytes]
    trees: dict[str, npt.NDArray[np.uint32] | None]
    """By folder of a run: what an earlier attempt found."""
    answers: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    graph: Graph | None = None
    """That of the last tree."""

    def add(self, run: Run) -> None:
        """Add the answer of a run, or the reason why it is left out."""
        folder = self.results / Path(run.folder()).relative_to("results")
        first = read_table(folder / "runs.parquet", ["status", "source"]).slice(0, 1).to_pylist()
        if not (reason := self._reason(run, folder, first)):
            source, answer = self._source(run, first[0]), read_table(folder / "answer.parquet")
            content, added = self._tree(run, source, answer) or self._columns(run, answer)
            if self._fits(added):
                self.members |= added
                identity = {"problem": run.problem, "graph": run.graph, "variant": run.variant}
                self.answers.append({**identity, "source": source, **content})
                return
            reason = f"the bundle would have more than {self.limits.most_bytes:,.0f} bytes"
        self.left_out.append(f"{run.problem} {run.variant} on {run.graph}: {reason}")

    def _reason(self, run: Run, folder: Path, first: list[dict[str, Any]]) -> str:
        """Return why a run has no answer to pack; nothing if it has one."""
        if self.described[run.graph]["vertices"] > self.limits.most_vertices:
            return f"more than {self.limits.most_vertices:,} vertices"
        if load_problem(run.problem).queries:
            return "a bundle holds no query sets"
        if not first or first[0]["status"] not in PROVEN:
            return f"no proven answer: {first[0]['status'] if first else 'no searches'}"
        if not (folder / "answer.parquet").is_file():
            return "its file was not kept"
        return "" if len(read_table(folder / "answer.parquet")) else "no proven answer"

    def _columns(self, run: Run, answer: pa.Table) -> Packed:
        """Return the members of an answer's columns, and the content of those that are new."""
        columns, added = {}, {}
        for name in answer.column_names:
            columns[name] = _member(run, name, answer[name].to_numpy())
            if columns[name] not in self.members:
                added[columns[name]] = _parquet(answer.select([name]), repeats=False)
        return {"columns": columns, "tree": None, "hashes": {}}, added

    def _tree(self, run: Run, source: int | None, answer: pa.Table) -> Packed | None:
        """Return the same for an answer packed as a tree; None without a limit or if that is impossible."""
        if math.isinf(self.limits.most_bytes) or source is None:
            return None
        columns = {name: answer[name].to_numpy() for name in answer.column_names}
        if run.folder() not in self.trees:
            self.trees[run.folder()] = places_of(self._graph(run.graph), run.problem, source, columns)
        if (places := self.trees[run.folder()]) is None:
            return None
        member = _member(run, TREE, places)
        new = {} if member in self.members else {member: _parquet(pa.table({TREE: places}))}
        return {
            "columns": {},
            "tree": member,
            "hashes": {name: _hash(columns[name]) for name in columns},
        }, new

    def _graph(self, name: str) -> Graph:
        """Return the arrays of a graph, from its files or generated again."""
        if self.graph is None or self.graph.name != name:
            folder, dataset = self.results / "graphs" / name, self.plan.datasets[name]
            is_here = folder.is_dir() or dataset.files or dataset.extracted_from
            self.graph = read_graph(folder) if is_here else build_graph(name, dataset, files=[])
        return self.graph

    def _fits(self, added: Mapping[str, bytes]) -> bool:
        return sum(map(len, [*self.members.values(), *added.values()])) <= self.room

    def _source(self, run: Run, first: Mapping[str, Any]) -> int | None:
        has_source = load_problem(run.problem).has_source and not self.plan.datasets[run.graph].is_batch
        return int(first["source"]) if has_source else None


def _member(run: Run, name: str, values: npt.NDArray[Any]) -> str:
    return f"answers/{run.problem}/{run.graph}/{name}-{_hash(values)[:16]}.parquet"


def _hash(values: npt.NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(values).view(np.uint8).data).hexdigest()


def _parquet(table: pa.Table, *, repeats: bool = True) -> bytes:
    """Return the bytes of a file; a dictionary of values that rarely repeat would double them."""
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd", compression_level=9, use_dictionary=repeats)
    return content.getvalue()


@dataclass
class Verified:
    """What the check of a bundle found.

    Parameters
    ----------
    lines : list of str
        What was checked.
    wrong : list of str
        What is not right.
    unchecked : list of str
        What could not be checked, and why.
    called_for : int
        How many first answers the searches call for.
    proven : int
        How many of them are proven.
    """

    lines: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    called_for: int = 0
    proven: int = 0

    @property
    def outcome(self) -> str:
        """How many answers are proven, and what was not checked."""
        proven = f"{self.proven} of {self.called_for} first answers proven"
        if not self.unchecked:
            return f"{proven}, nothing left unchecked"
        more = f"; and {len(self.unchecked) - 1} more" if len(self.unchecked) > 1 else ""
        return f"{proven}; not checked: {self.unchecked[0]}{more}"


def verify(path: Path, results: Path, device: str = "auto", *, download: bool = False) -> Verified:
    """Check a bundle: every byte, the schema, the tables against each other, and the proofs of its answers.

    Parameters
    ----------
    path : Path
    results : Path
        A results folder, whose graphs and downloads are used; nothing is written there.
    device : {"auto", "cuda", "host"}
        Where answers are proven.
    download : bool
        Whether files that graphs are made from may be fetched from the addresses that the bundle names.

    Raises
    ------
    UserError
        If the file is not a bundle, or differs from what was written.
    """
    found = bundle_file.read(path)
    said = Verified([f"{path}: {len(found.members)} members, every byte as written, sha256 {found.sha256}"])
    samples = _samples(found)
    said.wrong += _contradictions(found, samples)
    runs = samples.drop_duplicates(KEY)
    said.lines.append(
        f"tables: {len(runs)} runs, {len(samples):,} searches, their certificates and the summary"
    )
    said.unchecked += [f"the answer of {one}" for one in found.manifest.left_out]
    said.called_for = called_for(samples)
    maker = _Maker(found.manifest, results, download)
    for name, answers in _by_graph(found.manifest).items():
        _check_graph(found, samples, maker, name, answers, device, said)
    said.lines.append(f"answers: {said.proven} of {said.called_for} proven")
    return said


def _check_graph(
    found: BundleFile,
    samples: pd.DataFrame,
    maker: _Maker,
    name: str,
    answers: list[AnswerOf],
    device: str,
    said: Verified,
) -> None:
    """Make a graph, compare it with its entry, and prove the answers on it."""
    try:
        graph = maker.make(name)
    except (UserError, MemoryError, ArithmeticError, ValueError) as error:
        # An entry may have any numbers, and generators raise what NumPy does.
        reason = str(error).partition("\n")[0] or type(error).__name__
        said.unchecked.append(f"{len(answers)} answers on {name}: {reason}")
        return
    said.lines.append(f"graph {name}: {maker.how[name]}, with the content that was measured")
    if wrong := wrong_graph(found.manifest.graphs[name], graph.n_vertices, graph.n_arcs):
        said.wrong.append(f"graph {name}: {wrong}")
    said.proven += _prove(found, samples, graph, answers, device, said)


def differences(path: Path, folder: Path) -> list[str]:
    """Return what contradicts a bundle's searches in its own manifest and tables, and in a published suite.

    Parameters
    ----------
    path : Path
        The bundle.
    folder : Path
        Of the suite, with ``samples.parquet``.

    Raises
    ------
    UserError
        If the file is not a bundle, or differs from what was written.
    """
    found = bundle_file.read(path)
    wrong = _contradictions(found, _samples(found))
    if not _in_order(found.table(SAMPLES)).equals(_in_order(read_table(folder / SAMPLES))):
        wrong.append("its searches are not the published ones")
    return [escaped(line) for line in wrong]


def _contradictions(found: BundleFile, samples: pd.DataFrame) -> list[str]:
    """Return what contradicts the searches in a bundle's manifest, context and tables."""
    checks = (wrong_manifest, wrong_context, _wrong_tables)
    try:
        return [line for check in checks for line in check(found, samples)]
    except (LookupError, TypeError, ValueError) as error:  # a column of another type
        raise UserError(f"{found.path}: its tables are not those of a bundle ({quoted(error)})") from None


def _in_order(samples: pa.Table) -> pa.Table:
    """Sort searches: Snakemake merges configurations in another order than the package.

    What is estimated from all of them depends on that order in its last digits.
    """
    searches = samples.select([name for name in samples.column_names if name not in PROCESS])
    return searches.sort_by([(column, "ascending") for column in (*KEY, "round", "source", "repetition")])


def _by_graph(manifest: Manifest) -> dict[str, list[AnswerOf]]:
    found: dict[str, list[AnswerOf]] = {}
    for answer in manifest.answers:
        found.setdefault(answer.graph, []).append(answer)
    return found


def _samples(found: BundleFile) -> pd.DataFrame:
    """Return the searches, with the columns of gathered ones; UserError if one lacks or has another type."""
    samples = found.frame(SAMPLES).rename(columns={ours: theirs for theirs, ours in RENAMED.items()})
    if lacking := [name for name in NEEDED if name not in samples]:
        raise UserError(f"{found.path}: {SAMPLES} has no column {lacking[0]!r}")
    return checked(f"{found.path}: {SAMPLES}", samples)


def _wrong_tables(found: BundleFile, samples: pd.DataFrame) -> list[str]:
    """Return what contradicts the samples in the certificates and the summary."""
    finished = samples[samples["status"].isin(PROVEN)]
    if len(timeless := finished[~(finished["time_ms"] > 0)]):
        return [
            f"{_name(row)}: a proven search of {row['time_ms']} ms" for row in timeless.to_dict("records")
        ]
    search = [*KEY, "round", "source", "repetition"]
    certificates = found.frame(CERTIFICATES)
    if lacking := [name for name in (*search, "holds") if name not in certificates]:
        raise UserError(f"{found.path}: {CERTIFICATES} has no column {lacking[0]!r}")
    rules = [name for name in certificates if str(name).startswith("rule_")]
    broken = certificates[rules].fillna(0).ne(0).any(axis=1) | ~certificates["holds"].eq(True)
    held = pd.MultiIndex.from_frame(certificates.loc[~broken, search])
    bare = finished[~pd.MultiIndex.from_frame(finished[search]).isin(held)]
    wrong = [
        f"{_name(row)}: the search from {row['source']} occurs twice"
        for row in samples[samples.duplicated(search)].drop_duplicates(KEY).to_dict("records")
    ]
    wrong += [
        f"{_name(row)}: a search from {row['source']} is said to be proven, without a certificate that holds"
        for row in bare.drop_duplicates(KEY).to_dict("records")
    ]
    return wrong + _wrong_summary(found.frame(SUMMARY_FILE), samples)


def _wrong_summary(summary: pd.DataFrame, samples: pd.DataFrame) -> list[str]:
    again = summarise(pa.Table.from_pandas(samples, preserve_index=False)).set_index(KEY)
    if lacking := [name for name in SUMMARY if name not in summary]:
        return [f"the summary has no column {lacking[0]!r}"]
    told = summary.astype(dict.fromkeys(KEY, str)).set_index(KEY)
    if twice := told.index[told.index.duplicated()].unique().tolist():
        return [f"{_spaced(key)}: twice in the summary" for key in twice]
    wrong = [f"{_spaced(key)}: not in the summary" for key in again.index.difference(told.index)]
    for key in again.index.intersection(told.index):
        ours, theirs = again.loc[key], told.loc[key]
        for column in ours.index.difference(UNCHECKED):
            if not _agree(ours[column], theirs[column]):
                wrong.append(f"{_spaced(key)}: {column} of the summary is not that of the samples")
                break
    extra = told.loc[told.index.difference(again.index)]
    timed = extra["status"].isin(PROVEN) | extra["median_ms"].notna()
    return wrong + [f"{_spaced(key)}: in the summary without a search" for key in extra[timed].index]


def _spaced(key: Iterable[Any]) -> str:
    return " ".join(map(str, key))


def _agree(ours: Any, theirs: Any) -> bool:
    """Return whether a cell of a summary is that of the samples, up to the digits of the file."""
    if pd.isna(ours) or pd.isna(theirs):
        return bool(pd.isna(ours) and pd.isna(theirs)) or "" in (ours, theirs)
    if isinstance(ours, int | float | np.number) and not isinstance(ours, bool):
        try:
            return math.isclose(float(ours), float(theirs), rel_tol=SAME_TIME, abs_tol=1e-12)
        except (TypeError, ValueError):
            return False
    return str(ours) == str(theirs)


def _name(row: Mapping[Any, Any]) -> str:
    return _spaced(row[column] for column in KEY)


class _Maker:
    """Makes the graphs of a bundle: from a results folder, or anew from their entries."""

    def __init__(self, manifest: Manifest, results: Path, download: bool) -> None:
        self._manifest, self._results, self._download = manifest, results, download
        self.how: dict[str, str] = {}
        """Where each graph came from."""

    def make(self, name: str) -> Graph | Batch:
        """Return a graph with the content that the bundle names; UserError if it cannot be had."""
        entry = self._manifest.graphs.get(name)
        if entry is None:
            raise UserError("the bundle does not describe the graph")
        folder = self._results / ("batches" if entry.batch else "graphs") / Path(name).name
        if folder.is_dir():
            try:
                here = read_batch(folder) if entry.batch else read_graph(folder)
            except UserError:
                here = None
            if here is not None and here.metadata.get("content_sha256") == entry.content_sha256:
                self.how[name] = f"from {folder}"
                return here
        try:
            dataset: Dataset[Any] = Dataset.model_validate(entry.dataset)
        except (ValidationError, UserError) as error:
            first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            raise UserError(f"its entry is not valid here ({quoted(first)})") from None
        base = self.make(entry.base) if entry.base else None
        with self._files(dataset) as files:
            if entry.batch:
                made: Graph | Batch = build_batch(name, dataset, files=files)
            else:
                made = build_graph(name, dataset, files=files, base=base if isinstance(base, Graph) else None)
        found = batches.content_hash(made) if isinstance(made, Batch) else graphs.content_hash(made)
        if found != entry.content_sha256:
            raise UserError("made here, its content differs; check with the commit that the bundle names")
        self.how[name] = "made from its files" if dataset.files else "generated"
        return made

    @contextmanager
    def _files(self, dataset: Dataset[Any]) -> Iterator[list[Path]]:
        """Yield the data files of an entry; UserError if one cannot be had."""
        with tempfile.TemporaryDirectory() as folder:
            yield [self._file(one, Path(folder)) for one in dataset.files]

    def _file(self, file: DataFile, folder: Path) -> Path:
        if file.path:
            if not Path(file.path).is_file():
                raise UserError(f"its file {quoted(file.path)} is not here")
            return Path(file.path)
        name = str(file.file_name)
        here = self._results / "downloads" / name
        if here.is_file():
            return here
        mirrors = [one for one in all_mirrors([]) if self._download or "://" not in one]
        if not self._download and not any((Path(one) / name).is_file() for one in mirrors):
            raise UserError(f"its file {name} is not in {here.parent}; FETCH=1 downloads it")
        urls = file.urls if self._download else []
        fetch(urls, folder / name, sha256=file.sha256, expected_bytes=file.bytes, mirrors=mirrors)
        return folder / name


def _prove(
    found: BundleFile,
    samples: pd.DataFrame,
    graph: Graph | Batch,
    answers: list[AnswerOf],
    device: str,
    said: Verified,
) -> int:
    """Prove the answers on a graph; return how many are."""
    provers: dict[str, Prover] = {}
    outcomes: Counter[bool] = Counter()
    for answer in answers:
        what = title(answer)
        if answer.problem not in problem_names():
            said.unchecked.append(f"the answer of {what}: no problem of this name here")
            continue
        try:
            if (problem := load_problem(answer.problem)).queries:
                raise ValueError("a bundle holds no query sets")
            if answer.problem not in provers:
                provers[answer.problem] = Prover(problem, graph, get_device(device))
            columns = _columns(found, answer, graph)
            search = Search({}, answer.source, columns, False, {})
            if answer.source != (source := _source_of(samples, answer, graph)):
                raise ValueError(f"source {answer.source}; expected {source}, as in its first search")
            proof = provers[answer.problem].prove(search)
        except DeviceOutOfMemory as error:
            said.unchecked.append(f"the answer of {what}: {error}")
            continue
        except ValueError as error:
            said.wrong.append(f"the answer of {what}: {error}")
            continue
        broken = [f"rule {rule} broken {count} times" for rule, count in proof["violations"].items() if count]
        if not broken and proof["reached_arcs"] not in _reached(samples, answer):
            broken = [f"it reaches {proof['reached_arcs']:,} arcs, which the samples do not say"]
        said.wrong += [f"the answer of {what}: {', '.join(broken)}"] if broken else []
        outcomes[not broken] += 1
    return outcomes[True]


def _columns(found: BundleFile, answer: AnswerOf, graph: Graph | Batch) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of an answer; ValueError if they are not those of its problem."""
    if answer.tree is not None:
        return _columns_of_tree(found, answer, graph)
    expected, n_vertices = load_problem(answer.problem).columns_on(graph), graph.n_vertices
    if sorted(answer.columns) != sorted(expected):
        raise ValueError(f"columns {', '.join(answer.columns)}; expected {', '.join(expected)}")
    columns = {}
    for name, kind in expected.items():
        table = found.table(answer.columns[name])
        if table.column_names != [name] or len(table) != n_vertices or table[name].null_count:
            raise ValueError(f"{answer.columns[name]} is not a column {name} of {n_vertices:,} values")
        columns[name] = table[name].to_numpy()
        if columns[name].dtype != kind:
            raise ValueError(f"column {name} is of type {columns[name].dtype}, expected {kind}")
    return columns


def _columns_of_tree(
    found: BundleFile, answer: AnswerOf, graph: Graph | Batch
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns that follow from an answer's tree; ValueError if they are not the measured ones."""
    table = found.table(str(answer.tree))
    if table.schema != pa.schema({TREE: pa.uint32()}) or table[TREE].null_count or isinstance(graph, Batch):
        raise ValueError(f"{answer.tree} is not a column {TREE} of a graph's answer")
    if answer.columns or answer.source is None:
        raise ValueError("expected a source and no columns with a tree")
    columns = columns_of(graph, answer.problem, answer.source, table[TREE].to_numpy())
    if sorted(answer.hashes) != sorted(columns):
        raise ValueError(f"hashes of {', '.join(answer.hashes)}; expected {', '.join(columns)}")
    if other := [name for name, values in columns.items() if _hash(values) != answer.hashes[name]]:
        raise ValueError(f"column {other[0]} of its tree is not the one that was measured")
    return columns


def _source_of(samples: pd.DataFrame, answer: AnswerOf, graph: Graph | Batch) -> int | None:
    """Return the source of the first search of a run, or None if there is none."""
    sources = samples.loc[_of_run(samples, answer), "source"]
    if isinstance(graph, Batch) or not load_problem(answer.problem).has_source or sources.empty:
        return None
    return int(sources.iloc[0])


def _reached(samples: pd.DataFrame, answer: AnswerOf) -> set[int]:
    """Return the numbers of arcs that the searches of this answer's source reached."""
    source = answer.source if answer.source is not None else 0
    of_source = _of_run(samples, answer) & (samples["source"] == source)
    return {int(one) for one in samples.loc[of_source, "reached_arcs"].dropna()}


def _of_run(samples: pd.DataFrame, answer: AnswerOf) -> pd.Series:
    return (samples[KEY] == [answer.problem, answer.graph, answer.variant]).all(axis=1)
