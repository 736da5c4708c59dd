"""The quantities that papers claim, measured in the data of a run.

Those of :data:`QUANTITIES` take a claim and the evidence; claims files name them. The others are functions of
tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relaxometer.core.words import counted
from relaxometer.results import samples, statistics
from relaxometer.results.evidence import Evidence, Measured, NotMeasured, Origin
from relaxometer.results.processes import ASSUMED, part_of

if TYPE_CHECKING:
    from relaxometer.results.claims import Claim

RESAMPLES = 2_000


def _estimated(estimate: statistics.Estimate, origin: Origin) -> Measured:
    return Measured(estimate.value, origin, estimate.interval())


def graph_property(claim: Claim, evidence: Evidence) -> Measured:
    """Take the entry `key` of ``graph.json``."""
    properties = evidence.graphs[claim.graph]
    if claim.key not in properties:
        raise NotMeasured(f"the metadata of {claim.graph} have no {claim.key}")
    return Measured(float(properties[claim.key]))


def _late(counts: pd.DataFrame) -> pd.Series[float]:
    return counts.loc[counts["phase"] > counts.groupby("source")["phase"].transform("max") / 2, "updated"]


OF_PHASES: dict[str, Callable[[pd.DataFrame, float], Any]] = {
    # The phases of a search, as the mean over sources.
    "mean_phases": lambda counts, at: counts.groupby("source")["phase"].max().mean(),
    # The most vertices that any phase of any source updates.
    "peak_updated": lambda counts, at: counts["updated"].max(),
    # The share of all phases that update at most `at` vertices, or the share `at` of the largest phase.
    "share_of_phases": lambda counts, at: samples.share_at_or_under(counts["updated"], at),
    "share_below_peak": lambda counts, at: samples.share_at_or_under(
        counts["updated"], at * counts["updated"].max()
    ),
    # The same of the phases in second halves of searches.
    "share_of_late_phases": lambda counts, at: samples.share_at_or_under(_late(counts), at),
    "share_of_late_phases_below_peak": lambda counts, at: samples.share_at_or_under(
        _late(counts), at * counts["updated"].max()
    ),
}
"""Quantities of the updated vertices of each phase on a claim's graph."""


def _of_phases(name: str, claim: Claim, evidence: Evidence) -> Measured:
    phases = evidence.phases[evidence.phases["graph"] == claim.graph]
    if phases.empty:
        raise NotMeasured(f"no phases were recorded on {claim.graph}")
    value = OF_PHASES[name](samples.updated_counts(phases), claim.at or 0.0)
    return Measured(float(value), Origin(phases["device"].iloc[0], phases["device_kind"].iloc[0]))


def small_phase_speedup(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the mean time by `over` of phases that update at most `at` vertices by that by `of`."""
    return _phase_speedup(claim, evidence, evidence.phases["updated"] <= (claim.at or 0.0))


def busy_phase_speedup(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the mean time by `over` of phases that update more than `at` vertices by that by `of`."""
    return _phase_speedup(claim, evidence, evidence.phases["updated"] > (claim.at or 0.0))


def _phase_speedup(claim: Claim, evidence: Evidence, chosen: pd.Series[bool]) -> Measured:
    phases = evidence.phases[chosen].query("graph == @claim.graph and variant in [@claim.of, @claim.over]")
    times = phase_times(phases)
    if times.empty or len(times.columns) < 2:
        raise NotMeasured(f"no such phases of {claim.of} and {claim.over} on {claim.graph}")
    found = statistics.log_ratio_of_means(times[claim.over], times[claim.of], ASSUMED, ASSUMED)
    return _estimated(found, _real_origin(phases))


def mean_time(claim: Claim, evidence: Evidence) -> Measured:
    """Average the time of the variant `of` over sources, in milliseconds."""
    times = evidence.times(claim.graph, claim.of)
    return _estimated(statistics.log_mean(times["time_ms"], part_of(times)), _origin(times))


def mean_rate(claim: Claim, evidence: Evidence) -> Measured:
    """Average the arcs of the graph per second of a search of the variant `of` over sources."""
    return _estimated(*_rate(claim, evidence, claim.graph))


def _rate(claim: Claim, evidence: Evidence, graph: str) -> tuple[statistics.Estimate, Origin]:
    times = evidence.times(graph, claim.of)
    rates = evidence.graphs[graph]["arcs"] / times["time_ms"] * 1e3
    return statistics.log_mean(rates, part_of(times)), _origin(times)


def spread_ratio(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the spread of `of` over sources by that of `over`: the standard deviation over the mean.

    Both are over the sources that the two share, since a spread depends on them. The two may run on
    different devices, since it has no unit. The interval is a bootstrap of the sources.
    """
    times = [evidence.times(claim.graph, variant) for variant in (claim.of, claim.over)]
    shared = np.column_stack(samples.paired(*times))
    if len(shared) < 2 or not np.ptp(shared[:, 1]):
        raise NotMeasured(f"{claim.of} and {claim.over} share too few sources on {claim.graph}")

    def quotient(samples: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        spreads = samples.std(axis=-2) / samples.mean(axis=-2)
        found: npt.NDArray[np.float64] = spreads[..., 0] / spreads[..., 1]
        return found

    value, origin = float(quotient(shared)), _origin(times[0])
    if len(shared) < statistics.FEWEST:
        return Measured(value, origin, (float("nan"), float("nan")))
    drawn = np.random.default_rng(0).integers(len(shared), size=(RESAMPLES, len(shared)))
    with np.errstate(invalid="ignore"):  # a draw may hold one source only, which has no spread
        low, high = np.nanquantile(quotient(shared[drawn]), [0.025, 0.975])
    return Measured(value, origin, (float(low), float(high)))


def speedup(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the mean time of `over` by that of `of`, over the same sources."""
    candidate = evidence.times(claim.graph, claim.of)
    baseline = evidence.times(claim.graph, claim.over)
    return _estimated(_gain(claim, candidate, baseline), _origin(pd.concat([candidate, baseline])))


def speedup_over_cpu(claim: Claim, evidence: Evidence) -> Measured:
    """Return :func:`speedup` over a program on the CPU of the GPU's machine."""
    candidate = evidence.times(claim.graph, claim.of)
    return _estimated(_gain(claim, candidate, _cpu_times(claim, evidence)), _origin(candidate))


def _cpu_times(claim: Claim, evidence: Evidence) -> pd.DataFrame:
    times = evidence.times(claim.graph, claim.over)
    if (times["device_kind"] != "cpu").any():
        raise NotMeasured(f"{claim.over} was not timed on a CPU")
    return times


def _gain(claim: Claim, candidate: pd.DataFrame, baseline: pd.DataFrame) -> statistics.Estimate:
    ours, theirs = samples.paired(candidate, baseline)
    if ours.empty:
        raise NotMeasured(f"{claim.of} and {claim.over} share no source on {claim.graph}")
    return statistics.log_ratio_of_means(theirs, ours, part_of(candidate), part_of(baseline))


def threshold_band(claim: Claim, evidence: Evidence) -> Measured:
    """Measure the band of thresholds in which `of` is shown to be faster than `over`, in microseconds."""
    sweep = evidence.sweep(claim.graph, claim.of, "to_all_us")
    baseline = evidence.times(claim.graph, claim.over)
    origin = _origin(pd.concat([sweep, baseline]))
    band = samples.gaining_band(sweep, baseline)
    return Measured(band[1] - band[0] if band else 0.0, origin)


def best_threshold(claim: Claim, evidence: Evidence) -> Measured:
    """Find the threshold with the smallest mean time, in microseconds.

    The interval holds the thresholds that are not shown to be slower.
    """
    sweep = evidence.sweep(claim.graph, claim.of, "to_all_us")
    means = sweep.groupby("to_all_us")["time_ms"].mean()
    best = float(means.index[int(means.argmin())])
    points = {float(point): rows for point, rows in sweep.groupby("to_all_us")}  # type: ignore[arg-type]
    others = {
        point: samples.ratio_estimate(points[best], rows) for point, rows in points.items() if point != best
    }
    return Measured(best, _origin(sweep), range_of_best(best, others))


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
    return Measured(best, _origin(reductions), range_of_best(best, others))


def extract_min_time(claim: Claim, evidence: Evidence) -> Measured:
    """Take the median time of an ExtractMin by `of` on `at` values, in microseconds."""
    trials = _extract_min_trials(claim, evidence)
    time = _extract_min(trials.assign(time_ms=trials["time_ms"] * 1e3), claim.of)
    return _estimated(time, _origin(trials[trials["method"] == claim.of]))


def _extract_min_trials(claim: Claim, evidence: Evidence) -> pd.DataFrame:
    if evidence.extract_min is None:
        raise NotMeasured("ExtractMin was not timed")
    trials = samples.extract_min_method(evidence.extract_min)
    trials = trials[trials["values"] == claim.at]
    if trials.empty:
        raise NotMeasured(f"ExtractMin on {counted(int(claim.at or 0), 'value')} was not timed")
    return trials[trials["device_kind"] != samples.EMULATED]


def _extract_min(trials: pd.DataFrame, method: str) -> statistics.Estimate:
    rows = trials[trials["method"] == method]
    if rows.empty:
        raise NotMeasured(f"ExtractMin by {method} was not timed on a real device")
    return statistics.median_of(rows["time_ms"], ASSUMED)


def step_time(claim: Claim, evidence: Evidence) -> Measured:
    """Average the time of the step `key` of the variant `of`, in milliseconds."""
    rows = _steps(claim, evidence)
    rows = rows[rows["mode"] == claim.key]
    if rows.empty:
        raise NotMeasured(f"{claim.of} on {claim.graph} has no step {claim.key}")
    return _estimated(statistics.log_mean(rows["time_ms"], ASSUMED), _origin(rows))


def _steps(claim: Claim, evidence: Evidence) -> pd.DataFrame:
    if evidence.steps is None or evidence.steps.empty:
        raise NotMeasured("no steps were recorded")
    rows = evidence.steps.query("graph == @claim.graph and variant == @claim.of")
    if rows.empty:
        raise NotMeasured(f"{claim.of} on {claim.graph} was not run")
    if (rows["device_kind"] == samples.EMULATED).any():
        raise NotMeasured("emulated time")
    return rows


def speedup_from_root(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the median time of `over`, on the CPU, by that of `of`, from the root of a flow graph."""
    return _estimated(*_from_root(claim, evidence))


def _from_root(claim: Claim, evidence: Evidence) -> tuple[statistics.Estimate, Origin]:
    candidate = evidence.times(claim.graph, claim.of)
    return samples.ratio_estimate(candidate, _cpu_times(claim, evidence)), _origin(candidate)


def step_share(claim: Claim, evidence: Evidence) -> Measured:
    """Return the share of the step `key` in the step "total" of the variant `of`."""
    rows = _steps(claim, evidence)
    times = step_times(rows, [claim.key, "total"])
    if times.empty:
        raise NotMeasured(f"{claim.of} on {claim.graph} has no step {claim.key} with a total")
    return _estimated(statistics.log_ratio_of_means(times[claim.key], times["total"], ASSUMED), _origin(rows))


def speedup_growth(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the speedup of `of` over `over` from the root of a graph by that on the graph `key`."""
    if claim.key not in evidence.graphs:
        raise NotMeasured(f"{claim.key} is not in this run")
    here, origin = _from_root(claim, evidence)
    there, _ = _from_root(claim.model_copy(update={"graph": claim.key}), evidence)
    return _estimated(here.over(there), origin)


def speedup_over_size(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the :func:`speedup` of `of` over `over` on a graph by that on the graph `key`."""
    if claim.key not in evidence.graphs:
        raise NotMeasured(f"{claim.key} is not in this run")
    graphs = (claim.graph, claim.key)
    runs = [[evidence.times(graph, variant) for variant in (claim.of, claim.over)] for graph in graphs]
    here, there = (_gain(claim, *times) for times in runs)
    return _estimated(here.over(there), _origin(pd.concat([*runs[0], *runs[1]])))


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
    return Measured(best, origin, range_of_best(best, others))


def communication_growth(claim: Claim, evidence: Evidence) -> Measured:
    """Return the exponent with which communication of the series `of` grows with the ranks."""
    searches = _rank_searches(claim, evidence)
    of_source = searches[searches["series"] == claim.of].groupby(["ranks", "source"])["communication_ms"]
    medians = of_source.median().groupby("ranks")
    times = {int(str(ranks)): statistics.median_of(rows, ASSUMED) for ranks, rows in medians}
    try:
        value, interval = growth(times)
        return Measured(value, _real_origin(searches), interval)
    except ValueError as few:
        raise NotMeasured(f"{claim.of}: {few}") from None


def computing_share_growth(claim: Claim, evidence: Evidence) -> Measured:
    """Divide the share of computing in searches of a series on the most ranks by that on the fewest."""
    searches = _rank_searches(claim, evidence).query("series == @claim.of")
    shares = (searches["computing_ms"] / searches["time_ms"]).groupby([searches["ranks"], searches["source"]])
    of_ranks = [statistics.median_of(rows, ASSUMED) for _, rows in shares.median().groupby("ranks")]
    if len(of_ranks) < 2:
        raise NotMeasured(f"{claim.of}: fewer than two numbers of ranks")
    return _estimated(of_ranks[-1].over(of_ranks[0]), _real_origin(searches))


def _over_ranks(column: str, claim: Claim, evidence: Evidence) -> Measured:
    """Divide a time of the series `over` by that of `of`; the `key` of all numbers of ranks."""
    searches = _rank_searches(claim, evidence)
    quotients = quotients_over_ranks(searches, claim.of, claim.over, column)
    if not quotients:
        raise NotMeasured(f"the series {claim.of} and {claim.over} share no source")
    value, interval = extreme(quotients, least=claim.key == "least")
    return Measured(value, _real_origin(searches[searches["series"] == claim.of]), interval)


def _rank_searches(claim: Claim, evidence: Evidence) -> pd.DataFrame:
    if evidence.ranks is None or evidence.ranks.empty:
        raise NotMeasured("no search over several ranks in this run")
    rows = evidence.ranks[evidence.ranks["series"].isin([claim.of, claim.over])]
    if rows.empty:
        raise NotMeasured(f"the series {claim.of} was not run")
    return rows


def _real_origin(rows: pd.DataFrame) -> Origin:
    """Return the device of some times; NotMeasured if they were emulated or are of several devices."""
    if (rows["device_kind"] == samples.EMULATED).any():
        raise NotMeasured("emulated time")
    return _origin(rows)


TIMES = ("mean_time", "step_time", "extract_min_time")


OF_SEARCHES: dict[str, Callable[[Claim, Evidence], Measured]] = {
    function.__name__: function
    for function in (
        *(mean_time, mean_rate, spread_ratio, speedup, speedup_over_cpu, speedup_over_size),
        *(speedup_from_root, speedup_growth, best_rate_vertices),
    )
}
"""Quantities of the times of searches alone, which published suites keep."""

QUANTITIES: dict[str, Callable[[Claim, Evidence], Measured]] = OF_SEARCHES | {
    function.__name__: function
    for function in (
        *(graph_property, threshold_band, best_threshold),
        *(extract_min_speedup, extract_min_best_threads, extract_min_time),
        *(step_time, step_share, small_phase_speedup, busy_phase_speedup),
        *(communication_growth, computing_share_growth),
    )
}
QUANTITIES |= {name: partial(_of_phases, name) for name in OF_PHASES}
QUANTITIES |= {
    "ranks_computing_ratio": partial(_over_ranks, "computing_ms"),
    "ranks_speedup": partial(_over_ranks, "time_ms"),
}


def _origin(times: pd.DataFrame) -> Origin:
    """Return the device of some times; NotMeasured if there are several."""
    devices = times[["device", "device_kind"]].drop_duplicates()
    if len(devices) > 1:
        raise NotMeasured("the variants were timed on different devices")
    return Origin(*devices.iloc[0])


def phase_times(phases: pd.DataFrame) -> pd.DataFrame:
    """Return the time that each search spends in some phases of a graph, in ms.

    A row per source and a column per variant, over the phases that all variants have from that source.
    """
    times = phases.groupby(["source", "phase", "variant"])["time_ms"].mean().unstack("variant").dropna()
    return times.groupby("source").sum()


def step_times(steps: pd.DataFrame, modes: Sequence[str]) -> pd.DataFrame:
    """Return the mean time of each of the steps `modes` from each source, a column per step, in ms."""
    means = steps[steps["mode"].isin(modes)].groupby(["source", "mode"])["time_ms"].mean()
    return means.unstack("mode").reindex(columns=list(modes)).dropna()


def quotients_over_ranks(ranks: pd.DataFrame, of: str, over: str, column: str) -> list[statistics.Estimate]:
    """Return the quotient of two series for each number of ranks from which both have a common source.

    It is the median over common sources of the time `column` of `over` over that of `of`; each run is one
    process. `ranks` has rows of :func:`relaxometer.results.scaling.rank_searches`.
    """
    keys = ["ranks", "source"]
    ours, theirs = (
        np.log(ranks[ranks["series"] == series].groupby(keys)[column].median()) for series in (of, over)
    )
    quotients = (theirs - ours).dropna().groupby("ranks")
    medians = [(statistics.log_median(logs), len(logs)) for _, logs in quotients]
    return [statistics.Estimate(log, (part, ASSUMED, ASSUMED), n) for (log, part), n in medians]


def extreme(estimates: Sequence[statistics.Estimate], *, least: bool) -> tuple[float, tuple[float, float]]:
    """Return the least or the largest of some quantities, and its interval.

    The interval holds the extreme if the intervals of all quantities hold theirs, so each of them leaves out
    its share of the 5% only. It is NaN if any of the quantities rests on too few samples.
    """
    choose = min if least else max
    each = 1 - (1 - statistics.CONFIDENCE) / len(estimates)
    low, high = zip(*(one.interval(each) for one in estimates), strict=True)
    if np.isnan([*low, *high]).any():
        return choose(one.value for one in estimates), (float("nan"), float("nan"))
    return choose(one.value for one in estimates), (choose(low), choose(high))


def range_of_best(best: float, others: Mapping[float, statistics.Estimate]) -> tuple[float, float]:
    """Return the range of the points that are not shown to be worse than the best one.

    Points are numbers of threads, thresholds or sizes. `others` says how many times as long every other point
    takes, corrected here for their number. The range is NaN if any of the comparisons rests on too few
    samples.
    """
    if any(one.n < statistics.FEWEST for one in others.values()):
        return float("nan"), float("nan")
    p_values = statistics.holm([one.p_value() for one in others.values()])
    alike = [
        point
        for (point, one), p_value in zip(others.items(), p_values, strict=True)
        if p_value >= statistics.SIGNIFICANCE or one.log <= 0
    ]
    return min([best, *alike]), max([best, *alike])


def growth(times: Mapping[int, statistics.Estimate]) -> tuple[float, tuple[float, float]]:
    """Return the exponent with which a time grows from the fewest ranks above one to the most.

    One rank sends nothing, so it does not count. 1 is linear growth, 0 none. The interval is NaN below
    `FEWEST` samples. ValueError if fewer than two numbers of ranks are above one.
    """
    several = sorted(ranks for ranks in times if ranks > 1)
    if len(several) < 2:
        raise ValueError("fewer than two numbers of ranks above one")
    grown = times[several[-1]].over(times[several[0]])
    doubled = np.log(several[-1] / several[0])
    low, high = (float(np.log(end) / doubled) for end in grown.interval())
    return float(grown.log / doubled), (low, high)
