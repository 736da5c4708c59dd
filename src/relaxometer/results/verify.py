"""Checks a bundle without a network: recomputes its tables and proves its answers again; docs/bundle.md."""

from __future__ import annotations

import io
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pydantic import ValidationError

from relaxometer.core.errors import UserError, escaped, quoted
from relaxometer.core.files import read_csv, read_table, reading
from relaxometer.datasets.build import build_batch, build_graph
from relaxometer.datasets.download import all_mirrors, fetch
from relaxometer.datasets.registry import DataFile, Dataset
from relaxometer.device import DeviceOutOfMemory, get_device
from relaxometer.graphs.batch import Batch, read_batch
from relaxometer.graphs.graph import Graph, read_graph
from relaxometer.problems.problem import load_problem, problem_names
from relaxometer.race.proofs import Prover
from relaxometer.results import bundle_file
from relaxometer.results.bundle_file import AnswerOf, BundleFile
from relaxometer.results.calls import CALLS, COLD, PREPARED
from relaxometer.results.finished import CERTIFICATES, SUMMARY_FILE, content_hash
from relaxometer.results.gather import summarise
from relaxometer.results.processes import PROCESS
from relaxometer.results.published import SAMPLES
from relaxometer.results.recorded import Recorded, recorded_in
from relaxometer.results.rows import KEY, PROVEN
from relaxometer.results.tree_answers import columns_of

SEARCH = [*KEY, "round", "source", "repetition"]

TREE = "tree"

SAME_TIME = 1e-5
"""Relative difference of a number and the same in the summary, which has six digits."""

UNCHECKED = ["mteps", "mteps_harmonic"]
"""Columns of the summary that follow from more than the samples."""


@dataclass
class Verified:
    """What the check of a bundle found: what was checked, what is wrong, and what could not be checked.

    `called_for` is how many first answers the searches call for, those of runs whose first search is proven,
    and `proven` how many of them are proven.
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
    """Check a bundle: every byte, the schema, the tables against the samples, and the proofs of its answers.

    Graphs and downloads of the folder `results` are used; nothing is written there. With `download`, files
    that graphs are made from may be fetched from the addresses that the bundle names. `device` is where
    answers are proven. UserError if the file is not a bundle, differs from what was written, or a table is
    not one of searches.
    """
    found = bundle_file.read(path)
    samples = recorded_in(found).timings
    firsts = samples.drop_duplicates(KEY)
    said = Verified(
        [
            f"{path}: {len(found.members)} members, every byte as written, sha256 {found.sha256}",
            f"tables: {len(firsts)} runs, {len(samples):,} searches, their certificates and the summary",
        ],
        contradictions(found),
        [f"the answer of {one}" for one in found.manifest.left_out],
        int(firsts["status"].isin(PROVEN).sum()),
    )
    for name in dict.fromkeys(answer.graph for answer in found.manifest.answers):
        answers = [answer for answer in found.manifest.answers if answer.graph == name]
        try:
            graph, how = _graph(found, name, results, download)
        except (UserError, MemoryError, ArithmeticError, ValueError, LookupError) as error:
            # An entry may have any numbers, and generators raise what NumPy does.
            reason = str(error).partition("\n")[0] or type(error).__name__
            said.unchecked.append(f"{len(answers)} answers on {name}: {reason}")
            continue
        said.lines.append(f"graph {name}: {how}, with the content that was measured")
        _prove(found, samples, graph, answers, device, said)
    said.lines.append(f"answers: {said.proven} of {said.called_for} proven")
    return said


def differences(path: Path, folder: Path) -> list[str]:
    """Return what contradicts a bundle's searches in itself and in the folder of a published suite.

    UserError if the file is not a bundle, or differs from what was written.
    """
    found = bundle_file.read(path)
    wrong = contradictions(found)
    if not _in_order(found.table(SAMPLES)).equals(_in_order(read_table(folder / SAMPLES))):
        wrong.append("its searches are not the published ones")
    return [escaped(line) for line in wrong]


def _in_order(samples: pa.Table) -> pa.Table:
    """Sort searches: Snakemake merges configurations in another order than the package.

    What is estimated from all of them depends on that order in its last digits.
    """
    searches = samples.select([name for name in samples.column_names if name not in PROCESS])
    return searches.sort_by([(column, "ascending") for column in SEARCH])


def contradictions(found: BundleFile) -> list[str]:
    """Return what contradicts the searches in a bundle's manifest, context, certificates and summary.

    UserError if one of them is damaged.
    """
    recorded = recorded_in(found)
    return [
        *_wrong_runs(found, recorded),
        *_wrong_certificates(found, recorded.timings),
        *_wrong_summary(found, recorded.timings),
    ]


def _wrong_runs(found: BundleFile, recorded: Recorded) -> Iterator[str]:
    """Yield the runs without a context or a graph, and those whose answer is not named exactly once."""
    names = [_title(answer) for answer in found.manifest.answers]
    named = Counter([*names, *(line.partition(": ")[0] for line in found.manifest.left_out)])
    for problem, graph, variant in recorded.timings[KEY].drop_duplicates().itertuples(index=False, name=None):
        run = f"{problem} {variant} on {graph}"
        if (times := named[run]) != 1:
            yield f"{run}: answers and left_out name it {times} times; expected once"
        if graph not in found.manifest.graphs:
            yield f"{run}: graphs of the manifest do not name its graph"
        if not recorded.of_run(problem, graph, variant):
            yield f"{run}: it has no context"


def _title(answer: AnswerOf) -> str:
    return f"{answer.problem} {answer.variant} on {answer.graph}"


def _wrong_certificates(found: BundleFile, samples: pd.DataFrame) -> Iterator[str]:
    """Yield the runs with a proven search that has no certificate that holds."""
    certificates = found.table(CERTIFICATES).to_pandas()
    if lacking := [name for name in (*SEARCH, "holds") if name not in certificates]:
        raise UserError(f"{found.path / CERTIFICATES}: no column {lacking[0]!r}; {found.advice}")
    rules = [name for name in certificates if str(name).startswith("rule_")]
    holds = certificates["holds"].eq(True) & certificates[rules].fillna(0).eq(0).all(axis=1)
    held = pd.MultiIndex.from_frame(certificates.loc[holds, SEARCH])
    proven = samples[samples["status"].isin(PROVEN)]
    bare = proven[~pd.MultiIndex.from_frame(proven[SEARCH]).isin(held)].drop_duplicates(KEY)
    for row in bare.to_dict("records"):
        key, source = " ".join(str(row[name]) for name in KEY), row["source"]
        yield f"{key}: a search from {source} is said to be proven, without a certificate that holds"


def _wrong_summary(found: BundleFile, samples: pd.DataFrame) -> Iterator[str]:
    # Columns of samples that were bundled before they were measured.
    later = [] if "call_ms" in samples else CALLS
    later = later if "call_prepare_ms" in samples else [*later, *PREPARED]
    later = later if "call_cold_ms" in samples else [*later, *COLD]
    later = later if "reference_ms" in samples else [*later, "slowed"]
    later = later if "answer" in samples else [*later, "answer"]
    table = summarise(samples).drop(columns=[*UNCHECKED, *later])
    ours = _as_texts(table.to_csv(index=False).encode()).set_index(KEY)
    with reading(found.path / SUMMARY_FILE, "CSV", advice=found.advice):
        theirs = _as_texts(found.content(SUMMARY_FILE))
        if lacking := [name for name in (*KEY, *ours) if name not in theirs]:
            raise ValueError(f"no column {lacking[0]!r}")
    theirs = theirs.drop_duplicates(KEY, keep=False).set_index(KEY)
    yield from (f"{' '.join(key)}: not once in the summary" for key in ours.index.difference(theirs.index))
    both = ours.index.intersection(theirs.index)
    wrong: dict[Any, str] = {}
    for column in ours:
        same = _agree(ours.loc[both][column], theirs.loc[both][column])
        wrong |= {key: str(column) for key in both[~same] if key not in wrong}
    for key, column in wrong.items():
        yield f"{' '.join(key)}: {column} of the summary is not that of the samples"
    extra = theirs.loc[theirs.index.difference(ours.index)]
    timed = extra["status"].isin(PROVEN) | extra["median_ms"].ne("")
    yield from (f"{' '.join(key)}: in the summary without a search" for key in extra[timed].index)


def _as_texts(csv: bytes) -> pd.DataFrame:
    return read_csv(io.BytesIO(csv), dtype=str, keep_default_na=False)


def _agree(ours: pd.Series, theirs: pd.Series) -> npt.NDArray[np.bool_]:
    one, other = (pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float) for texts in (ours, theirs))
    return np.asarray(ours == theirs) | np.isclose(one, other, rtol=SAME_TIME, atol=1e-12)


def _graph(found: BundleFile, name: str, results: Path, download: bool) -> tuple[Graph | Batch, str]:
    """Return a graph with the content that a bundle names, and where it came from.

    UserError if it is not in the results folder, and cannot be made or has other content.
    """
    entry = found.manifest.graphs.get(name)
    if entry is None:
        raise UserError("the bundle does not describe the graph")
    folder = results / ("batches" if entry.batch else "graphs") / Path(name).name
    if folder.is_dir():
        try:
            here: Graph | Batch = read_batch(folder) if entry.batch else read_graph(folder)
        except UserError:
            pass
        else:
            if here.metadata.get("content_sha256") == entry.content_sha256:
                return here, f"from {folder}"
    try:
        dataset: Dataset[Any] = Dataset.model_validate(entry.dataset)
    except ValidationError as error:
        raise UserError(f"its entry is not valid here ({quoted(error.errors()[0]['msg'])})") from None
    base: Any = _graph(found, entry.base, results, download)[0] if entry.base else None
    with tempfile.TemporaryDirectory() as fetched:
        files = [_file(one, results, Path(fetched), download) for one in dataset.files]
        if entry.batch:
            made: Graph | Batch = build_batch(name, dataset, files=files)
        else:
            made = build_graph(name, dataset, files=files, base=base)
    if content_hash(made) != entry.content_sha256:
        raise UserError("made here, its content differs; check with the commit that the bundle names")
    return made, "made from its files" if dataset.files else "generated"


def _file(file: DataFile, results: Path, folder: Path, download: bool) -> Path:
    """Return a data file: that of a results folder or a mirror here, or one that is fetched to a folder."""
    if file.path:
        return Path(file.path)
    name, mirrors = str(file.file_name), all_mirrors([])
    for place in (results / "downloads", *(Path(one) for one in mirrors if "://" not in one)):
        if (place / name).is_file():
            return place / name
    if not download:
        raise UserError(f"its file {name} is not in {results / 'downloads'}; FETCH=1 downloads it")
    fetch(file.urls, folder / name, sha256=file.sha256, expected_bytes=file.bytes, mirrors=mirrors)
    return folder / name


def _prove(
    found: BundleFile,
    samples: pd.DataFrame,
    graph: Graph | Batch,
    answers: list[AnswerOf],
    device: str,
    said: Verified,
) -> None:
    provers: dict[str, Prover] = {}
    for answer in answers:
        what = f"the answer of {_title(answer)}"
        if answer.problem not in problem_names():
            said.unchecked.append(f"{what}: no problem of this name here")
            continue
        try:
            if answer.problem not in provers:
                provers[answer.problem] = Prover(load_problem(answer.problem), graph, get_device(device))
            wrong = _broken(found, samples, graph, answer, provers[answer.problem])
        except DeviceOutOfMemory as error:
            said.unchecked.append(f"{what}: {error}")
            continue
        except ValueError as error:
            wrong = [str(error)]
        said.wrong += [f"{what}: {', '.join(wrong)}"] if wrong else []
        said.proven += not wrong


def _broken(
    found: BundleFile, samples: pd.DataFrame, graph: Graph | Batch, answer: AnswerOf, prover: Prover
) -> list[str]:
    """Return what is wrong with an answer; ValueError if it is not one to the first search of its run."""
    searches = samples[(samples[KEY] == [answer.problem, answer.graph, answer.variant]).all(axis=1)]
    has_source = load_problem(answer.problem).has_source and isinstance(graph, Graph)
    source = int(searches["source"].iloc[0]) if has_source and len(searches) else None
    if answer.source != source:
        raise ValueError(f"source {answer.source}; expected {source}, as in its first search")
    columns = _columns(found, answer, graph)
    proof = prover.prove(source, columns)
    broken = [f"rule {rule} broken {count} times" for rule, count in proof["violations"].items() if count]
    told = searches.loc[searches["source"] == (source or 0), "reached_arcs"].dropna()
    if not broken and proof["reached_arcs"] not in set(told):
        return [f"it reaches {proof['reached_arcs']:,} arcs, which the samples do not say"]
    return broken


def _columns(found: BundleFile, answer: AnswerOf, graph: Graph | Batch) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of an answer; ValueError if they are not those of its problem."""
    if answer.tree is not None:
        if isinstance(graph, Batch) or answer.source is None:
            raise ValueError("its tree is not one of this graph and problem")
        places = _column(found, answer.tree, TREE, np.dtype(np.uint32), graph.n_vertices)
        return columns_of(graph, answer.problem, answer.source, places)
    expected = load_problem(answer.problem).columns_on(graph)
    if sorted(answer.columns) != sorted(expected):
        raise ValueError(f"columns {', '.join(answer.columns)}; expected {', '.join(expected)}")
    return {
        name: _column(found, answer.columns[name], name, kind, graph.n_vertices)
        for name, kind in expected.items()
    }


def _column(found: BundleFile, member: str, name: str, kind: np.dtype[Any], size: int) -> npt.NDArray[Any]:
    table = found.table(member)
    if table.column_names != [name] or len(table) != size or table[name].null_count:
        raise ValueError(f"{member} is not a column {name} of {size:,} values")
    values: npt.NDArray[Any] = table[name].to_numpy()
    if values.dtype != kind:
        raise ValueError(f"column {name} is of type {values.dtype}, expected {kind}")
    return values
