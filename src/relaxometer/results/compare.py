"""Compares two runs of the workflow: which variants became slower, by how much, and how sure that is.

docs/compare.md describes the method; the statistics are those of races (docs/statistics.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relaxometer.core.errors import UserError
from relaxometer.core.words import counted
from relaxometer.results.calls import call_times
from relaxometer.results.contexts import CLOCKS, MAX_DRIFT
from relaxometer.results.gather import worst
from relaxometer.results.processes import with_processes
from relaxometer.results.query_sets import pooled
from relaxometer.results.recorded import Recorded, paired
from relaxometer.results.rows import KEY, NOT_TRIED, PROVEN
from relaxometer.results.samples import CLASSES, EMULATED, IDENTITY, Sample, sample_of, source_times
from relaxometer.results.statistics import FEWEST, SIGNIFICANCE, Estimate, Part, holm

THRESHOLD = 0.05
"""A slowdown counts as a regression by default if it may be this large."""

CALIBRATION = Part(0.1**2, float("inf"))
"""What a calibration adds to the variance, an assumption: programs differ in what they need of a machine."""

YARDSTICK = "dijkstra-cpu"
"""The solver by whose times CPU programs of two machines are calibrated."""

SLOWER, TOLERATED, FASTER, SAME = "slower", "slower, tolerated", "faster", "no difference shown"
FAILS, FEW, OTHER_GRAPH, EMULATION = "fails now", "too few samples", "other graph", "emulated"
NOT_RUN = "not run here"
NOTHING_SHARED = "no source or query set in common"
ONLY_BASE, ONLY_NOW = "only in base", "new"

REGRESSIONS = (SLOWER, FAILS)

COMPARISON = [
    *(*KEY, "class", "verdict", "base_ms", "now_ms", "ratio", "low", "high", "p_value", "samples"),
    *("base_prepare_ms", "now_prepare_ms", "base_call_ms", "now_call_ms", "note"),
]

SEARCH = [*IDENTITY, "source", "round", "repetition", "time_ms", "status"]

SIDES = BASE, NOW = ("base", "now")


@dataclass(frozen=True)
class Yardstick:
    """Divisor of the times of one class of runs: the time that the machine now needs over that of the base.

    `what` says by which measure; it is empty if the device is the same and nothing is calibrated.
    """

    factor: float = 1.0
    what: str = ""


@dataclass(frozen=True)
class Compared:
    """Two runs of the workflow, compared.

    `lines` has the columns `COMPARISON`, one row per problem, graph and variant of either. `notes` name
    differences between the machines, and how times were calibrated. `base` and `now` are names with commits.
    """

    lines: pd.DataFrame
    notes: list[str]
    threshold: float
    base: str
    now: str

    @property
    def regressions(self) -> pd.DataFrame:
        """The lines that make the comparison fail."""
        return self.lines[self.lines["verdict"].isin(REGRESSIONS)]

    @property
    def verdict(self) -> str:
        """The outcome in one line."""
        counts = self.lines["verdict"].value_counts()
        tested = int(counts.reindex([SLOWER, TOLERATED, FASTER, SAME]).sum())
        told = _counted(counts, (SLOWER, TOLERATED, FASTER)) or "no difference shown"
        parts = [f"{counted(tested, 'run')} compared: {told if tested else 'nothing could be compared'}"]
        if failing := int(counts.get(FAILS, 0)):
            parts.append(f"{failing} {'fails' if failing == 1 else 'fail'} now")
        if untested := _counted(counts, (FEW, OTHER_GRAPH, EMULATION, NOT_RUN)):
            parts.append(f"not tested: {untested}")
        rule = f"a slowdown counts unless it is shown to be less than {100 * self.threshold:g}%"
        return f"{'; '.join(parts)} ({rule})"


def _counted(counts: pd.Series, verdicts: Iterable[str]) -> str:
    return ", ".join(f"{counts[name]} {name}" for name in verdicts if counts.get(name))


def compare(base: Recorded, now: Recorded, threshold: float = THRESHOLD) -> Compared:
    """Compare every run that both have, over their common sources; UserError if they have none in common.

    A run that is shown to be slower counts as a regression unless it is also shown to be slower by less than
    the share `threshold`.
    """
    base, now = paired((base, now))
    keys = {side: _runs(one) for side, one in zip(SIDES, (base, now), strict=True)}
    shared = [key for key in keys[NOW] if key in keys[BASE]]
    if not shared:
        raise UserError(f"{base.name} and {now.name} have no problem, graph and variant in common")
    yardsticks = _yardsticks(base, now)
    samples = _samples(base, now, {name for name, one in yardsticks.items() if one.what})
    lines = [_line(key, base, now, keys, samples) for key in shared]
    tested = [line for line in lines if not line["verdict"]]
    ratios = [
        _calibrated(samples[NOW][key].over(samples[BASE][key]), yardsticks[line["class"]])
        for line in tested
        for key in [tuple(line[column] for column in KEY)]
    ]
    corrected = holm([one.p_value() for one in ratios])
    for line, ratio, p_value in zip(tested, ratios, corrected, strict=True):
        low, high = ratio.interval()
        line |= {"ratio": ratio.value, "low": low, "high": high, "p_value": p_value, "samples": ratio.n}
        line["verdict"] = judge(ratio, p_value, threshold)
        line["note"] = line["note"] if ratio.n else "; ".join(filter(None, [line["note"], NOTHING_SHARED]))
    for side, other, verdict in ((BASE, NOW, ONLY_BASE), (NOW, BASE, ONLY_NOW)):
        alone = [key for key in keys[side] if key not in keys[other]]
        lines += [{**_identity(key, keys[side]), "verdict": verdict} for key in alone]
    table = pd.DataFrame(lines, columns=COMPARISON).fillna({"note": ""})
    return Compared(table, _notes(base, now, yardsticks), threshold, _named(base), _named(now))


def judge(ratio: Estimate, p_value: float, threshold: float) -> str:
    """Return the verdict on a run, given the `ratio` of its time now to that of the base.

    `p_value` is that of "they do not differ", corrected for all comparisons; `threshold` is a share of the
    time.
    """
    if ratio.n < FEWEST:
        return FEW
    if p_value >= SIGNIFICANCE:
        return SAME
    if ratio.log < 0:
        return FASTER
    _, most = ratio.interval(1 - SIGNIFICANCE)
    return SLOWER if most >= 1 + threshold else TOLERATED


Key = tuple[str, ...]
Samples = dict[str, dict[Key, Sample]]
Runs = Mapping[Key, Mapping[str, Any]]
"""What is known of each run without its samples, by problem, graph and variant."""


def _runs(one: Recorded) -> Runs:
    found: dict[tuple[str, ...], Mapping[str, Any]] = {}
    calls = call_times(one.timings)["call_ms"].to_dict()
    for key, rows in one.timings.groupby(KEY, sort=False):
        first = rows.iloc[0]
        status = worst(rows["status"])
        timed = rows["status"].isin(PROVEN) & ~pooled(rows)
        rounds = rows[timed].groupby(["source", "round"])["time_ms"].median()
        times = rounds.groupby(level="source").median()
        found[tuple(map(str, key))] = {
            "class": first["class"],
            "status": status,
            "reason": rows.loc[rows["status"] == status, "reason"].iloc[0],
            "ms": float(times.median()) if len(times) else np.nan,
            "prepare_ms": first.get("prepare_ms"),
            "call_ms": calls.get(key),
        }
    return found


def _identity(key: tuple[str, ...], runs: Runs) -> dict[str, Any]:
    return {**dict(zip(KEY, key, strict=True)), "class": runs[key]["class"]}


def _line(
    key: Key, base: Recorded, now: Recorded, keys: Mapping[str, Runs], samples: Samples
) -> dict[str, Any]:
    """Return the row of a run, without a verdict if a test will give it."""
    before, after = keys[BASE][key], keys[NOW][key]
    line = _identity(key, keys[NOW]) | {"verdict": "", "note": _parameters_note(base, now, key)}
    for side, run in ((BASE, before), (NOW, after)):
        line |= {f"{side}_{name}": run[name] for name in ("ms", "prepare_ms", "call_ms")}
    hashes = [one.graphs.get(key[1]) for one in (base, now)]
    if all(hashes) and hashes[0] != hashes[1]:
        line |= {"verdict": OTHER_GRAPH, "note": "a graph of the same name with different content"}
    elif after["status"] in NOT_TRIED:
        line |= {"verdict": NOT_RUN, "note": f"{after['status']}: {after['reason']}"}
    elif before["status"] in PROVEN and after["status"] not in PROVEN:
        line |= {"verdict": FAILS, "note": f"{after['status']}: {after['reason']}"}
    elif line["class"] == CLASSES[EMULATED] or before["class"] == CLASSES[EMULATED]:
        line["verdict"] = EMULATION
    elif key not in samples[BASE] or key not in samples[NOW] or line["class"] != before["class"]:
        line["verdict"] = FEW
        if after["status"] not in PROVEN:
            line["note"] = f"{after['status']}: {after['reason']}"
    return line


def _parameters_note(base: Recorded, now: Recorded, key: tuple[str, ...]) -> str:
    both = [_parameters(one.of_run(*key)) for one in (base, now)]
    if not all(both):
        return ""
    before, after = both
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return ", ".join(f"{name} {before.get(name)} → {after.get(name)}" for name in changed)


def _parameters(contexts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the parameters in force as text; fractions, which variants may tune, in four digits."""
    first = contexts[0] if contexts else {}
    prefix = "parameters."
    return {
        key.removeprefix(prefix): (
            f"{value:.4g}" if isinstance(value, float) and not value.is_integer() else str(value)
        )
        for key, value in first.items()
        if key.startswith(prefix)
    }


def _samples(base: Recorded, now: Recorded, differing: Iterable[str]) -> Samples:
    """Return the sample of each run of both sides.

    The spread between processes is estimated over the runs of both, unless the class of runs was measured on
    another device.
    """
    apart = set(differing)
    tables = []
    for side, one in zip(SIDES, (base, now), strict=True):
        kind = one.timings["class"].where(
            ~one.timings["class"].isin(apart), one.timings["class"] + f"\n{side}"
        )
        known = one.timings[[name for name in SEARCH if name in one.timings]]
        tables.append(known.assign(variant=one.timings["variant"] + f"\n{side}", **{"class": kind}))
    times = source_times(with_processes(pd.concat(tables, ignore_index=True)))
    found: Samples = {side: {} for side in SIDES}
    for (problem, graph, variant), rows in times.groupby(KEY, sort=False):
        name, _, side = str(variant).rpartition("\n")
        found[side][str(problem), str(graph), name] = sample_of(rows)
    return found


def _calibrated(ratio: Estimate, yardstick: Yardstick) -> Estimate:
    if not yardstick.what:
        return ratio
    return Estimate(ratio.log - np.log(yardstick.factor), (*ratio.parts, CALIBRATION), ratio.n)


def _yardsticks(base: Recorded, now: Recorded) -> dict[str, Yardstick]:
    before, after = base.devices(), now.devices()
    return {
        name: Yardstick() if before.get(name, device) == device else _yardstick(name, base, now)
        for name, device in after.items()
    }


def _yardstick(name: str, base: Recorded, now: Recorded) -> Yardstick:
    """Return what tells the speeds of two devices of a class apart: the first of what both have measured."""
    if name == "gpu":
        rates = [one.copy_gb_s.get(one.devices()[name]) for one in (base, now)]
        if rates[0] and rates[1]:
            return Yardstick(rates[0] / rates[1], f"copy rates, {rates[0]:,.0f} and {rates[1]:,.0f} GB/s")
    else:
        times = [_yardstick_rows(one, base, now) for one in (base, now)]
        medians = [rows.groupby(["problem", "graph", "source"])["time_ms"].median() for rows in times]
        quotients = (medians[1] / medians[0]).dropna()
        if len(quotients):
            factor = float(np.exp(np.median(np.log(quotients))))
            return Yardstick(factor, f"{YARDSTICK} on the same graphs, {factor:.3g} times the time")
    references = [reference_ms(one, CLOCKS_OF_CLASSES.get(name, "cpu")) for one in (base, now)]
    if references[0] and references[1]:
        said = f"the reference work, {references[0]:.3g} and {references[1]:.3g} ms"
        return Yardstick(references[1] / references[0], said)
    return Yardstick(1.0, "nothing that both have measured")


def _yardstick_rows(one: Recorded, base: Recorded, now: Recorded) -> pd.DataFrame:
    rows = one.timings
    others = [name for name in base.graphs if now.graphs.get(name, base.graphs[name]) != base.graphs[name]]
    return rows[(rows["kernel"] == YARDSTICK) & rows["status"].isin(PROVEN) & ~rows["graph"].isin(others)]


CLOCKS_OF_CLASSES = {kind: CLOCKS[device_kind] for device_kind, kind in CLASSES.items()}
"""Whose speed the times of a class depend on; classes of CPU programs that are not here, on the CPU's."""


def reference_ms(one: Recorded, clock: str) -> float | None:
    """Return the median time of the reference work (`race/reference.py`) on the ``gpu`` or ``cpu``."""
    times = [
        context[f"reference_ms.{when}"]
        for context in one.contexts
        for when in ("before", "after")
        if context.get(f"reference_ms.{when}") and CLOCKS.get(context.get("device_kind", "")) == clock
    ]
    return float(np.median(times)) if times else None


SOFTWARE = ("machine", "python", "before.driver", "before.cuda_runtime", "before.cupy", "before.compiler")
"""Entries of contexts that a comparison names where they differ."""


def _notes(base: Recorded, now: Recorded, yardsticks: Mapping[str, Yardstick]) -> list[str]:
    before, after = base.devices(), now.devices()
    notes = [
        f"{name}: different hosts, {before[name]} and {after[name]}; times calibrated by {one.what}"
        for name, one in yardsticks.items()
        if one.what
    ]
    for key in SOFTWARE:
        values = [{str(one[key]) for one in side.contexts if one.get(key)} for side in (base, now)]
        if all(values) and values[0] != values[1]:
            both = " → ".join(", ".join(sorted(one)) for one in values)
            notes.append(f"{key.removeprefix('before.')}: {both}")
    for clock in ("gpu", "cpu"):
        times = [reference_ms(one, clock) for one in (base, now)]
        same = all(
            not one.what for name, one in yardsticks.items() if CLOCKS_OF_CLASSES.get(name, "cpu") == clock
        )
        if same and times[0] and times[1] and abs(np.log(times[1] / times[0])) > np.log1p(MAX_DRIFT):
            notes.append(
                f"warning: the {clock} took {times[0]:.3g} ms for the reference work in the base and "
                f"{times[1]:.3g} ms now, so the machine itself changed its speed"
            )
    return notes


def _named(one: Recorded) -> str:
    return f"{one.name} ({one.commit}{', ' + one.date[:10] if one.date else ''})"
