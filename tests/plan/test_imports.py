"""Every start of Snakemake reads the plan and the records of figures, so these import nothing slow."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SLOW = {"cupy", "duckdb", "llvmlite", "matplotlib", "numba", "scipy", "seaborn"}
"""Each takes 0.1 to 0.5 seconds."""

LOADS_ALL = """
from relaxometer.problems.problem import load_problem, problem_names
from relaxometer.problems.variants import load_solver, solver_names

for problem in problem_names():
    load_problem(problem)
    if problem == "dominators":  # its programs on the CPU are compiled functions in the solver's module
        continue
    for variant in solver_names(problem):
        load_solver(problem, variant)
"""

STARTS = """
from snakemake.cli import main

try:
    main(["--dry-run", "--cores", "1", "--quiet", "--", "all"])
except SystemExit as end:
    assert not end.code
"""


@pytest.mark.parametrize("program", [LOADS_ALL, STARTS], ids=["all variants", "a start of Snakemake"])
def test_planning_loads_no_slow_module(program):
    end = f"\nimport json, sys\nprint(json.dumps(sorted({SLOW!r} & sys.modules.keys())))"
    command = [sys.executable, "-c", program + end]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(run.stdout.splitlines()[-1]) == []
