"""Evaluate recorded powers again: ``python -m relaxometer.cli.energies results``; docs/cost.md.

A run records the power of each interval. After the evaluation has changed, this program replaces the energies
of finished runs. Then gather them: ``snakemake --configfile SUITE.yaml --rerun-triggers mtime -- all``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from relaxometer.core.environment import current_commit
from relaxometer.core.errors import UserError
from relaxometer.core.files import read_json, read_table, reading, write_json, write_table
from relaxometer.core.words import counted
from relaxometer.race.cost import energies

POWERS = ("powers_w", "searches_s", "idle_powers_w")
"""What the context of a run has for each repeat."""


def evaluate(results: Path) -> int:
    """Write the energies of all runs in a results folder anew; return the number of their processes.

    Raises
    ------
    UserError
        If no run has recorded powers, or a file is damaged.
    """
    contexts = [path for path in sorted(results.glob("runs/**/context.json")) if _evaluate(path)]
    if not contexts:
        raise UserError(
            f"{results}: no run with recorded powers; expected a results folder with cost.powers_w in "
            "runs/**/context.json"
        )
    return len(contexts)


def _evaluate(path: Path) -> bool:
    """Write the energies of a process anew, if it recorded powers."""
    context = read_json(path)
    cost = context.get("cost")
    if not isinstance(cost, dict) or not all(cost.get(name) for name in POWERS):
        return False
    with reading(path, "powers of repeats"):
        powers, searches, idle = (_numbers(cost, name) for name in POWERS)
        if not len(powers) == len(searches) == len(idle) - 1:
            raise ValueError(f"{len(powers)} powers, {len(searches)} times and {len(idle)} idle powers")
    found = energies(powers, searches, idle)
    samples = path.with_name("runs.parquet")
    table = read_table(samples)
    if missing := sorted(found.keys() - set(table.column_names)):
        raise UserError(f"{samples}: no column {', '.join(missing)}; measure the run again")
    for name, value in found.items():
        column = pa.array([value] * len(table), type=pa.float64())
        table = table.set_column(table.schema.get_field_index(name), name, column)
    write_table(table, samples)
    write_json(context | {"cost": cost | found | {"evaluated_by": current_commit()}}, path)
    return True


def _numbers(cost: dict[str, Any], name: str) -> list[float]:
    found = cost[name]
    if not isinstance(found, list) or not all(isinstance(one, int | float) for one in found):
        raise ValueError(f"{name} must be a list of numbers")
    return found


def main() -> None:
    """Evaluate the runs of the folder that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m relaxometer.cli.energies", description=__doc__)
    parser.add_argument("results", type=Path, help="a results folder")
    given = parser.parse_args()
    try:
        print(f"evaluated the powers of {counted(evaluate(given.results), 'process', 'processes')}")
    except UserError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
