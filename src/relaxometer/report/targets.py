"""The runs of a plan that the figures show."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relaxometer.plan.models import Run
    from relaxometer.plan.plan import Plan

CURVE = 4  # at least this many variants that differ only in the values of their parameters form a curve
MAX_SHOWN = 20  # maximum number of a curve's variants in tables and figures that compare variants


def runs_of(plan: Plan, problem: str, graph: str) -> list[Run]:
    """Return the runs of a problem on a graph or a batch."""
    return [run for run in plan.runs.values() if (run.problem, run.graph) == (problem, graph)]


def graphs_of(plan: Plan, problem: str) -> list[str]:
    """Return the graphs and batches of a problem's runs."""
    return list(dict.fromkeys(run.graph for run in plan.runs.values() if run.problem == problem))


def is_swept(plan: Plan, run: Run) -> bool:
    """Return whether a run is a point of a curve."""
    return bool(run.parameters) and _curves(plan)[_curve(run)] >= CURVE


def crowded(plan: Plan) -> set[str]:
    """Return the variants that are points of a curve of more than `MAX_SHOWN` variants."""
    runs = plan.runs.values()
    return {run.variant for run in runs if run.parameters and _curves(plan)[_curve(run)] > MAX_SHOWN}


def names(runs: list[Run]) -> list[str]:
    """Return the variants of some runs, each once, in their order."""
    return list(dict.fromkeys(run.variant for run in runs))


@cache
def _curves(plan: Plan) -> Counter[tuple[str, ...]]:
    return Counter(map(_curve, plan.runs.values()))


def _curve(run: Run) -> tuple[str, ...]:
    """Return the key of a curve: everything except the values of the parameters."""
    return run.problem, run.graph, run.solver, *sorted(run.parameters)


def extract_min(plan: Plan) -> list[str]:
    """Return the table of ExtractMin's times, if the plan has the survey."""
    return ["results/extract_min.parquet"] if "survey" in plan.config.report.papers else []


def results(plan: Plan) -> list[str]:
    """Return the tables, verdicts and pages that a plan wants."""
    found = ["summary.csv", "verdict.txt", "verdict.accepted"]
    found += ["claims.parquet", "context.json"] if plan.runs else []
    found += [f"pages/graphs/{graph}.html" for graph in plan.graphs]
    found += [f"pages/batches/{batch}.html" for batch in plan.batches]
    if plan.distributed:
        found += ["distributed.csv", "distributed_verdict.txt", "distributed_verdict.accepted"]
    # A run in which a rival was absent leaves out its certificates, so that it is tried again.
    rivals = (run for run in plan.runs.values() if hasattr(run, "kind"))
    tries = [f"{run.folder()}/certificates.parquet" for run in rivals]
    return [f"results/{name}" for name in found] + tries
