"""The checked configuration, and the functions that name what jobs need."""

import atexit
import contextlib
import gc
import logging
import os
import re
import sys
from collections import UserDict, UserString
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import update_config

# Imports and plans leave no garbage, and collecting takes a tenth of the start. Enabled again below.
gc.disable()

ROOT = Path(str(workflow.current_basedir)).parents[1]
if not ROOT.is_dir():
    sys.exit(
        "error: clone the repository; github() as the module's snakefile is not supported"
    )
try:
    import relaxometer
except ImportError:
    sys.exit(
        f"error: relaxometer is not installed; `make -C {ROOT} .venv/ready` does it"
    )
if not (ROOT / "src/relaxometer").samefile(Path(relaxometer.__file__).parent):
    sys.exit(
        f"error: this is the workflow of {ROOT}, but Python imports {Path(relaxometer.__file__).parent}: "
        "activate this checkout's environment (`make run` sets it up) and unset PYTHONPATH"
    )

from relaxometer.core.deferred import defer

# The modules of figures import it; this process draws none.
defer("pandas")

from relaxometer.problems.problem import load_problem, problem_names
from relaxometer.studies import parameters
from relaxometer.studies.registry import STUDIES
from relaxometer.device.cuda import may_be_there
from relaxometer.plan.load import with_types
from relaxometer.plan import session
from relaxometer.plan.models import RivalRun
from relaxometer.plan.plan import Plan
from relaxometer.core import failures, screen, unchanged
from relaxometer.core.cache import let_numba_write
from relaxometer.core.environment import forget_harmful, python_obstacle
from relaxometer.core.errors import UserError, quoted
from relaxometer.core.occupancy import forget_killed_run, occupy
from relaxometer.core.provenance import code_hash, data_hash
from relaxometer.core.scripting import ERRORS, check_folders
from relaxometer.core.validation import NAME, nearest
from relaxometer.core.words import counted
from relaxometer.core.yaml_files import read_sections
from relaxometer.report import catalogue, papers, targets, terminal, variant_pages
from relaxometer.rivals.installation import has_absent, retry_absent

# Before this process changes its variables.
SOURCES = unchanged.Sources()
SOURCES.add(map(str, workflow.configfiles))

if obstacle := python_obstacle():
    sys.exit(f"error: {obstacle}")
# Jobs inherit the environment.
forget_harmful()

# As a module, the outer workflow owns the screen, the command line and the event handlers.
IS_MODULE = not workflow.modifier.is_main_snakefile()
if not IS_MODULE:
    update_config(config, with_types(workflow.config_settings.config))
ON_COMMAND_LINE = ["--config"] if workflow.config_settings.config else []
# Snakemake lists the base configuration last. In ORIGIN, a later file takes precedence over an earlier one.
BASES = [
    file
    for file in workflow.configfiles
    if Path(file) not in map(Path, workflow.overwrite_configfiles)
]
ORIGIN = " + ".join(
    map(str, [*BASES, *workflow.overwrite_configfiles, *ON_COMMAND_LINE])
)
IS_REPORT = (
    any(word.partition("=")[0] == "--report" for word in sys.argv)
    and "--report-after-run" not in sys.argv
)
# A killed run can simply be run again.
if not IS_MODULE and workflow.is_main_process:
    if forget_killed_run():
        print("removed the lock of a run that was killed", file=sys.stderr)
    occupy()


# With --directory Snakemake leaves it again before the last lines of a run are printed.
FOLDER = Path.cwd()


def race():
    """Return the race if its tables were made from this run's summary."""
    summary = session.SUMMARIES[0]
    if summary not in session.made(workflow) or not terminal.tells_of(summary):
        return ""
    lines = terminal.last_lines(workflow.overwrite_configfiles, workflow.main_snakefile)
    return f"{lines}\n"


def finish():
    """Print the race; if nothing is left to do, record that."""
    with contextlib.chdir(FOLDER):
        text = race()
        print(text, end="")
        # The program of a `command` may change.
        if SOURCES.is_done and not any(
            getattr(run, "command", None) for run in PLAN.runs.values()
        ):
            absent = has_absent(Path("results/rivals"), PLAN.rivals)
            SOURCES.record(
                session.files(workflow), text, absent=absent, rivals=PLAN.config.rivals
            )


def end_session():
    """Print the lines of failed jobs and the verdict."""
    with contextlib.chdir(FOLDER):
        session.end(SCREEN, session.made(workflow))


def finish_old():
    """Finish a run that had nothing to do: for such a run Snakemake has no hook."""
    if SCREEN.is_up_to_date:
        SOURCES.is_done = True
        finish()


SCREEN = None
if not IS_MODULE and workflow.is_main_process:
    handlers = workflow.logger_manager.get_log_handlers()
    SCREEN = next((one for one in handlers if isinstance(one, screen.Screen)), None)
if SCREEN:
    atexit.register(finish_old)

try:
    let_numba_write()
    # Of duplicate keys Snakemake silently keeps the last.
    for file in workflow.configfiles:
        read_sections(Path(file))
    PLAN = Plan(
        config,
        ROOT / "resources/datasets.yaml",
        ORIGIN,
        # Nodes of a cluster may have GPUs that this machine lacks, and a job there sees what the others see.
        gpu=workflow.nodes is not None
        or not workflow.is_main_process
        or may_be_there(),
    )
    papers.check(PLAN.config.report.papers, PLAN.origin)
    if workflow.is_main_process:
        SOURCES.add(PLAN.user_files)
        PLAN.check_files()
except UserError as error:
    # A WorkflowError would add where in this file it was raised.
    sys.exit(f"error: {error}")

CHAPTERS = catalogue.chapters(PLAN)
"""The chapters of the report with their numbers."""

# All objects so far are permanent, so the collector need not examine them again.
gc.freeze()
gc.enable()


def graph_files(graph):
    """Return the Parquet files and the metadata of a graph."""
    return multiext(
        f"results/graphs/{graph}/", "vertices.parquet", "arcs.parquet", "graph.json"
    )


DOWNLOADS = {
    file.file_name: (entry, file)
    for entry in reversed(PLAN.datasets.values())
    for file in reversed(entry.files)
    if file.file_name
}
"""By name, every file to download: the first dataset that needs it, and the file's part of that entry."""


def batch_files(batch):
    """Return the Parquet files and the metadata of a batch."""
    return multiext(
        f"results/batches/{batch}/",
        "graphs.parquet",
        "vertices.parquet",
        "arcs.parquet",
        "batch.json",
    )


def pattern_of(names):
    """Return a pattern that matches only these names."""
    return "|".join(names) or "(?!)"


def refuse_target(reason, name="", known=()):
    """End with one line on a mistyped target, which may name the nearest known name."""
    near = nearest(name, list(known))
    hint = f"; did you mean {near!r}?" if near else ""
    if IS_MODULE:
        raise WorkflowError(f"{reason}{hint}")
    # A WorkflowError would add where in this file it was raised.
    sys.exit(f"error: {reason}{hint}")


def dataset_of(name):
    """Return the entry of a dataset; end with one line if a mistyped target names none."""
    if name not in PLAN.datasets:
        refuse_target(f"unknown dataset {quoted(name)}", name, PLAN.datasets)
    return PLAN.datasets[name]


def run_inputs(wildcards):
    """Return the batch, or the graph and its sources or query sets, that a variant runs on."""
    if dataset_of(wildcards.graph).is_batch:
        return {"graph": batch_files(wildcards.graph)}
    inputs = {"graph": graph_files(wildcards.graph)}
    problem = load_problem(wildcards.problem)
    if problem.queries:
        inputs["queries"] = (
            f"results/queries/{wildcards.problem}/{wildcards.graph}.parquet"
        )
    elif problem.has_source:
        inputs["sources"] = f"results/sources/{wildcards.graph}.parquet"
    return inputs


def query_inputs(wildcards):
    """Return the graph that query sets are drawn on, and the files of those that are given."""
    if wildcards.problem not in PLAN.queries:
        refuse_target(f"no query sets are configured for {wildcards.problem!r}")
    dataset_of(wildcards.graph)
    specs = PLAN.queries[wildcards.problem].values()
    files = [spec.file for spec in specs if getattr(spec, "file", None)]
    inputs = {"graph": graph_files(wildcards.graph)}
    return {**inputs, "files": files} if files else inputs


def file_inputs(entry):
    """Return the files that a dataset is made from, given or downloaded, if it is made from any."""
    files = [file.path or f"results/downloads/{file.file_name}" for file in entry.files]
    return {"files": files} if files else {}


def graph_inputs(wildcards):
    """Return the downloads or files of a graph, and the graph that it is extracted from."""
    entry = dataset_of(wildcards.graph)
    inputs = file_inputs(entry)
    if entry.extracted_from:
        inputs["base"] = graph_files(entry.extracted_from)
    return inputs


def drawing_inputs(drawing, graph):
    """Return the inputs of figures and tables; `graph` is empty if they cover all graphs."""
    if graph:
        # An unknown graph has no runs, so its figure would be empty.
        dataset_of(graph)
    return drawing.inputs(PLAN, graph)


def dataset_code(name):
    """Hash the code that makes a graph or a batch, and its own files; its entry is a parameter of the rule."""
    entry = dataset_of(name)
    code = code_hash(
        "datasets.build",
        entry.kind.module.removeprefix("relaxometer."),
        without=(
            "datasets.registry",
            "datasets.formats",
            "datasets.parameters",
            "core.validation",
        ),
    )
    return code + data_hash(entry.paths.values())


def generator_gpus(wildcards):
    """Return 1 for Graph500's generator, unless the configuration asks for no GPU; else 0."""
    entry = dataset_of(wildcards.graph)
    return int(entry.format == "graph500" and PLAN.config.device != "host")


ORDER = {
    (run.problem, run.graph, run.variant, number): priority
    for priority, (run, number) in enumerate(reversed(PLAN.processes), start=1)
}
"""Priority of each timed job, which are done in mirrored order: A B C, then C B A."""

FIRST = len(ORDER) + 1
"""Priority of jobs that timed ones need: a late one would change the order of the timed jobs."""


def priority_of(wildcards):
    """Return the priority of a timed job."""
    keys = (wildcards.get(key) for key in ("problem", "graph", "variant"))
    return ORDER.get((*keys, int(wildcards.get("round", 1))), 1)


def run_of(wildcards):
    """Return the run that a job's wildcards name; end with one line if there is none."""
    key = wildcards.problem, wildcards.graph, wildcards.variant
    if key not in PLAN.runs:
        name = "/".join(key)
        refuse_target(
            f"the configuration has no run {quoted(name)}",
            name,
            map("/".join, PLAN.runs),
        )
    return PLAN.runs[key]


def all_cores(wildcards):
    """Return all cores of this machine; on a cluster, the profile's `cpus_per_task` decides."""
    return workflow.cores if workflow.nodes is None else 1


def cores_of(wildcards):
    """Return all cores for a timed job, so that it runs alone; one where times mean nothing."""
    return all_cores(wildcards) if PLAN.is_timed(run_of(wildcards)) else 1


def gpus_of(wildcards):
    """Return 1 for a timed job, even of a CPU program, since two may not run at once; else 0."""
    return int(PLAN.is_timed(run_of(wildcards)))


def of_run(key):
    """Return a function that returns a parameter of the run that a job's wildcards name."""
    return lambda wildcards: parameters.of_run(PLAN, run_of(wildcards))[key]


def of_queries(key):
    """Return a function that returns a parameter of the query sets that a job's wildcards name."""
    return lambda wildcards: parameters.of_queries(PLAN, wildcards.problem)[key]


RIVAL_NAMES = sorted(
    {run.variant for run in PLAN.runs.values() if isinstance(run, RivalRun)}
)
"""The names that rivals have in this configuration; no variant has one of them."""


def first_round(wildcards):
    """Return the results of a run's first round, which say whether it is worth another."""
    run = run_of(wildcards)
    folder, rounds = run.folder(), PLAN.rounds(run)
    if int(wildcards.round) not in rounds:
        refuse_target(
            f"{folder} has {counted(len(rounds), 'round')}, not {wildcards.round}; "
            "raise timing.rounds in the configuration for more"
        )
    return {"first": [f"{folder}/runs.parquet", f"{folder}/context.json"]}


def judged_studies(wildcards):
    """Return the tables of the configured studies whose rows have a status."""
    return {
        name: expand(study.path, graph=study.graphs(PLAN.config))
        for name, study in STUDIES.items()
        if study.describe
    }


def rival_inputs(wildcards):
    """Return the inputs of a rival's run: those of a variant, and its installation unless a command starts it."""
    run, inputs = run_of(wildcards), run_inputs(wildcards)
    if not run.command:
        inputs["installed"] = f"results/rivals/{run.solver}.json"
    return inputs
