"""Parameters of the jobs that measure or draw, which Snakemake compares to see what a change repeats.

Snakemake compares their values as a set, without names, so numbers that could be swapped share a parameter.
"""

from typing import Any

from relaxometer.core.provenance import code_hash, data_hash
from relaxometer.plan.models import DistributedRun, RivalRun, Run
from relaxometer.plan.plan import TRAFFIC, Plan
from relaxometer.problems.problem import load_problem
from relaxometer.problems.variants import load_solver, modules_of
from relaxometer.rivals.installation import installation, state_of_files
from relaxometer.studies.registry import STUDIES

Parameters = dict[str, Any]


def of_run(plan: Plan, run: Run) -> Parameters:
    """Return the parameters of each round of a variant or rival."""
    return {"run": run.model_dump(), "device": plan.config.device, "code": _code_of_run(plan, run)}


def of_study(plan: Plan, name: str) -> Parameters:
    """Return the parameters of a study on each of its graphs."""
    study = STUDIES[name]
    module = _below(study.measure.partition(":")[0])
    of_traffic = name == "traffic" and plan.config.traffic.graphs
    solvers = [
        (problem, name) for problem, key in TRAFFIC.items() for name in getattr(plan.config.traffic, key)
    ]
    defaults = ((*solver, load_solver(*solver).Parameters()) for solver in solvers if of_traffic)
    modules = [_below(one) for given in defaults for one in modules_of(*given)]
    rivals = plan.traffic_rivals if of_traffic else ()
    return {
        "study": name,
        "parameters": study.parameters(plan),
        "device": plan.config.device,
        "code": code_hash(module, *modules) + "".join(_code_of_rival(plan, run) for run in rivals),
    }


def of_ranks(plan: Plan, run: DistributedRun) -> Parameters:
    """Return the parameters of a run over several ranks."""
    timing = plan.config.timing
    return {
        "run": run.model_dump(),
        "timing": {"repetitions": timing.repetitions, "warmup": timing.warmup},
        "code": code_hash("race.ranks", "distributed.run"),
    }


def of_sources(plan: Plan) -> Parameters:
    """Return the parameters of the sources on any graph."""
    return {
        "drawn": {"sources": plan.config.timing.sources, "seed": plan.config.seed},
        "code": code_hash("race.sources", without=("graphs.graph",)),
    }


def of_queries(plan: Plan, problem: str) -> Parameters:
    """Return the parameters of the query sets of a problem on any graph."""
    kind = load_problem(problem).queries
    specs = plan.queries[problem]
    files = [file for spec in specs.values() if (file := getattr(spec, "file", None))]
    return {
        "queries": {name: spec.model_dump() for name, spec in specs.items()},
        "drawn": {"draws": plan.draws, "seed": plan.config.seed},
        "code": (code_hash(_below(kind.draw.__module__)) if kind else "") + data_hash(files),
    }


def code_of_variant(run: Run) -> str:
    """Return a hash of the code that runs and proves a variant."""
    modules = modules_of(run.problem, run.solver, run.solver_parameters)
    return code_hash("race.variant", *map(_below, modules))


def _code_of_run(plan: Plan, run: Run) -> str:
    if isinstance(run, RivalRun):
        return code_hash("race.rival") + _code_of_rival(plan, run)
    return code_of_variant(run)


def _code_of_rival(plan: Plan, run: RivalRun) -> str:
    """Return a hash of a rival's own files, and the state of its program."""
    rival = plan.rivals[run.solver]
    # Nothing is installed for a command; it can only be absent.
    found = installation(rival, run.command) if run.command else ""
    return rival.code + state_of_files(run.command) + (found if isinstance(found, str) else "")


def _below(module: str) -> str:
    return module.removeprefix("relaxometer.")
