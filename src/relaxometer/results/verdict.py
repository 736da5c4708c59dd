"""The verdict on all answers of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from relaxometer.core.files import read_frame
from relaxometer.core.words import counted
from relaxometer.problems.problem import load_problem
from relaxometer.results.contexts import (
    MAX_DRIFT,
    cost_warnings,
    drift_warnings,
    largest_drift,
    read_contexts,
)
from relaxometer.results.rows import FAILURES, PROVEN
from relaxometer.studies.registry import STUDIES

QUIET = {"ok", "skipped", "absent", "unproven"}

MAX_NAMED = 30

Outcome = tuple[str, str, str]


def verdict(
    summary: Path,
    studies: Mapping[str, Sequence[Path]] | None = None,
    lost: Mapping[str, Iterable[str]] | None = None,
    contexts: Sequence[Path] = (),
) -> str:
    """Return the verdict on a whole run: one line, then a line for each measurement that is not ok.

    Lines that begin with "note:" follow, which say what the broken rules demand, then lines that begin with
    "warning:", of races during which the machine's speed changed, of leaks and of clocks that were held back.
    The first line begins with "error:" if an answer is wrong or is missing because of an error. Otherwise it
    also names the runs that gave no answer to prove, and says how far the machine's speed changed if that was
    far.

    `summary` is ``summary.csv``, and `contexts` each ``context.json`` of all rounds. `studies` has the tables
    of studies by their keys in :data:`relaxometer.studies.registry.STUDIES`, and `lost`, by the kind of what
    could not be made, the reasons.
    """
    table = read_frame(summary, keep_default_na=False)
    outcomes = [
        (f"{row.problem} {row.variant} on {row.graph}", row.status, row.reason) for row in table.itertuples()
    ]
    unproven = [what for what, status, _ in outcomes if status == "unproven"]
    for name, paths in (studies or {}).items():
        outcomes += _of_study(name, paths)
    outcomes += [(kind, "error", reason) for kind, reasons in (lost or {}).items() for reason in reasons]
    bad = [outcome for outcome in outcomes if outcome[1] not in QUIET]
    lines = [f"{what}: {status} ({reason})" for what, status, reason in bad]
    known = read_contexts(contexts)
    named = _listed([f"{what} ({status})" for what, status, _ in bad])
    disputed = [what for what, status, _ in bad if status == "disputed"]
    unfinished = [f"{what} ({status})" for what, status, _ in bad if status != "disputed"]
    if any(status in FAILURES for _, status, _ in bad):
        verb = "is" if len(bad) == 1 else "are"
        head = f"error: {len(bad):,} of {counted(len(outcomes), 'measurement')} {verb} not ok: {named}"
    else:
        proven = int(table["status"].isin(PROVEN).sum())
        head = f"{counted(proven, 'run')} measured, every answer proven correct"
        head = head if outcomes else "nothing measured: the configuration has no runs"
        head += f"; without an answer to prove: {_listed(unproven)}" if unproven else ""
        for said, those in (("own clock disputed", disputed), ("not finished", unfinished)):
            head += f"; {said}: {_listed(those)}" if those else ""
        drift = largest_drift(known)
        head += f"; the machine's speed changed by up to {drift:.0%}" if drift > MAX_DRIFT else ""
    warnings = [*drift_warnings(known), *cost_warnings(known)]
    return "\n".join([head, *lines, *_broken_rules(table), *warnings, ""])


def _broken_rules(table: pd.DataFrame) -> Iterator[str]:
    for problem, rows in table[table["status"] == "invalid"].groupby("problem", sort=False):
        rules = load_problem(str(problem)).rules
        broken = set(re.findall(r"\brule (\w+) broken\b", " ".join(rows["reason"])))
        for rule, demand in rules.items() if isinstance(rules, Mapping) else ():
            if rule in broken:
                yield f"note: rule {rule} of {problem}: {demand}"


def _of_study(name: str, paths: Sequence[Path]) -> list[Outcome]:
    describe = STUDIES[name].describe
    assert describe is not None, f"rows of {name} have no status"
    rows = [row for path in paths for row in read_frame(path).to_dict("records")]
    return [(describe(row), row["status"], row["reason"]) for row in rows]


def _listed(names: Sequence[str]) -> str:
    """Return names in one line, the first `MAX_NAMED` of them."""
    shown = ", ".join(names[:MAX_NAMED])
    more = len(names) - MAX_NAMED
    return f"{shown}, and {more} more; see results/verdict.txt" if more > 0 else shown
