"""The spread between processes: how it is estimated, and that the test holds with it."""

import numpy as np
import pandas as pd
import pytest

from relaxometer.results.processes import (
    ASSUMED_SD,
    LEAST_SD,
    PROCESS,
    levels,
    part_of,
    process_part,
    typical_variance,
    with_processes,
)
from relaxometer.results.samples import compared, source_times
from relaxometer.results.statistics import SIGNIFICANCE, Estimate, log_median
from synthetic_runs import quiet, searches, spread

SOURCES, ROUNDS, RUNS = 16, 2, 60


def test_a_level_is_what_all_sources_of_a_round_share():
    found = levels(searches("tiled", spread(3), rounds=(1.02, 0.98)))
    assert found.tolist() == pytest.approx([np.log(1.02 / 0.98) / 2, -np.log(1.02 / 0.98) / 2])


def test_a_source_that_one_round_lacks_does_not_count():
    table = searches("tiled", [1.0, 1.0, 9.0], rounds=(1.0, 1.1))
    table.loc[(table["round"] == 2) & (table["source"] == 2), "status"] = "timeout"
    assert np.ptp(levels(table)) == pytest.approx(np.log(1.1))


def test_tables_without_rounds_are_of_one():
    old = searches("tiled", spread(1)).drop(columns="round")
    part = part_of(source_times(old))
    assert part == (ASSUMED_SD**2, float("inf"))


def test_few_repeated_runs_say_too_little():
    """Their spread is at least the assumed one, and halved by the second process."""
    table = with_processes(searches("tiled", spread(1), rounds=(1.001, 0.999)))
    assert part_of(table).variance == pytest.approx(ASSUMED_SD**2 / 2)


def test_many_repeated_runs_tell_the_spread_of_their_class_only():
    table = with_processes(
        pd.concat([quiet(), searches("once", spread(1)), searches("cpu", spread(1), device_kind="cpu")])
    )
    once, cpu = (part_of(table[table["variant"] == name]) for name in ("once", "cpu"))
    assert once.variance**0.5 == pytest.approx(0.002 / 2**0.5, rel=1e-2)
    assert 0 < once.df < 10
    assert cpu.variance == ASSUMED_SD**2


def test_a_run_that_spreads_more_than_its_class_has_more_variance():
    wild = searches("wild", spread(1), rounds=(1.2, 0.8))
    table = with_processes(pd.concat([quiet(), wild]))
    assert part_of(table[table["variant"] == "wild"]).variance > 0.05**2
    assert part_of(table[table["variant"] == "quiet-0"]).variance < 0.005**2


def test_the_spread_of_a_whole_table_stays_with_a_selection():
    table = with_processes(pd.concat([quiet(), searches("tiled", spread(1), rounds=(1.001, 0.999))]))
    alone = table[table["variant"] == "tiled"]
    assert source_times(alone)[PROCESS].iloc[0].tolist() == alone[PROCESS].iloc[0].tolist()
    assert part_of(alone).variance < ASSUMED_SD**2 / 100


def test_identical_rounds_are_not_believed():
    assert typical_variance([0.0] * 9) == LEAST_SD**2


class Table:
    """Runs whose processes differ by their own standard deviations, as arrays."""

    def __init__(self, rng, sds, noise=0.01):
        rounds = rng.normal(0, 1, (len(sds), ROUNDS)) * sds[:, None]
        self.logs = rounds.mean(axis=1)[:, None] + rng.normal(0, noise / ROUNDS**0.5, (len(sds), SOURCES))
        self.own = rounds.var(axis=1, ddof=1)
        self.parts = [process_part(own, ROUNDS, self.own) for own in self.own]

    def told_apart(self, one, other, slowdown=1.0):
        log, part = log_median(self.logs[other] + np.log(slowdown) - self.logs[one])
        estimate = Estimate(log, (part, self.parts[one], self.parts[other]), SOURCES)
        return estimate.p_value() < SIGNIFICANCE


def share_told_apart(sds_of, slowdown=1.0, comparisons=2_000):
    rng = np.random.default_rng(19)
    found = []
    while len(found) < comparisons:
        table = Table(rng, sds_of(rng))
        found += [table.told_apart(one, one + 1, slowdown) for one in range(0, RUNS, 2)]
    return np.mean(found[:comparisons])


@pytest.mark.parametrize(("least", "most"), [(0.01, 0.01), (0.01, 0.03), (0.002, 0.02)])
def test_runs_that_do_not_differ_are_told_apart_in_at_most_two_of_a_hundred(least, most):
    assert share_told_apart(lambda rng: rng.uniform(least, most, RUNS)) <= 0.02


def test_a_slowdown_of_five_percent_is_found_at_a_spread_of_one():
    assert share_told_apart(lambda rng: np.full(RUNS, 0.01), slowdown=1.05) >= 0.95


def test_the_test_of_sources_alone_would_fail():
    """What the spread between processes is for: the same runs without its part."""
    rng = np.random.default_rng(3)
    told = 0
    for _ in range(200):
        table = Table(rng, rng.uniform(0.01, 0.03, 2))
        log, part = log_median(table.logs[1] - table.logs[0])
        told += Estimate(log, (part,), SOURCES).p_value() < SIGNIFICANCE
    assert told > 60


def test_whole_tables_of_runs_behave_alike():
    """The same from rows of timings: 12 tables of 20 runs, in pairs that do not differ."""
    rng = np.random.default_rng(8)
    told = found = pairs = 0
    for _ in range(12):
        sds = rng.uniform(0.005, 0.015, 20)
        runs = [
            searches(
                f"run-{i}",
                (rng.normal(1, 0.01, 12) * np.linspace(1, 9, 12)).tolist(),
                repetitions=1,
                rounds=np.exp(rng.normal(0, sd, 2)).tolist(),
            )
            for i, sd in enumerate(sds)
        ]
        times = dict(iter(source_times(pd.concat(runs)).groupby("variant")))
        for i in range(0, 20, 2):
            one, other = times[f"run-{i}"], times[f"run-{i + 1}"]
            slow = other.assign(time_ms=1.08 * other["time_ms"])
            told += compared([(one, other)])[0].side != 0
            found += compared([(one, slow)])[0].side > 0
            pairs += 1
    assert told <= 0.03 * pairs
    assert found >= 0.9 * pairs
