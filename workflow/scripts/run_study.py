"""Run one study, which measures something other than single searches, and write its table or JSON."""

from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.graphs.graph import read_graph
from relaxometer.problems.problem import add_folders
from relaxometer.studies.registry import run_study

with job(snakemake, isolated=True):
    # Not a parameter of the rule, since the hash of the code changes with a solver.
    add_folders(snakemake.config.get("kernels", []))
    run_study(
        snakemake.params.study,
        snakemake.params.parameters,
        read_graph(Path(snakemake.input[0]).parent) if snakemake.input else None,
        snakemake.params.device,
        Path(snakemake.output[0]),
    )
