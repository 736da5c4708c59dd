"""One start of the workflow: it leaves nothing stale, and a failure costs only what depends on it.

Snakemake goes on after a failed job, but makes nothing that depends on one: without the graph of one dataset
there would be no summary of the others. So the workflow runs a second time, without the measurements that
cannot be made (:func:`prevented`, :func:`finish`). A failed job leaves no file behind, so the next start
tries it again.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from snakemake.io import strip_wildcard_constraints
from snakemake_interface_logger_plugins.common import LogEvent

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.files import read_frame, write_json
from relaxometer.core.screen import Screen, needed
from relaxometer.core.scripting import ERRORS, name_of
from relaxometer.core.validation import nearest
from relaxometer.core.words import counted
from relaxometer.device import cuda
from relaxometer.plan.models import Run

logger = logging.getLogger("snakemake.logging")

PREVENTED = Path("results/prevented.json")
"""The measurements that could not be made in the last run: name of the job to reason."""

SECOND = "second_start"
"""Key of the configuration that tells Snakemake's second start, and its jobs, from the first."""

VERDICTS = tuple(Path("results", name) for name in ("verdict.txt", "distributed_verdict.txt"))
"""Their first lines are the last lines of a run."""

SUMMARIES = (Path("results/summary.csv"), Path("results/distributed.csv"), *VERDICTS)
"""Files that speak of all runs."""

JUDGES = {
    "runs.smk": (SUMMARIES[0], VERDICTS[0]),
    "studies.smk": (VERDICTS[0],),
    "distributed.smk": (SUMMARIES[1], VERDICTS[1]),
}
"""By the file of the rules that measure: the summaries that speak of what they measure."""

MEASURED = ("run_", "repeat_", "measure_")
"""Beginnings of the names of the rules that measure."""

WITHDRAWN = Path("results/.withdrawn")
"""Folder of results that are about to change, until the run has ended."""

RUN_FIRST = "run the workflow with this configuration first: make run"
"""Advice for results that are missing or of another configuration."""

SHOWN = {"gather.smk", "figures.smk", "pages.smk"}
"""The files whose rules make only what can be made again from measurements."""


class AtStart(logging.Filter):
    """Calls a function when Snakemake begins to execute a workflow, before it asks which jobs must run."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__()
        self._call = call

    def filter(self, record: logging.LogRecord) -> bool:
        """Call the function if the record says so, and let every record pass."""
        if getattr(record, "event", None) == LogEvent.WORKFLOW_STARTED:
            self._call()
        return True


class AtFirstRecord(AtStart):
    """Calls it also before the first record of a command that may execute nothing, such as a report."""

    def __init__(self, workflow: Any, call: Callable[[], object]) -> None:
        super().__init__(call)
        self._workflow, self._is_first = workflow, True

    def filter(self, record: logging.LogRecord) -> bool:
        """Call the function if this is such a record, and let every record pass."""
        if self._is_first and self._workflow.dag_settings:
            self._is_first = False
            self._call()
        return super().filter(record)


def withdraw(summaries: Iterable[Path] = SUMMARIES) -> None:
    """Delete summaries that are about to change: none may look current if the run does not finish."""
    for summary in summaries:
        summary.unlink(missing_ok=True)


def _take_away(files: Iterable[Path]) -> None:
    for file in filter(Path.is_file, files):
        _move(file, WITHDRAWN / file)


def _bring_back() -> None:
    """Put back what was taken away and not made anew; Snakemake sees whether it is up to date."""
    for kept in filter(Path.is_file, [*WITHDRAWN.rglob("*")]):
        file = kept.relative_to(WITHDRAWN)
        if not file.exists():
            _move(kept, file)


def _move(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    file.replace(to)


def check_device(workflow: Any, origin: str) -> None:
    """Raise UserError if a job is to use CUDA on this machine, which lacks it.

    Jobs of a cluster run on nodes, which may have GPUs.
    """
    if workflow.touch or not workflow.local_exec or not any(map(_opens_cuda, workflow.dag.needrun_jobs())):
        return
    # An environment that Snakemake makes for the jobs has a CuPy of its own, or none.
    cuda.require(origin, cupy=not workflow.deployment_settings.deployment_method)


def check_places() -> None:
    """Raise UserError if a folder of the workflow is a file or not readable, or a file of it is a folder."""
    for folder in (Path("results"), ERRORS.parent):
        if os.path.lexists(folder) and not os.path.isdir(folder):  # noqa: PTH112 (never raises)
            raise UserError(f"{folder}: not a folder; move it away, then run again")
        if os.path.lexists(folder) and not os.access(folder, os.R_OK | os.X_OK):
            raise UserError(f"{folder}: not readable; give permission, then run again")
    for file in (*SUMMARIES, ERRORS, PREVENTED):
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
            raise UserError(f"no rule makes {quoted(target)}; {_nearest_target(target, rules)}")


def _nearest_target(target: str, rules: Mapping[str, Any]) -> str:
    plain = [rule for rule in rules.values() if not rule.has_wildcards()]
    files = [file for rule in plain for file in (*rule.output, *rule.input) if isinstance(file, str)]
    near = nearest(os.path.relpath(target or "."), [*rules, *dict.fromkeys(map(str, files))], cutoff=0.8)
    return f"did you mean {near!r}?" if near else "`snakemake --summary` lists the files of the target all"


def check_report(pages: Iterable[str], runs: Collection[Run], lost: Iterable[Run] = ()) -> None:
    """Raise UserError if results that a report shows are missing, empty or of another configuration.

    Parameters
    ----------
    pages : iterable of str
        Files that the report shows besides the summary.
    runs : collection of Run
        Those of the configuration.
    lost : iterable of Run
        Those that could not be made; the summary lists them as well.
    """
    summary = SUMMARIES[0]
    if not summary.is_file():
        raise UserError(f"{summary} does not exist; {RUN_FIRST}")
    key = ["problem", "graph", "variant"]
    rows = read_frame(summary, usecols=key, dtype=str, keep_default_na=False)
    listed = set(rows[key].itertuples(index=False, name=None))
    for one in sorted(listed ^ {(run.problem, run.graph, run.variant) for run in (*runs, *lost)}):
        problem, graph, variant = one
        what = f"it {'has' if one in listed else 'lacks'} {problem} {variant} on {graph}"
        raise UserError(of_another(what))
    if not runs:
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


def begin(workflow: Any, *, first: bool) -> None:
    """Withdraw what this start will replace; the first start of a run also forgets earlier failures."""
    if workflow.touch:
        return
    if first:
        shutil.rmtree(WITHDRAWN, ignore_errors=True)
        for file in (ERRORS, PREVENTED):
            file.unlink(missing_ok=True)
    jobs = [job for job in workflow.dag.needrun_jobs() if job.output]
    shown = [job for job in jobs if Path(job.rule.snakefile).name in SHOWN]
    replaced = {Path(file) for job in shown for file in job.output}
    _take_away(replaced.difference(SUMMARIES))
    measured = {file for job in jobs for file in JUDGES.get(Path(job.rule.snakefile).name, ())}
    # One that the targets need and Snakemake keeps is up to date.
    withdraw(replaced.intersection(SUMMARIES) | (measured - made(workflow)))


def made(workflow: Any) -> set[Path]:
    """Return the files of the targets of this start and of all that they need, up to date or not."""
    return {Path(file) for job in workflow.dag.jobs for file in job.output}


def prevented(workflow: Any) -> dict[str, str]:
    """Return the unfinished jobs, by name, with the failure in the way of each.

    Empty if a job is unfinished for another reason: the run was interrupted, or does not keep going.
    """
    lines = ERRORS.read_text(encoding="utf-8").splitlines() if ERRORS.is_file() else []
    said = {line.partition(": ")[0]: line for line in lines}

    @cache
    def cause(job: Any) -> str | None:
        if job in workflow.scheduler.failed:
            return said.get(_name(job), f"{_name(job)}: failed without a message; see {' '.join(job.log)}")
        return next(filter(None, map(cause, workflow.dag.dependencies[job])), None)

    causes = {_name(job): cause(job) for job in workflow.dag.needrun_jobs()}
    return {} if None in causes.values() else {name: str(why) for name, why in causes.items()}


def _name(job: Any) -> str:
    return name_of(job.rule.name, job.wildcards)


def finish(workflow: Any) -> None:
    """Make the summary and the report without the measurements that a failed job prevented."""
    reasons = prevented(workflow)
    if not any(name.startswith(("gather_", "judge_")) for name in reasons):
        return
    try:
        write_json({name: why for name, why in reasons.items() if name.startswith(MEASURED)}, PREVENTED)
        _bring_back()
    except OSError as error:
        print(f"{PREVENTED}: cannot be written: {error.strerror}", file=sys.stderr)
        return
    logger.warning("making the summary and the report without what failed")
    files = [str(file) for file in (workflow.main_snakefile, *workflow.overwrite_configfiles)]
    unfinished = [job for job in workflow.dag.needrun_jobs() if _name(job) in reasons]
    lost = [str(file) for job in unfinished if job.rule.name.startswith(MEASURED) for file in job.output]
    module = "relaxometer.plan.second_start"
    subprocess.run(
        [sys.executable, "-m", module, json.dumps(files), json.dumps(lost), *sys.argv[1:]],
        # What it writes goes where this start writes.
        env={**os.environ, "VERBOSE": "1"},
        check=False,
    )


def end(screen: Screen | None, files: Collection[Path]) -> None:
    """Print the lines of failed jobs, then what the verdicts say.

    Parameters
    ----------
    screen : Screen, optional
        Lines that it has shown are not repeated; those between the lines of many jobs are.
    files : collection of Path
        Files that the run was to make: any other verdict belongs to another run.
    """
    shutil.rmtree(WITHDRAWN, ignore_errors=True)
    if ERRORS.is_file():
        lines = needed(ERRORS.read_text(encoding="utf-8").splitlines())
        for line in screen.untold(lines) if screen else lines:
            print(line, file=sys.stderr)
    heads = [
        one.read_text(encoding="utf-8").partition("\n")[0]
        for one in VERDICTS
        if one in files and one.is_file()
    ]
    if screen and screen.failed and not any(head.startswith("error:") for head in heads):
        heads.append(f"error: {counted(len(screen.failed), 'job')} failed: {', '.join(screen.failed)}")
    for head in heads:
        print(head, file=sys.stderr)
