"""One start of the workflow: what it checks, what it withdraws, and its last lines."""

import logging
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from snakemake.io import strip_wildcard_constraints
from snakemake_interface_logger_plugins.common import LogEvent

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.failures import failure_of
from relaxometer.core.files import read_frame
from relaxometer.core.screen import Screen, needed
from relaxometer.core.scripting import ERRORS
from relaxometer.core.validation import suggestion
from relaxometer.core.words import counted
from relaxometer.device import cuda
from relaxometer.plan.models import Run

VERDICTS = tuple(Path("results", name) for name in ("verdict.txt", "distributed_verdict.txt"))
"""Their first lines are the last lines of a run."""

SUMMARIES = (Path("results/summary.csv"), Path("results/distributed.csv"), *VERDICTS)

JUDGES = {
    "runs.smk": (SUMMARIES[0], VERDICTS[0]),
    "studies.smk": (VERDICTS[0],),
    "distributed.smk": (SUMMARIES[1], VERDICTS[1]),
}
"""By the file of the rules that measure: the summaries that speak of what they measure."""

MEASURED = ("run_", "repeat_", "measure_")

RUN_FIRST = "run the workflow with this configuration first: make run"
"""Advice for results that are missing or of another configuration."""

SHOWN = {"gather.smk", "figures.smk", "pages.smk"}
"""The files whose rules make only what can be made again from measurements."""


class AtStart(logging.Filter):
    """Calls a function when Snakemake begins to execute a workflow, before it asks which jobs must run.

    Given the workflow, it calls it also before the first record of a command that may execute nothing.
    """

    def __init__(self, call: Callable[[], object], workflow: Any = None) -> None:
        super().__init__()
        self._call, self._workflow = call, workflow

    def filter(self, record: logging.LogRecord) -> bool:
        """Call the function if this is such a record, and let every record pass."""
        if self._workflow is not None and self._workflow.dag_settings:
            self._workflow = None
            self._call()
        if getattr(record, "event", None) == LogEvent.WORKFLOW_STARTED:
            self._call()
        return True


def withdraw(summaries: Iterable[Path] = SUMMARIES) -> None:
    """Delete summaries that are about to change: none may look current if the run does not finish."""
    for summary in summaries:
        summary.unlink(missing_ok=True)


def check_device(workflow: Any, origin: str) -> None:
    """Raise UserError if a job is to use CUDA on this machine, which lacks it.

    Jobs of a cluster run on nodes, which may have GPUs.
    """
    if workflow.touch or not workflow.local_exec or not any(map(_opens_cuda, workflow.dag.needrun_jobs())):
        return
    # An environment that Snakemake makes for the jobs has its own CuPy, or none.
    cuda.require(origin, cupy=not workflow.deployment_settings.deployment_method)


def check_places() -> None:
    """Raise UserError if a folder of the workflow is a file or not readable, or a file of it is a folder."""
    for folder in (Path("results"), ERRORS.parent):
        if os.path.lexists(folder) and not os.path.isdir(folder):  # noqa: PTH112 (never raises)
            raise UserError(f"{folder}: not a folder; move it away, then run again")
        if os.path.lexists(folder) and not os.access(folder, os.R_OK | os.X_OK):
            raise UserError(f"{folder}: not readable; give permission, then run again")
    for file in (*SUMMARIES, ERRORS):
        if os.path.isdir(file):  # noqa: PTH112 (never raises)
            raise UserError(f"{file}: a folder, not a file; move it away, then run again")


def check_targets(workflow: Any) -> None:
    """Raise UserError if the command line names neither a rule nor a file that one makes."""
    if workflow.storage_settings.default_storage_provider:
        return  # and files have other names
    dag, scheduling = workflow.dag_settings, workflow.scheduling_settings
    rules = {rule.name: rule for rule in workflow.rules}
    for target in dag.targets:
        if target in rules and rules[target].has_wildcards():
            pattern = strip_wildcard_constraints(str(rules[target].output[0]))
            raise UserError(f"rule {target} has wildcards; name one of its files: {pattern}")
    first = scheduling.prioritytargets if scheduling else ()  # nothing is scheduled for a report
    named = {*dag.targets, *dag.forcerun, *dag.until, *dag.omit_from, *first}
    for target in sorted(named - rules.keys()):
        file = target if Path(target).is_absolute() else os.path.relpath(target or ".")
        if not any(rule.is_producer(file) for rule in rules.values()):
            raise UserError(f"no rule makes {quoted(target)}{_nearest_target(target, rules)}")


def _nearest_target(target: str, rules: Mapping[str, Any]) -> str:
    plain = [rule for rule in rules.values() if not rule.has_wildcards()]
    files = [file for rule in plain for file in (*rule.output, *rule.input) if isinstance(file, str)]
    known = [*rules, *dict.fromkeys(map(str, files))]
    advice = "`snakemake --summary` lists the files of the target all"
    return suggestion(os.path.relpath(target or "."), known, advice, cutoff=0.8)


def check_report(pages: Iterable[str], runs: Collection[Run]) -> None:
    """Raise UserError if results that a report shows are missing, empty or of another configuration.

    `pages` are the files that it shows in addition to the summary, `runs` those of the configuration.
    """
    summary = SUMMARIES[0]
    if not summary.is_file():
        raise UserError(f"{summary} does not exist; {RUN_FIRST}")
    key = ["problem", "graph", "variant"]
    rows = read_frame(summary, usecols=key, dtype=str, keep_default_na=False)
    listed = set(rows[key].itertuples(index=False, name=None))
    for one in sorted(listed ^ {(run.problem, run.graph, run.variant) for run in runs}):
        problem, graph, variant = one
        what = f"it {'has' if one in listed else 'lacks'} {problem} {variant} on {graph}"
        raise UserError(of_another(what))
    if all(failure_of(f"{run.folder()}/runs.parquet") for run in runs):
        raise UserError(f"a report needs a run of a variant or rival; {VERDICTS[0]} says why there is none")
    for file in map(Path, pages):
        if not file.is_file():
            raise UserError(f"{file} does not exist; {RUN_FIRST}")


def of_another(what: str) -> str:
    """Return the message that results are of another configuration, and what to do."""
    named = "name that one, as in make report CONFIG=my.yaml"
    return f"{SUMMARIES[0]} is of another configuration: {what}; {named}, or {RUN_FIRST}"


def _opens_cuda(job: Any) -> bool:
    if not job.rule.name.startswith(MEASURED):
        return False
    run = job.params.get("run", {})
    return "cuda" in (job.params.get("device"), run.get("device"))


def begin(workflow: Any) -> None:
    """Forget earlier failures, and withdraw what this run will replace."""
    if workflow.touch:
        return
    ERRORS.unlink(missing_ok=True)
    jobs = [job for job in workflow.dag.needrun_jobs() if job.output]
    shown = [job for job in jobs if Path(job.rule.snakefile).name in SHOWN]
    replaced = {Path(file) for job in shown for file in job.output}
    withdraw(filter(Path.is_file, replaced.difference(SUMMARIES)))
    measured = {file for job in jobs for file in JUDGES.get(Path(job.rule.snakefile).name, ())}
    # One that the targets need and Snakemake keeps is up to date.
    withdraw(replaced.intersection(SUMMARIES) | (measured - made(workflow)))


def made(workflow: Any) -> set[Path]:
    """Return the files of the targets of this run and of all that they need, up to date or not."""
    return {Path(file) for job in workflow.dag.jobs for file in job.output}


def files(workflow: Any) -> set[str]:
    """Return the files that this run made or read, or found up to date."""
    return {str(file) for job in workflow.dag.jobs for file in (*job.input, *job.output)}


def failures() -> list[str]:
    """Return the lines of the jobs that failed in this run."""
    return needed(ERRORS.read_text(encoding="utf-8").splitlines()) if ERRORS.is_file() else []


def end(screen: Screen | None, files: Collection[Path]) -> None:
    """Print the lines of failed jobs, then what the verdicts say.

    Lines that the `screen` has shown are not repeated; those between the lines of many jobs are. `files` are
    those that the run was to make: any other verdict belongs to another run.
    """
    lines = failures()
    for line in screen.untold(lines) if screen else lines:
        print(line, file=sys.stderr)
    heads = [
        one.read_text(encoding="utf-8").partition("\n")[0]
        for one in VERDICTS
        if one in files and one.is_file()
    ]
    failed = {*(screen.failed if screen else ()), *(line.partition(": ")[0] for line in lines)}
    if failed and not any(head.startswith("error:") for head in heads):
        heads.append(f"error: {counted(len(failed), 'job')} failed: {', '.join(sorted(failed))}")
    for head in heads:
        print(head, file=sys.stderr)
