"""The checked configuration, and the functions that name what jobs need."""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

ROOT = Path(str(workflow.current_basedir)).parents[1]
sys.path.insert(0, str(ROOT / "workflow/scripts"))

from relaxometer.config import Plan
from relaxometer.datasets.registry import FORMATS
from relaxometer.errors import UserError
from relaxometer.provenance import code_hash
from relaxometer.scripting import ERRORS

try:
    PLAN = Plan(
        config,
        ROOT / "resources/datasets.yaml",
        " + ".join(map(str, workflow.configfiles)),
    )
except UserError as error:
    raise WorkflowError(str(error)) from None


def graph_files(graph):
    """The Parquet files and the metadata of a graph."""
    return multiext(
        f"results/graphs/{graph}/", "vertices.parquet", "arcs.parquet", "graph.json"
    )


def dataset_of_file(file):
    """The dataset that is downloaded as `file`."""
    return next(entry for entry in PLAN.datasets.values() if entry.file_name == file)


def file_input(entry):
    """The file that a dataset is made from, given or downloaded, if it is made from one."""
    if entry.path:
        return {"file": entry.path}
    if entry.file_name:
        return {"file": f"results/downloads/{entry.file_name}"}
    return {}


def graph_inputs(wildcards):
    """What a graph is made from: its download or file, and the graph that it is extracted from."""
    entry = PLAN.datasets[wildcards.graph]
    inputs = file_input(entry)
    if entry.extracted_from:
        inputs["base"] = graph_files(entry.extracted_from)
    return inputs


def batch_inputs(wildcards):
    """What a batch is made from: its download or file."""
    return file_input(PLAN.datasets[wildcards.batch])


def dataset_code(name):
    """Hash of what makes a graph or a batch. The registry says what entries look like; the entry itself is a parameter."""
    entry = PLAN.datasets[name]
    reader, _ = FORMATS[entry.format].reader
    return code_hash(
        "datasets.build_batch" if entry.is_batch else "datasets.build",
        f"datasets.{reader}",
        without=("datasets.registry", "validation"),
    )


def sssp_run(wildcards):
    """The run that a job's wildcards name."""
    return PLAN.runs["sssp", wildcards.graph, wildcards.variant]
