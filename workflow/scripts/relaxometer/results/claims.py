"""Published claims compared with measured values: ratio and direction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, PositiveFloat, RootModel, field_validator

from relaxometer.core.validation import validated
from relaxometer.core.yaml_files import read_yaml
from relaxometer.results import quantities
from relaxometer.results.samples import (
    EMULATED,
    gaining_band,
    median_extract_min,
    paired,
    share_at_or_under,
    source_times,
    updated_counts,
)
from relaxometer.results.statistics import is_faster

COLUMNS = [
    *("id", "source", "where", "text", "graph", "quantity"),
    *("claimed", "measured", "unit", "ratio", "verdict"),
    *("tolerance", "direction", "device", "device_kind"),
]


class Claim(BaseModel):
    """One claim; ``resources/claims/README.md`` explains the keys. `source` is the name of the paper."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    source: str
    where: str
    text: str
    graph: str = ""
    quantity: str
    key: str = ""
    of: str = ""
    over: str = ""
    at: float | None = None
    claimed: PositiveFloat | None = None
    unit: str = ""
    tolerance: PositiveFloat = 0.1
    direction: Literal["higher", "lower", "equal"] | None = None
    against: float = 1.0

    @field_validator("quantity")
    @classmethod
    def _is_known(cls, quantity: str) -> str:
        if quantity not in QUANTITIES:
            raise ValueError(f"known quantities are {', '.join(QUANTITIES)}")
        return quantity


class Claims(RootModel[list[Claim]]):
    """All claims of a file."""


class NotMeasured(Exception):  # noqa: N818 - an outcome, not an error
    """A claim that this run cannot check; the message says why."""


@dataclass(frozen=True)
class Evidence:
    """The measured data that claims are compared with.

    Parameters
    ----------
    timings : DataFrame
        The gathered searches.
    phases : DataFrame
        The gathered phases of the proven phase-synchronous variants.
    graphs : mapping of str to dict
        Contents of each ``graph.json`` by name.
    swept : sequence of str
        Variants that are points of a sweep.
    extract_min : DataFrame or None
        Trials of ExtractMin, as :data:`relaxometer.measure.extract_min.TABLE`.
    steps : DataFrame or None
        The gathered phases of all proven variants; a step is a phase's mode.
    ranks : DataFrame or None
        The searches over several ranks, as :func:`relaxometer.results.scaling.rank_searches`.
    """

    timings: pd.DataFrame
    phases: pd.DataFrame
    graphs: Mapping[str, dict[str, Any]]
    swept: Sequence[str] = ()
    extract_min: pd.DataFrame | None = None
    steps: pd.DataFrame | None = None
    ranks: pd.DataFrame | None = None

    def times(self, graph: str, variant: str) -> pd.DataFrame:
        """Return a variant's time from each source; NotMeasured if it was emulated, not run or not proven."""
        rows = self.timings.query("graph == @graph and variant == @variant")
        return self._real_times(rows, f"{variant} on {graph}")

    def sweep(self, graph: str, kernel: str, parameter: str) -> pd.DataFrame:
        """Return the :meth:`times` of the swept variants of a kernel, with the column `parameter`."""
        rows = self.timings.query("graph == @graph and kernel == @kernel and variant in @self.swept")
        times = self._real_times(rows, f"a sweep of {parameter} on {graph}")
        column = f"parameter_{parameter}"
        return times.assign(**{parameter: times["variant"].map(rows.groupby("variant")[column].first())})

    @staticmethod
    def _real_times(rows: pd.DataFrame, what: str) -> pd.DataFrame:
        if rows.empty:
            raise NotMeasured(f"{what} was not run")
        if (rows["device_kind"] == EMULATED).any():
            raise NotMeasured("emulated time")
        times = source_times(rows)
        if times.empty:
            raise NotMeasured(f"{what} was not proven right and finished")
        return times


class Origin(NamedTuple):
    """The device of a measured value; empty for properties of a graph."""

    device: str = ""
    device_kind: str = ""


NOWHERE = Origin()


@dataclass(frozen=True)
class Measured:
    """A value measured for a claim.

    Parameters
    ----------
    value : float
    origin : Origin
    side : {-1, 0, 1}, optional
        The tested order of the value and the claim's baseline: lower, equal or higher.
    """

    value: float
    origin: Origin = NOWHERE
    side: int | None = None


def load_claims(path: Path) -> list[Claim]:
    """Read the claims of a paper from a file named after it; UserError if an entry is wrong."""
    entries = read_yaml(path)
    if isinstance(entries, list):
        entries = [one | {"source": path.stem} if isinstance(one, dict) else one for one in entries]
    return validated(Claims, entries, str(path)).root


def compare_claims(claims: Sequence[Claim], evidence: Evidence) -> pd.DataFrame:
    """Return one row per claim with the columns `COLUMNS`."""
    return pd.DataFrame([_line(claim, evidence) for claim in claims], columns=COLUMNS)


def _line(claim: Claim, evidence: Evidence) -> dict[str, Any]:
    try:
        if claim.graph and claim.graph not in evidence.graphs:
            raise NotMeasured(f"{claim.graph} is not in this run")
        measured = QUANTITIES[claim.quantity](claim, evidence)
    except NotMeasured as why:
        return claim.model_dump() | {"verdict": f"not measured: {why}", **NOWHERE._asdict()}
    return (
        claim.model_dump()
        | {
            "measured": measured.value,
            "ratio": measured.value / claim.claimed if claim.claimed else None,
            "verdict": verdict(claim, measured),
        }
        | measured.origin._asdict()
    )


def verdict(claim: Claim, measured: Measured) -> str:
    """Describe how a measured value compares with its claim.

    Returns
    -------
    str
        "same" within the claim's tolerance; "same direction", "opposite" or "no difference shown" if the
        claim has a direction; "faster here", "slower here" or "differs" if it only gives a value.
    """
    close = claim.claimed is not None and abs(measured.value / claim.claimed - 1) <= claim.tolerance
    if claim.direction == "equal":
        faster = claim.of if measured.value > 1 else claim.over
        return "same" if close or measured.side == 0 else f"differs: {faster} is faster"
    if claim.direction is None:
        return "same" if close else _difference(claim, measured)
    wanted = 1 if claim.direction == "higher" else -1
    side = measured.side if measured.side is not None else _side(measured.value, claim.against, wanted)
    if side == 0:
        return "no difference shown"
    if side != wanted:
        return "opposite"
    return "same" if close else "same direction"


def _difference(claim: Claim, measured: Measured) -> str:
    if claim.quantity not in ("mean_time", "mean_rate") or claim.claimed is None:
        return "differs"
    faster = (measured.value < claim.claimed) == (claim.quantity == "mean_time")
    return "faster here" if faster else "slower here"


def _side(value: float, against: float, wanted: int) -> int:
    """Return the side of `against` that a value lies on; equality counts as the wanted side."""
    return wanted if value == against else (1 if value > against else -1)


def graph_property(claim: Claim, evidence: Evidence) -> Measured:
    """Take the entry `key` of ``graph.json``."""
    properties = evidence.graphs[claim.graph]
    if claim.key not in properties:
        raise NotMeasured(f"the metadata of {claim.graph} have no {claim.key}")
    return Measured(float(properties[claim.key]))


def mean_phases(claim: Claim, evidence: Evidence) -> Measured:
    """Count the phases of a search, as the mean over sources."""
    counts, origin = _counts(claim, evidence)
    return Measured(float(counts.groupby("source")["phase"].max().mean()), origin)


def peak_updated(claim: Claim, evidence: Evidence) -> Measured:
    """Find the most vertices that any phase of any source updates."""
    counts, origin = _counts(claim, evidence)
    return Measured(float(counts["updated"].max()), origin)


def share_of_phases(claim: Claim, evidence: Evidence) -> Measured:
    """Return the share of all phases that update at most `at` vertices."""
    counts, origin = _counts(claim, evidence)
    return Measured(float(share_at_or_under(counts["updated"], claim.at or 0.0)), origin)


def share_below_peak(claim: Claim, evidence: Evidence) -> Measured:
    """Return the share of all phases that update at most the share `at` of the largest phase."""
    counts, origin = _counts(claim, evidence)
    return Measured(quantities.share_below_peak(counts, claim.at or 0.0), origin)


def share_of_late_phases(claim: Claim, evidence: Evidence) -> Measured:
    """Return the share of the phases in second halves of searches that update at most `at` vertices."""
    counts, origin = _counts(claim, evidence)
    return Measured(quantities.share_of_late_phases(counts, claim.at or 0.0), origin)


def small_phase_speedup(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the mean time by `over` of phases that update at most `at` vertices by that by `of`."""
    phases = evidence.phases.query("graph == @claim.graph and variant in [@claim.of, @claim.over]")
    times = quantities.small_phase_times(phases, claim.at or 0.0)
    if len(times) < 2:
        raise NotMeasured(f"no such phases of {claim.of} and {claim.over} on {claim.graph}")
    return Measured(float(times[claim.over] / times[claim.of]), _real_origin(phases))


def mean_time(claim: Claim, evidence: Evidence) -> Measured:
    """Average the time of the variant `of` over sources, in milliseconds."""
    times = evidence.times(claim.graph, claim.of)
    return Measured(float(times["time_ms"].mean()), _origin(times))


def mean_rate(claim: Claim, evidence: Evidence) -> Measured:
    """Average the arcs of the graph per second of a search of the variant `of` over sources."""
    times = evidence.times(claim.graph, claim.of)
    rates = evidence.graphs[claim.graph]["arcs"] / times["time_ms"] * 1e3
    return Measured(float(rates.mean()), _origin(times))


def spread_ratio(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the spread of `of` over sources by that of `over`: largest less least time, over the mean.

    The two may run on different devices, since a spread has no unit.
    """
    times = [evidence.times(claim.graph, variant) for variant in (claim.of, claim.over)]
    spreads = [np.ptp(one["time_ms"]) / one["time_ms"].mean() for one in times]
    if not spreads[1]:
        raise NotMeasured(f"{claim.over} was run from one source on {claim.graph}")
    return Measured(float(spreads[0] / spreads[1]), _origin(times[0]))


def speedup(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the mean time of `over` by that of `of`, over the same sources; a paired test gives the side."""
    candidate = evidence.times(claim.graph, claim.of)
    baseline = evidence.times(claim.graph, claim.over)
    return _speedup(claim, candidate, baseline, _origin(pd.concat([candidate, baseline])))


def speedup_over_cpu(claim: Claim, evidence: Evidence) -> Measured:
    """Return :func:`speedup` over a program on the CPU of the GPU's machine."""
    candidate = evidence.times(claim.graph, claim.of)
    return _speedup(claim, candidate, _cpu_times(claim, evidence), _origin(candidate))


def _cpu_times(claim: Claim, evidence: Evidence) -> pd.DataFrame:
    """Return the times of the variant `over`, a program on the CPU."""
    times = evidence.times(claim.graph, claim.over)
    if (times["device_kind"] != "cpu").any():
        raise NotMeasured(f"{claim.over} was not timed on a CPU")
    return times


def _speedup(claim: Claim, candidate: pd.DataFrame, baseline: pd.DataFrame, origin: Origin) -> Measured:
    ours, theirs = paired(candidate, baseline)
    if ours.empty:
        raise NotMeasured(f"{claim.of} and {claim.over} share no source on {claim.graph}")
    side = int(is_faster(ours, theirs)[0]) - int(is_faster(theirs, ours)[0])
    return Measured(float(theirs.mean() / ours.mean()), origin, side)


def threshold_band(claim: Claim, evidence: Evidence) -> Measured:
    """Measure the band of thresholds in which `of` is proven faster than `over`, in microseconds."""
    sweep = evidence.sweep(claim.graph, claim.of, "to_all_us")
    baseline = evidence.times(claim.graph, claim.over)
    origin = _origin(pd.concat([sweep, baseline]))
    band = gaining_band(sweep, baseline)
    return Measured(band[1] - band[0] if band else 0.0, origin, side=1 if band else -1)


def best_threshold(claim: Claim, evidence: Evidence) -> Measured:
    """Find the threshold with the smallest mean time, in microseconds."""
    sweep = evidence.sweep(claim.graph, claim.of, "to_all_us")
    means = sweep.groupby("to_all_us")["time_ms"].mean()
    return Measured(float(means.index[int(means.argmin())]), _origin(sweep))


def extract_min_speedup(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the time of an ExtractMin by `over` by that by `of`, on `at` values."""
    times = _extract_min_times(claim, evidence)
    for method in (claim.of, claim.over):
        if method not in times.index:
            raise NotMeasured(f"ExtractMin by {method} was not timed on a real device")
    time_us = times["time_us"]
    return Measured(float(time_us[claim.over] / time_us[claim.of]), _origin(times.loc[[claim.of]]))


def extract_min_best_threads(claim: Claim, evidence: Evidence) -> Measured:
    """Find the threads per block for which the reduction is fastest on `at` values."""
    times = _extract_min_times(claim, evidence)
    reductions = times[times.index.str.startswith("reduction-")]
    if reductions.empty:
        raise NotMeasured("emulated time")
    best = str(reductions["time_us"].idxmin())
    return Measured(float(best.removeprefix("reduction-")), _origin(reductions))


def step_time(claim: Claim, evidence: Evidence) -> Measured:
    """Average the time of the step `key` of the variant `of`, in milliseconds."""
    if evidence.steps is None or evidence.steps.empty:
        raise NotMeasured("no steps were recorded")
    rows = evidence.steps.query("graph == @claim.graph and variant == @claim.of and mode == @claim.key")
    if rows.empty:
        raise NotMeasured(f"{claim.of} on {claim.graph} was not run")
    if (rows["device_kind"] == EMULATED).any():
        raise NotMeasured("emulated time")
    return Measured(float(rows["time_ms"].mean()), _origin(rows))


def speedup_from_root(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the median time of `over`, on the CPU, by that of `of`, from the root of a flow graph.

    A variant counts as faster if all its repetitions are faster than all of the other.
    """
    evidence.times(claim.graph, claim.of)  # raises NotMeasured
    _cpu_times(claim, evidence)
    searches = evidence.timings.query("graph == @claim.graph and status == 'ok'")
    ours, theirs = (searches[searches["variant"] == variant] for variant in (claim.of, claim.over))
    faster = ours["time_ms"].max() < theirs["time_ms"].min()
    slower = ours["time_ms"].min() > theirs["time_ms"].max()
    value = float(theirs["time_ms"].median() / ours["time_ms"].median())
    return Measured(value, _origin(ours), int(faster) - int(slower))


def extract_min_time(claim: Claim, evidence: Evidence) -> Measured:
    """Take the median time of an ExtractMin by `of` on `at` values, in microseconds."""
    times = _extract_min_times(claim, evidence)
    if claim.of not in times.index:
        raise NotMeasured(f"ExtractMin by {claim.of} was not timed on a real device")
    return Measured(float(times["time_us"][claim.of]), _origin(times.loc[[claim.of]]))


def step_share(claim: Claim, evidence: Evidence) -> Measured:
    """Return the share of the step `key` in the step "total" of the variant `of`."""
    part, total = (step_time(claim.model_copy(update={"key": key}), evidence) for key in (claim.key, "total"))
    return Measured(part.value / total.value, part.origin)


def speedup_growth(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the speedup of `of` over `over` from the root of a graph by that on the graph `key`."""
    if claim.key not in evidence.graphs:
        raise NotMeasured(f"{claim.key} is not in this run")
    here, there = (
        speedup_from_root(claim.model_copy(update={"graph": graph}), evidence)
        for graph in (claim.graph, claim.key)
    )
    return Measured(here.value / there.value, here.origin)


def best_rate_vertices(claim: Claim, evidence: Evidence) -> Measured:
    """Find the vertices of the graph on which the mean rate of the variant `of` is the largest."""
    graphs = evidence.timings.query("variant == @claim.of")["graph"].unique()
    rates = {graph: mean_rate(claim.model_copy(update={"graph": graph}), evidence) for graph in graphs}
    if len(rates) < 2:
        raise NotMeasured(f"{claim.of} was run on fewer than two graphs")
    best = max(rates, key=lambda graph: rates[graph].value)
    return Measured(float(evidence.graphs[best]["vertices"]), rates[best].origin)


def ranks_computing_ratio(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the computing time of the series `over` by that of `of`; the `key` of all numbers of ranks."""
    return _over_ranks(claim, evidence, "computing_ms")


def ranks_speedup(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the search time of the series `over` by that of `of`; the `key` of all numbers of ranks."""
    return _over_ranks(claim, evidence, "time_ms")


def communication_growth(claim: Claim, evidence: Evidence) -> Measured:
    """Return the exponent with which communication of the series `of` grows with the ranks."""
    searches = _rank_searches(claim, evidence)
    medians = searches[searches["series"] == claim.of].groupby("ranks")["communication_ms"].median()
    try:
        return Measured(quantities.growth(medians), _real_origin(searches))
    except ValueError as few:
        raise NotMeasured(f"{claim.of}: {few}") from None


def _over_ranks(claim: Claim, evidence: Evidence, column: str) -> Measured:
    """Return the least or the most, as `key` says, of the quotients of two series over ranks."""
    searches = _rank_searches(claim, evidence)
    medians = quantities.common_medians(searches, claim.of, claim.over, column)
    if medians.empty:
        raise NotMeasured(f"the series {claim.of} and {claim.over} share no source")
    quotients = medians["over"] / medians["of"]
    value = quotients.min() if claim.key == "least" else quotients.max()
    return Measured(float(value), _real_origin(searches[searches["series"] == claim.of]))


def _rank_searches(claim: Claim, evidence: Evidence) -> pd.DataFrame:
    """Return the searches over several ranks of the series that a claim names."""
    if evidence.ranks is None or evidence.ranks.empty:
        raise NotMeasured("no search over several ranks in this run")
    rows = evidence.ranks[evidence.ranks["series"].isin([claim.of, claim.over])]
    if rows.empty:
        raise NotMeasured(f"the series {claim.of} was not run")
    return rows


def _real_origin(rows: pd.DataFrame) -> Origin:
    """Return the device of some times; NotMeasured if they were emulated or are of several devices."""
    if (rows["device_kind"] == EMULATED).any():
        raise NotMeasured("emulated time")
    return _origin(rows)


def _extract_min_times(claim: Claim, evidence: Evidence) -> pd.DataFrame:
    """Return the real times of an ExtractMin on the claim's number of values, by method."""
    if evidence.extract_min is None:
        raise NotMeasured("ExtractMin was not timed")
    medians = median_extract_min(evidence.extract_min)
    real = medians[(medians["values"] == claim.at) & (medians["device_kind"] != EMULATED)]
    return real.set_index("method")


QUANTITIES: dict[str, Callable[[Claim, Evidence], Measured]] = {
    function.__name__: function
    for function in (
        *(graph_property, mean_phases, peak_updated, share_of_phases),
        *(mean_time, mean_rate, spread_ratio, speedup, speedup_over_cpu),
        *(threshold_band, best_threshold),
        *(extract_min_speedup, extract_min_best_threads),
        *(step_time, speedup_from_root),
        *(share_below_peak, share_of_late_phases, small_phase_speedup, step_share, speedup_growth),
        *(extract_min_time, best_rate_vertices),
        *(ranks_computing_ratio, ranks_speedup, communication_growth),
    )
}
"""The quantities of claims by their names in the claims files."""


def _counts(claim: Claim, evidence: Evidence) -> tuple[pd.DataFrame, Origin]:
    """Return the updated vertices of the phases on a claim's graph, and their origin."""
    phases = evidence.phases[evidence.phases["graph"] == claim.graph]
    if phases.empty:
        raise NotMeasured(f"no phases were recorded on {claim.graph}")
    first = phases.iloc[0]
    return updated_counts(phases), Origin(first["device"], first["device_kind"])


def _origin(times: pd.DataFrame) -> Origin:
    """Return the device of some times; NotMeasured if there are several."""
    devices = times[["device", "device_kind"]].drop_duplicates()
    if len(devices) > 1:
        raise NotMeasured("the variants were timed on different devices")
    return Origin(*devices.iloc[0])


def readable_claims(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the table of the report's landing page: rounded, with units, as text.

    Claims that were not measured share one row per reason.
    """
    measured = claims[claims["measured"].notna()]
    table = pd.DataFrame(
        {
            "Claim": measured["text"],
            "Where": measured["where"],
            "Graph": measured["graph"],
            "Claimed": _with_unit(measured, "claimed"),
            "Measured": _with_unit(measured, "measured"),
            "Ratio": [f"{ratio:.2f}" if pd.notna(ratio) else "" for ratio in measured["ratio"]],
            "Verdict": measured["verdict"],
        }
    )
    reasons = claims.loc[claims["measured"].isna(), "verdict"].value_counts(sort=False)
    others = pd.DataFrame({"Claim": [f"{count} claims" for count in reasons], "Verdict": reasons.index})
    return pd.concat([table, others], ignore_index=True)


def _with_unit(claims: pd.DataFrame, column: str) -> list[str]:
    values = zip(claims[column].astype(float), claims["unit"], strict=True)
    return [
        f"{value:,{'.4g' if abs(value) < 1e4 else '.0f'}} {unit}".strip() if pd.notna(value) else ""
        for value, unit in values
    ]
