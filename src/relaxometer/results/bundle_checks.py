"""Checks a bundle's manifest, context and copy rate against its searches; docs/bundle.md."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from pydantic import ValidationError

from relaxometer.core.errors import UserError
from relaxometer.datasets.registry import Dataset
from relaxometer.results.bundle_file import AnswerOf, BundleFile, GraphOf
from relaxometer.results.finished import CERTIFICATES, SUMMARY_FILE
from relaxometer.results.published import SAMPLES
from relaxometer.results.recorded import CONTEXT, RATES, RUN
from relaxometer.results.rows import KEY, PROVEN

LOCK = "requirements.lock"


def wrong_manifest(found: BundleFile, samples: pd.DataFrame) -> list[str]:
    """Return what contradicts the searches of a bundle in its manifest, one line each.

    Parameters
    ----------
    found : BundleFile
    samples : DataFrame
        Its searches.
    """
    runs = [tuple(map(str, key)) for key in samples[KEY].drop_duplicates().itertuples(index=False, name=None)]
    kernels = {f"{problem}/{variant}" for problem, _, variant in runs}
    return [
        *_wrong_answers(found, runs),
        *_differing("graphs", found.manifest.graphs, _with_bases(found, {graph for _, graph, _ in runs})),
        *_wrong_entries(found),
        *_differing("kernels", found.manifest.kernels, kernels),
        *_differing("members", found.members, _members(found)),
        *_wrong_lock(found),
    ]


def wrong_context(found: BundleFile, samples: pd.DataFrame) -> list[str]:
    """Return what is wrong with the context and the copy rate of a bundle, one line each.

    Parameters
    ----------
    found : BundleFile
    samples : DataFrame
        Its searches.
    """
    return [*_wrong_context(found, samples), *_wrong_rates(found)]


def called_for(samples: pd.DataFrame) -> int:
    """Return how many first answers the searches call for: those of runs whose first search is proven."""
    return int(samples.drop_duplicates(KEY)["status"].isin(PROVEN).sum())


def wrong_graph(entry: GraphOf, vertices: int, arcs: int) -> str:
    """Return how the size in the manifest differs from that of the graph; empty if it does not."""
    told = {"vertices": (entry.vertices, vertices), "arcs": (entry.arcs, arcs)}
    return ", ".join(
        f"{what} {ours:,}; it has {theirs:,}" for what, (ours, theirs) in told.items() if ours != theirs
    )


def title(answer: AnswerOf) -> str:
    """Return the name of an answer's run in messages and in ``left_out``."""
    return _title(answer.problem, answer.graph, answer.variant)


def _title(problem: str, graph: str, variant: str) -> str:
    return f"{problem} {variant} on {graph}"


def _wrong_answers(found: BundleFile, runs: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the runs that ``answers`` and ``left_out`` do not name exactly once together."""
    names = [title(answer) for answer in found.manifest.answers]
    named = Counter([*names, *(line.partition(": ")[0] for line in found.manifest.left_out)])
    for run in (_title(*key) for key in runs):
        if (times := named.pop(run, 0)) > 1:
            yield f"{run}: answers and left_out name it {times} times; expected once"
        elif not times:
            yield f"{run}: its first answer is neither in answers nor in left_out"
    yield from (f"{name}: answers or left_out name it, but it has no searches" for name in named)


def _differing(key: str, ours: Iterable[str], expected: Iterable[str]) -> Iterator[str]:
    ours, expected = set(ours), set(expected)
    yield from (f"{key} of the manifest: no {name}" for name in sorted(expected - ours))
    yield from (f"{key} of the manifest: {name} belongs to no search" for name in sorted(ours - expected))


def _wrong_entries(found: BundleFile) -> Iterator[str]:
    """Yield the graphs of which the manifest says something else than their entry of the registry."""
    for name, graph in found.manifest.graphs.items():
        try:
            dataset: Dataset[Any] = Dataset.model_validate(graph.dataset)
        except (ValidationError, UserError):
            continue  # An entry of another version: the graph cannot be made, and is not checked.
        if graph.batch != dataset.is_batch:
            yield f"graphs of the manifest: {name}: its dataset says that batch is {dataset.is_batch}"
        if graph.base != dataset.extracted_from:
            yield f"graphs of the manifest: {name}: its dataset says that base is {dataset.extracted_from}"


def _with_bases(found: BundleFile, graphs: set[str]) -> set[str]:
    waiting = sorted(graphs)
    for name in waiting:  # which grows
        entry = found.manifest.graphs.get(name)
        if entry and entry.base and entry.base not in waiting:
            waiting.append(entry.base)
    return set(waiting)


def _members(found: BundleFile) -> set[str]:
    optional = {RATES, LOCK} & found.members.keys()
    answers = found.manifest.answers
    columns = {member for answer in answers for member in answer.columns.values()}
    trees = {answer.tree for answer in answers if answer.tree is not None}
    return {SAMPLES, CERTIFICATES, SUMMARY_FILE, CONTEXT} | optional | columns | trees


def _wrong_lock(found: BundleFile) -> Iterator[str]:
    lock = found.members.get(LOCK)
    if found.manifest.lock_sha256 != (None if lock is None else hashlib.sha256(lock).hexdigest()):
        yield f"lock_sha256 of the manifest is not that of {LOCK}"


def _wrong_context(found: BundleFile, samples: pd.DataFrame) -> Iterator[str]:
    context = found.json(CONTEXT)
    if not isinstance(context, dict) or context.keys() != {"common", "runs"}:
        yield f"{CONTEXT}: expected the keys common and runs"
    elif not isinstance(context["common"], dict):
        yield f"{CONTEXT}: common: expected keys and values"
    elif not isinstance(context["runs"], list) or not all(map(_is_context, context["runs"])):
        yield f"{CONTEXT}: runs: expected a list of keys and values, each with {RUN}: problem/graph/variant"
    else:
        known = {one[RUN] for one in context["runs"]}
        names = dict.fromkeys("/".join(map(str, key)) for key in samples[KEY].to_numpy())
        yield from (f"{CONTEXT}: runs: no {name}" for name in names if name not in known)


def _is_context(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get(RUN), str)


def _wrong_rates(found: BundleFile) -> Iterator[str]:
    rates: Any = found.json(RATES) if RATES in found.members else {"device": "", "copy_gb_s": 1.0}
    keys = isinstance(rates, dict) and isinstance(rates.get("device"), str)
    if not keys or not isinstance(rates.get("copy_gb_s"), int | float) or not rates["copy_gb_s"] > 0:
        yield f"{RATES}: expected the keys device and copy_gb_s, a positive rate"
