"""Published claims compared with measured values.

`verdict` holds the rule by which each claim is judged; docs/statistics.md explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel, ConfigDict, PositiveFloat, RootModel, field_validator

from relaxometer.core.validation import validated
from relaxometer.core.yaml_files import read_yaml
from relaxometer.results import quantities
from relaxometer.results.processes import ASSUMED, part_of, with_processes
from relaxometer.results.samples import (
    EMULATED,
    extract_min_method,
    gaining_band,
    paired,
    ratio_estimate,
    share_at_or_under,
    source_times,
    updated_counts,
)
from relaxometer.results.statistics import FEWEST, Estimate, log_mean, log_ratio_of_means, median_of

COLUMNS = [
    *("id", "source", "where", "text", "graph", "quantity"),
    *("claimed", "measured", "low", "high", "unit", "ratio", "verdict"),
    *("tolerance", "direction", "device", "device_kind"),
]


RESAMPLES = 2_000
"""Of a bootstrap."""


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
        Trials of ExtractMin, as :data:`relaxometer.studies.extract_min.TABLE`.
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
        if rows["problem"].nunique() > 1:
            raise NotMeasured(f"{variant} on {graph} was run for several problems")
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
            raise NotMeasured(f"{what} was not proven correct and finished")
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
    interval : tuple of (low, high), optional
        The 95% interval; NaN if there are too few samples for one. Without it the value is exact, as a count.
    """

    value: float
    origin: Origin = NOWHERE
    interval: tuple[float, float] | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval, both the value if it is exact."""
        return self.interval or (self.value, self.value)


def _estimated(estimate: Estimate, origin: Origin) -> Measured:
    return Measured(estimate.value, origin, estimate.interval())


def load_claims(path: Path) -> list[Claim]:
    """Read the claims of a paper from a file named after it; UserError if an entry is wrong."""
    entries = read_yaml(path)
    if isinstance(entries, list):
        entries = [one | {"source": path.stem} if isinstance(one, dict) else one for one in entries]
    return validated(Claims, entries, str(path)).root


def compare_claims(claims: Sequence[Claim], evidence: Evidence) -> pd.DataFrame:
    """Return one row per claim with the columns `COLUMNS`."""
    if len(evidence.timings):
        evidence = replace(evidence, timings=with_processes(evidence.timings))
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
            **dict(zip(("low", "high"), measured.ends, strict=True)),
            "ratio": measured.value / claim.claimed if claim.claimed else None,
            "verdict": verdict(claim, measured),
        }
        | measured.origin._asdict()
    )


SAME, EXCEEDED, LESS, OPPOSITE = "same", "exceeded", "less than claimed", "opposite"
HIGHER, LOWER = "higher than claimed", "lower than claimed"
NO_GAIN, NO_LOSS, UNDECIDED = "no gain shown", "no loss shown", "undecided"


def verdict(claim: Claim, measured: Measured) -> str:
    """Judge a claim by the interval of the measured value.

    The range of a claim is its value up to the tolerance, as far as it lies on the claimed side of `against`.
    A claim of a direction only has that whole side as its range. An exact value is an interval without width.

    Returns
    -------
    str
        - "same": the interval lies in the claim's range;
        - "exceeded": it lies beyond the range, on the claimed side;
        - "less than claimed": short of the range, but on the claimed side of `against`;
        - "opposite": on the other side of `against`;
        - "no gain shown", or "no loss shown" if it is claimed to be lower: the interval holds `against` and
          does not reach a claimed value's range;
        - "undecided": the interval holds another bound of the range, or there are too few samples for one;
        - a claim without a side is "higher than claimed" or "lower than claimed", of times "faster here" or
          "slower here", and a claim of no difference "differs: x is faster".
    """
    low, high = measured.ends
    if np.isnan(low) or np.isnan(high):
        return f"{UNDECIDED}: fewer than {FEWEST} samples"
    against = claim.against
    if claim.direction == "lower":  # mirrored, so that the claimed side is above
        low, high, against = -high, -low, -against
    least, most = _range(claim, against)
    if least <= low and high <= most:
        return SAME
    if claim.direction in (None, "equal"):
        return _outside(claim, low > most) if low > most or high < least else UNDECIDED
    if low > most:
        return EXCEEDED
    if high < against:
        return OPPOSITE
    if low <= against and (high < least or claim.claimed is None):
        return NO_LOSS if claim.direction == "lower" else NO_GAIN
    return LESS if high < least else UNDECIDED


def _range(claim: Claim, against: float) -> tuple[float, float]:
    """Return the claim's range, mirrored if it claims a lower value."""
    beyond = float(np.nextafter(against, np.inf))
    if claim.claimed is None and claim.direction != "equal":
        return beyond, float("inf")
    value = claim.against if claim.claimed is None else claim.claimed
    low, high = value * (1 - claim.tolerance), value * (1 + claim.tolerance)
    if claim.direction == "lower":
        low, high = -high, -low
    return (max(low, beyond) if claim.direction in ("higher", "lower") else low), high


def _outside(claim: Claim, above: bool) -> str:
    """Say on which side of its range a value lies whose claim has none."""
    if claim.direction == "equal":
        return f"differs: {claim.of if above else claim.over} is faster"
    if claim.quantity in TIMES:
        return "slower here" if above else "faster here"
    if claim.quantity == "mean_rate":
        return "faster here" if above else "slower here"
    return HIGHER if above else LOWER


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
    if times.empty or len(times.columns) < 2:
        raise NotMeasured(f"no such phases of {claim.of} and {claim.over} on {claim.graph}")
    found = log_ratio_of_means(times[claim.over], times[claim.of], ASSUMED, ASSUMED)
    return _estimated(found, _real_origin(phases))


def mean_time(claim: Claim, evidence: Evidence) -> Measured:
    """Average the time of the variant `of` over sources, in milliseconds."""
    times = evidence.times(claim.graph, claim.of)
    return _estimated(log_mean(times["time_ms"], part_of(times)), _origin(times))


def mean_rate(claim: Claim, evidence: Evidence) -> Measured:
    """Average the arcs of the graph per second of a search of the variant `of` over sources."""
    return _estimated(*_rate(claim, evidence, claim.graph))


def _rate(claim: Claim, evidence: Evidence, graph: str) -> tuple[Estimate, Origin]:
    times = evidence.times(graph, claim.of)
    rates = evidence.graphs[graph]["arcs"] / times["time_ms"] * 1e3
    return log_mean(rates, part_of(times)), _origin(times)


def spread_ratio(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the spread of `of` over sources by that of `over`: the standard deviation over the mean.

    Both are over the sources that the two share, since a spread depends on them. The two may run on
    different devices, since it has no unit. The interval is a bootstrap of the sources.
    """
    times = [evidence.times(claim.graph, variant) for variant in (claim.of, claim.over)]
    shared = np.column_stack(paired(*times))
    if len(shared) < 2 or not np.ptp(shared[:, 1]):
        raise NotMeasured(f"{claim.of} and {claim.over} share too few sources on {claim.graph}")

    def quotient(samples: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        spreads = samples.std(axis=-2) / samples.mean(axis=-2)
        found: npt.NDArray[np.float64] = spreads[..., 0] / spreads[..., 1]
        return found

    value, origin = float(quotient(shared)), _origin(times[0])
    if len(shared) < FEWEST:
        return Measured(value, origin, (float("nan"), float("nan")))
    drawn = np.random.default_rng(0).integers(len(shared), size=(RESAMPLES, len(shared)))
    with np.errstate(invalid="ignore"):  # a draw may hold one source only, which has no spread
        low, high = np.nanquantile(quotient(shared[drawn]), [0.025, 0.975])
    return Measured(value, origin, (float(low), float(high)))


def speedup(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the mean time of `over` by that of `of`, over the same sources."""
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
    processes = (part_of(candidate), part_of(baseline))
    return _estimated(log_ratio_of_means(theirs, ours, *processes), origin)


def threshold_band(claim: Claim, evidence: Evidence) -> Measured:
    """Measure the band of thresholds in which `of` is shown to be faster than `over`, in microseconds."""
    sweep = evidence.sweep(claim.graph, claim.of, "to_all_us")
    baseline = evidence.times(claim.graph, claim.over)
    origin = _origin(pd.concat([sweep, baseline]))
    band = gaining_band(sweep, baseline)
    return Measured(band[1] - band[0] if band else 0.0, origin)


def best_threshold(claim: Claim, evidence: Evidence) -> Measured:
    """Find the threshold with the smallest mean time, in microseconds.

    The interval holds the thresholds that are not shown to be slower.
    """
    sweep = evidence.sweep(claim.graph, claim.of, "to_all_us")
    means = sweep.groupby("to_all_us")["time_ms"].mean()
    best = float(means.index[int(means.argmin())])
    points = {float(point): rows for point, rows in sweep.groupby("to_all_us")}  # type: ignore[arg-type]
    others = {point: ratio_estimate(points[best], rows) for point, rows in points.items() if point != best}
    return Measured(best, _origin(sweep), quantities.range_of_best(best, others))


def extract_min_speedup(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the time of an ExtractMin by `over` by that by `of`, on `at` values."""
    trials = _extract_min_trials(claim, evidence)
    ours, theirs = (_extract_min(trials, method) for method in (claim.of, claim.over))
    return _estimated(theirs.over(ours), _origin(trials[trials["method"] == claim.of]))


def extract_min_best_threads(claim: Claim, evidence: Evidence) -> Measured:
    """Find the threads per block for which the reduction is fastest on `at` values.

    The interval holds the numbers of threads that are not shown to be slower.
    """
    trials = _extract_min_trials(claim, evidence)
    reductions = trials[trials["method"].str.startswith("reduction-")]
    if reductions.empty:
        raise NotMeasured("emulated time")
    times = {
        float(method.removeprefix("reduction-")): _extract_min(trials, method)
        for method in reductions["method"].unique()
    }
    best = min(times, key=lambda threads: times[threads].log)
    others = {threads: time.over(times[best]) for threads, time in times.items() if threads != best}
    return Measured(best, _origin(reductions), quantities.range_of_best(best, others))


def extract_min_time(claim: Claim, evidence: Evidence) -> Measured:
    """Take the median time of an ExtractMin by `of` on `at` values, in microseconds."""
    trials = _extract_min_trials(claim, evidence)
    time = _extract_min(trials.assign(time_ms=trials["time_ms"] * 1e3), claim.of)
    return _estimated(time, _origin(trials[trials["method"] == claim.of]))


def _extract_min_trials(claim: Claim, evidence: Evidence) -> pd.DataFrame:
    """Return the trials in real time of an ExtractMin on the claim's number of values."""
    if evidence.extract_min is None:
        raise NotMeasured("ExtractMin was not timed")
    trials = extract_min_method(evidence.extract_min)
    trials = trials[trials["values"] == claim.at]
    if trials.empty:
        raise NotMeasured(f"ExtractMin on {claim.at or 0:,.0f} values was not timed")
    return trials[trials["device_kind"] != EMULATED]


def _extract_min(trials: pd.DataFrame, method: str) -> Estimate:
    """Return the median time of a method over its trials, which one process made."""
    rows = trials[trials["method"] == method]
    if rows.empty:
        raise NotMeasured(f"ExtractMin by {method} was not timed on a real device")
    return median_of(rows["time_ms"], ASSUMED)


def step_time(claim: Claim, evidence: Evidence) -> Measured:
    """Average the time of the step `key` of the variant `of`, in milliseconds."""
    rows = _steps(claim, evidence)
    rows = rows[rows["mode"] == claim.key]
    if rows.empty:
        raise NotMeasured(f"{claim.of} on {claim.graph} has no step {claim.key}")
    return _estimated(log_mean(rows["time_ms"], ASSUMED), _origin(rows))


def _steps(claim: Claim, evidence: Evidence) -> pd.DataFrame:
    """Return the steps of the variant `of`, in real time."""
    if evidence.steps is None or evidence.steps.empty:
        raise NotMeasured("no steps were recorded")
    rows = evidence.steps.query("graph == @claim.graph and variant == @claim.of")
    if rows.empty:
        raise NotMeasured(f"{claim.of} on {claim.graph} was not run")
    if (rows["device_kind"] == EMULATED).any():
        raise NotMeasured("emulated time")
    return rows


def speedup_from_root(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the median time of `over`, on the CPU, by that of `of`, from the root of a flow graph."""
    return _estimated(*_from_root(claim, evidence))


def _from_root(claim: Claim, evidence: Evidence) -> tuple[Estimate, Origin]:
    candidate = evidence.times(claim.graph, claim.of)
    return ratio_estimate(candidate, _cpu_times(claim, evidence)), _origin(candidate)


def step_share(claim: Claim, evidence: Evidence) -> Measured:
    """Return the share of the step `key` in the step "total" of the variant `of`."""
    rows = _steps(claim, evidence)
    times = quantities.step_times(rows, [claim.key, "total"])
    if times.empty:
        raise NotMeasured(f"{claim.of} on {claim.graph} has no step {claim.key} with a total")
    return _estimated(log_ratio_of_means(times[claim.key], times["total"], ASSUMED), _origin(rows))


def speedup_growth(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the speedup of `of` over `over` from the root of a graph by that on the graph `key`."""
    if claim.key not in evidence.graphs:
        raise NotMeasured(f"{claim.key} is not in this run")
    here, origin = _from_root(claim, evidence)
    there, _ = _from_root(claim.model_copy(update={"graph": claim.key}), evidence)
    return _estimated(here.over(there), origin)


def best_rate_vertices(claim: Claim, evidence: Evidence) -> Measured:
    """Find the vertices of the graph on which the mean rate of the variant `of` is the largest.

    The interval holds the sizes whose rate is not shown to be smaller.
    """
    graphs = evidence.timings.query("variant == @claim.of")["graph"].unique()
    rates = [(float(evidence.graphs[one]["vertices"]), _rate(claim, evidence, one)) for one in graphs]
    found = dict(sorted(rates, key=lambda one: one[1][0].log))  # the last, largest rate of a size wins
    if len(found) < 2:
        raise NotMeasured(f"{claim.of} was run on fewer than two graphs")
    best = max(found, key=lambda vertices: found[vertices][0].log)
    rate, origin = found[best]
    others = {vertices: rate.over(other) for vertices, (other, _) in found.items() if vertices != best}
    return Measured(best, origin, quantities.range_of_best(best, others))


def ranks_computing_ratio(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the computing time of the series `over` by that of `of`; the `key` of all numbers of ranks."""
    return _over_ranks(claim, evidence, "computing_ms")


def ranks_speedup(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the search time of the series `over` by that of `of`; the `key` of all numbers of ranks."""
    return _over_ranks(claim, evidence, "time_ms")


def communication_growth(claim: Claim, evidence: Evidence) -> Measured:
    """Return the exponent with which communication of the series `of` grows with the ranks."""
    searches = _rank_searches(claim, evidence)
    of_source = searches[searches["series"] == claim.of].groupby(["ranks", "source"])["communication_ms"]
    medians = of_source.median().groupby("ranks")
    times = {int(str(ranks)): median_of(rows, ASSUMED) for ranks, rows in medians}
    try:
        value, interval = quantities.growth(times)
        return Measured(value, _real_origin(searches), interval)
    except ValueError as few:
        raise NotMeasured(f"{claim.of}: {few}") from None


def _over_ranks(claim: Claim, evidence: Evidence, column: str) -> Measured:
    """Return the least or the most, as `key` says, of the quotients of two series over ranks."""
    searches = _rank_searches(claim, evidence)
    quotients = quantities.quotients_over_ranks(searches, claim.of, claim.over, column)
    if not quotients:
        raise NotMeasured(f"the series {claim.of} and {claim.over} share no source")
    value, interval = quantities.extreme(quotients, least=claim.key == "least")
    return Measured(value, _real_origin(searches[searches["series"] == claim.of]), interval)


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


TIMES = ("mean_time", "step_time", "extract_min_time")
"""Quantities that are faster or slower than claimed."""

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


DIGITS = 6
"""Significant digits of ``claims.csv``."""


def number_text(number: float) -> str:
    """Return a number as in ``claims.csv``: a whole one in full, others with :data:`DIGITS` digits.

    Examples
    --------
    >>> number_text(1427876.0), number_text(0.60621261), number_text(float("nan")), number_text(float("inf"))
    ('1427876', '0.606213', '', 'inf')
    """
    if np.isnan(number):
        return ""
    return str(int(number)) if float(number).is_integer() else f"{number:.{DIGITS}g}"


def as_printed(value: float) -> str:
    """Format a published value with all its digits, or as nothing if it is missing."""
    return "" if np.isnan(value) else f"{value:,.10g}"


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
            "95% interval": intervals(measured),
            "Ratio": [_ratio(ratio) if pd.notna(ratio) else "" for ratio in measured["ratio"]],
            "Verdict": measured["verdict"],
        }
    )
    reasons = claims.loc[claims["measured"].isna(), "verdict"].value_counts(sort=False)
    others = pd.DataFrame({"Claim": [f"{count} claims" for count in reasons], "Verdict": reasons.index})
    return pd.concat([table, others], ignore_index=True)


def _ratio(value: float) -> str:
    """Format a ratio with two decimals, or in two digits where decimals would show less of it."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def _with_unit(claims: pd.DataFrame, column: str) -> list[str]:
    values = zip(claims[column].astype(float), claims["unit"], strict=True)
    return [f"{_readable(value)} {unit}".strip() if pd.notna(value) else "" for value, unit in values]


def _readable(value: float) -> str:
    """Format a number in four digits, and a large one as an integer, without an exponent."""
    return f"{value:,.4g}" if abs(value) < 9_999.5 else f"{value:,.0f}"


def intervals(claims: pd.DataFrame) -> list[str]:
    """Return "low to high", or nothing for exact values and where there are too few samples."""
    ends = zip(claims["low"].astype(float), claims["high"].astype(float), strict=True)
    return [f"{_readable(low)} to {_readable(high)}" if low < high else "" for low, high in ends]
