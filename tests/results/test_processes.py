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
from relaxometer.results.samples import source_times
from relaxometer.results.statistics import SIGNIFICANCE, Estimate, Part, log_median
from synthetic_runs import quiet, searches, spread

SOURCES, ROUNDS, RUNS = 16, 2, 60


def test_a_level_is_what_all_sources_of_a_round_share():
    found = levels(searches("tiled", spread(3), rounds=(1.02, 0.98)))
    assert found.tolist() == pytest.approx([np.log(1.02 / 0.98) / 2, -np.log(1.02 / 0.98) / 2])


def test_a_source_that_one_round_lacks_does_not_count():
    table = searches("tiled", [1.0, 1.0, 9.0], rounds=(1.0, 1.1))
    table.loc[(table["round"] == 2) & (table["source"] == 2), "status"] = "timeout"
    assert np.ptp(levels(table)) == pytest.approx(np.log(1.1))


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


GRAPHS = 3
"""Graphs of each program, which it is run on under two names."""


class Table:
    """Runs whose processes differ by their own standard deviations, as arrays; namesakes are neighbours."""

    def __init__(self, rng, sds, noise=0.01):
        sds = np.repeat(sds, 2)
        rounds = rng.normal(0, 1, (len(sds), ROUNDS)) * sds[:, None]
        self.logs = rounds.mean(axis=1)[:, None] + rng.normal(0, noise / ROUNDS**0.5, (len(sds), SOURCES))
        self.own = rounds.var(axis=1, ddof=1)
        self.parts = [self.part_of(run) for run in range(len(sds))]

    def part_of(self, run):
        program = run // (2 * GRAPHS) * 2 * GRAPHS
        known = self.own[program : program + 2 * GRAPHS]
        others = [Part(own, ROUNDS - 1) for other, own in enumerate(known, program) if other != run]
        return process_part(self.own[run], ROUNDS, self.own, others)

    def told_apart(self, one, other, slowdown=1.0):
        log, part = log_median(self.logs[other] + np.log(slowdown) - self.logs[one])
        estimate = Estimate(log, (part, self.parts[one], self.parts[other]), SOURCES)
        return estimate.p_value() < SIGNIFICANCE


def share_told_apart(sds_of, slowdown=1.0, comparisons=2_000, runs=RUNS):
    """Return the share of namesakes that are told apart; `sds_of` draws a spread for each two."""
    rng = np.random.default_rng(19)
    found = []
    while len(found) < comparisons:
        table = Table(rng, sds_of(rng, runs // 2))
        found += [table.told_apart(one, one + 1, slowdown) for one in range(0, runs, 2)]
    return np.mean(found[:comparisons])


def alike(least, most):
    """Draw spreads that do not depend on the program."""
    return lambda rng, count: rng.uniform(least, most, count)


def by_program(median):
    """Draw spreads as published suites have them: programs differ a hundredfold, graphs of one tenfold."""

    def draw(rng, count):
        of_program = np.repeat(np.exp(rng.normal(0, 1.0, -(-count // GRAPHS))), GRAPHS)[:count]
        return median * of_program * np.exp(rng.normal(0, 0.6, count))

    return draw


@pytest.mark.parametrize(
    ("sds_of", "most"),
    [
        (alike(0.002, 0.02), 0.02),
        (by_program(0.003), 0.02),
        (by_program(0.012), 0.025),
    ],
    ids=["0.2 to 2%", "programs around 0.3%", "programs around 1.2%"],
)
def test_runs_that_do_not_differ_are_told_apart_in_about_two_of_a_hundred(sds_of, most):
    assert share_told_apart(sds_of) <= most


@pytest.mark.parametrize(("sds_of", "least"), [(alike(0.006, 0.006), 0.99), (alike(0.01, 0.01), 0.85)])
def test_a_slowdown_of_five_percent_is_found(sds_of, least):
    assert share_told_apart(sds_of, slowdown=1.05) >= least


def test_a_noisy_program_does_not_hide_the_slowdowns_of_quiet_ones():
    def draw(rng, count):
        return np.where(np.arange(count) < count // 2, 0.003, 0.05)

    rng = np.random.default_rng(4)
    found = []
    for _ in range(20):
        table = Table(rng, draw(rng, RUNS // 2))
        found += [table.told_apart(one, one + 1, 1.05) for one in range(0, RUNS // 2, 2)]
    assert np.mean(found) >= 0.95


def test_a_run_of_one_process_has_the_spread_of_its_program():
    quiet_program, loud_class = [Part(0.002**2, 1.0)] * 20, [0.05**2] * 20
    part = process_part(0.0, 1, loud_class, quiet_program)
    assert 0.002**2 < part.variance < 0.02**2
    assert process_part(0.0, 1, loud_class).variance == pytest.approx(0.05**2)
    assert typical_variance([0.0] * 9) == LEAST_SD**2, "identical rounds are not believed"
    assert part.df > process_part(0.0, 1, loud_class).df


def test_the_test_of_sources_alone_would_fail():
    """What the spread between processes is for: the same runs without its part."""
    rng = np.random.default_rng(3)
    told = 0
    for _ in range(200):
        table = Table(rng, rng.uniform(0.01, 0.03, 2))
        log, part = log_median(table.logs[1] - table.logs[0])
        told += Estimate(log, (part,), SOURCES).p_value() < SIGNIFICANCE
    assert told > 60
