"""The spread between processes: how it is estimated, and that the test holds with it."""

import numpy as np
import pandas as pd
import pytest

from relaxometer.results.processes import (
    ASSUMED_MS,
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
from relaxometer.results.statistics import SIGNIFICANCE, Part
from synthetic_runs import Namesakes, quiet, searches, spread

RUNS = 60


def test_a_level_is_what_all_sources_of_all_rounds_share():
    found = levels(searches("tiled", spread(3), rounds=(1.02, 0.98)))
    assert found.tolist() == pytest.approx([np.log(1.02 / 0.98) / 2, -np.log(1.02 / 0.98) / 2])
    table = searches("tiled", [1.0, 1.0, 9.0], rounds=(1.0, 1.1))
    table.loc[(table["round"] == 2) & (table["source"] == 2), "status"] = "timeout"
    assert np.ptp(levels(table)) == pytest.approx(np.log(1.1))


def test_few_repeated_runs_say_too_little_and_many_tell_the_spread_of_their_class_only():
    """Their spread is at least the assumed one, and halved by the second process."""
    table = with_processes(searches("tiled", spread(1), rounds=(1.001, 0.999)))
    assert part_of(table).variance == pytest.approx(ASSUMED_SD**2 / 2)
    table = with_processes(
        pd.concat([quiet(), searches("once", spread(1)), searches("cpu", spread(1), device_kind="cpu")])
    )
    once, cpu = (part_of(table[table["variant"] == name]) for name in ("once", "cpu"))
    assert once.variance**0.5 == pytest.approx(0.002 / 2**0.5, rel=1e-2)
    assert 0 < once.df < 10
    assert cpu.variance == ASSUMED_SD**2


def test_a_run_of_one_process_on_a_gpu_spreads_by_what_its_host_takes_to_launch_it():
    for ms in (0.1, 10.0):
        gpu, cpu = (with_processes(searches("tiled", [ms] * 3, device_kind=kind)) for kind in ("cuda", "cpu"))
        assert part_of(cpu).variance == ASSUMED_SD**2
        assert part_of(gpu).variance == pytest.approx(ASSUMED_SD**2 + (ASSUMED_MS / ms) ** 2)
    beside = with_processes(pd.concat([quiet(), searches("once", [0.01] * 3)]))
    assert part_of(beside[beside["variant"] == "once"]).variance < ASSUMED_SD**2, "the class tells"


def test_a_run_that_spreads_more_has_more_variance_also_in_a_selection():
    wild = searches("wild", spread(1), rounds=(1.2, 0.8))
    table = with_processes(pd.concat([quiet(), wild]))
    assert part_of(table[table["variant"] == "wild"]).variance > 0.05**2
    assert part_of(table[table["variant"] == "quiet-0"]).variance < 0.005**2
    table = with_processes(pd.concat([quiet(), searches("tiled", spread(1), rounds=(1.001, 0.999))]))
    alone = table[table["variant"] == "tiled"]
    assert source_times(alone)[PROCESS].iloc[0].tolist() == alone[PROCESS].iloc[0].tolist()
    assert part_of(alone).variance < ASSUMED_SD**2 / 100


def share_told_apart(sds_of, slowdown=1.0, comparisons=2_000, runs=RUNS):
    """Return the share of namesakes that are told apart; `sds_of` draws a spread for each two."""
    rng = np.random.default_rng(19)
    found = []
    while len(found) < comparisons:
        ratios = Namesakes(rng, sds_of(rng, runs // 2)).ratios(slowdown)
        found += [one.p_value() < SIGNIFICANCE for one in ratios]
    return np.mean(found[:comparisons])


def alike(least, most):
    """Draw spreads that do not depend on the program."""
    return lambda rng, count: rng.uniform(least, most, count)


def by_program(median):
    """Draw spreads as published suites have them: programs differ a hundredfold, graphs of one tenfold."""

    def draw(rng, count):
        of_program = np.repeat(np.exp(rng.normal(0, 1.0, -(-count // 3))), 3)[:count]
        return median * of_program * np.exp(rng.normal(0, 0.6, count))

    return draw


@pytest.mark.parametrize(
    ("sds_of", "most"),
    [(alike(0.002, 0.02), 0.02), (by_program(0.003), 0.02), (by_program(0.012), 0.025)],
    ids=["0.2 to 2%", "programs around 0.3%", "programs around 1.2%"],
)
def test_runs_that_do_not_differ_are_told_apart_in_about_two_of_a_hundred(sds_of, most):
    assert share_told_apart(sds_of) <= most


@pytest.mark.parametrize(("sds_of", "least"), [(alike(0.006, 0.006), 0.99), (alike(0.01, 0.01), 0.85)])
def test_a_slowdown_of_five_percent_is_found(sds_of, least):
    assert share_told_apart(sds_of, slowdown=1.05) >= least


def test_a_noisy_program_does_not_hide_the_slowdowns_of_quiet_ones():
    sds, rng = np.where(np.arange(RUNS // 2) < RUNS // 4, 0.003, 0.05), np.random.default_rng(4)
    ratios = [Namesakes(rng, sds).ratios(1.05)[: RUNS // 4] for _ in range(20)]
    assert np.mean([one.p_value() < SIGNIFICANCE for quiet_ones in ratios for one in quiet_ones]) >= 0.95


def test_a_run_of_one_process_has_the_spread_of_its_program():
    quiet_program, loud_class = [Part(0.002**2, 1.0)] * 20, [0.05**2] * 20
    part = process_part(0.0, 1, loud_class, quiet_program)
    assert 0.002**2 < part.variance < 0.02**2
    assert process_part(0.0, 1, loud_class).variance == pytest.approx(0.05**2)
    assert typical_variance([0.0] * 9) == LEAST_SD**2, "identical rounds are not believed"
    assert part.df > process_part(0.0, 1, loud_class).df
