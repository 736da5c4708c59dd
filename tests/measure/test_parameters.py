"""Parameters of jobs, as Snakemake compares them."""

from pathlib import Path

import pytest

import bundles
from relaxometer.measure import parameters
from relaxometer.measure.parameters import Records

TIMING = {"sources": 4, "repetitions": 1, "rounds": 1, "warmup": 2}
CONFIG = {
    **bundles.CONFIG,
    "seed": 5,
    "timing": TIMING,
    "distributed": {"ranks": {"scale": 7, "ranks": 1, "roots": 1}},
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def of_ranks(plan):
    return parameters.of_ranks(plan, plan.distributed["ranks"])


@pytest.mark.parametrize(
    ("of", "changes"),
    [
        (parameters.of_sources, {"seed": 4, "timing": TIMING | {"sources": 5}}),
        (of_ranks, {"timing": TIMING | {"repetitions": 2, "warmup": 1}}),
    ],
)
def test_two_numbers_that_trade_places_are_a_change(of, changes):
    before, now = (of(bundles.plan(CONFIG | more)) for more in ({}, changes))
    # Snakemake compares the values as a set, without names.
    assert set(map(repr, before.values())) != set(map(repr, now.values()))


def test_a_file_has_the_parameters_of_its_last_job():
    files, records = [Path("results/runs.parquet"), Path("results/context.json")], Records()
    assert not records.differ({"seed": 1}, files)
    records.begin(files)
    records.end("run_variant", {"seed": 1}, files)
    assert not Records().differ({"seed": 1}, files)
    assert Records().differ({"seed": 2}, files)
    assert not [file for file in Path(".snakemake/incomplete").rglob("*") if file.is_file()]
