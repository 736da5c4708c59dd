"""Parameters of jobs, as Snakemake compares them."""

import pytest

import bundles
from relaxometer.core.provenance import files_used
from relaxometer.problems.variants import modules_of
from relaxometer.studies import parameters

TIMING = {"sources": 4, "repetitions": 1, "rounds": 1, "warmup": 2}
CONFIG = {
    **bundles.CONFIG,
    "seed": 5,
    "timing": TIMING,
    "distributed": {"ranks": {"scale": 7, "ranks": 1, "roots": 1}},
}


def modules_of_run(run):
    return modules_of(run.problem, run.solver, run.solver_parameters)


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


def test_a_variant_depends_on_the_solver_that_it_loads_by_name():
    variants = {"johnson": {"inside": ["near-far", "conventional"]}, "near-far": {}, "conventional": {}}
    plan = bundles.plan(CONFIG | {"sssp": {"graphs": ["small-grid"], "variants": variants}})
    used = {
        run.variant: files_used(*(one.removeprefix("relaxometer.") for one in modules_of_run(run)))
        for run in plan.runs.values()
        if run.problem == "sssp"
    }
    assert used["johnson-near-far"] > used["near-far"]
    assert used["johnson-conventional"] > used["conventional"]
    codes = {run.variant: parameters.of_run(plan, run)["code"] for run in plan.runs.values()}
    assert codes["johnson-near-far"] != codes["johnson-conventional"]
