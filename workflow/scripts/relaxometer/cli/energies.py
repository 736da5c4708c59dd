"""Evaluate the powers of finished runs again: ``python -m relaxometer.cli.energies results``; docs/cost.md.

A run records the power of each interval beside its energy. After a change of the evaluation, this program
gives runs that were measured before the energies of the present one; then gather and report them again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pyarrow as pa

from relaxometer.core.environment import current_commit
from relaxometer.core.errors import UserError
from relaxometer.core.files import read_json, read_table, write_json, write_table
from relaxometer.core.words import counted
from relaxometer.measure.cost import energies

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
        raise UserError(f"{results}: no run has recorded powers (cost.powers_w in runs/**/context.json)")
    return len(contexts)


def _evaluate(path: Path) -> bool:
    """Write the energies of a process anew, if it recorded powers."""
    context = read_json(path)
    cost = context.get("cost", {})
    if not all(cost.get(name) for name in POWERS):
        return False
    found = energies(*(cost[name] for name in POWERS))
    samples = path.with_name("runs.parquet")
    table = read_table(samples)
    for name, value in found.items():
        column = pa.array([value] * len(table), type=pa.float64())
        table = table.set_column(table.schema.get_field_index(name), name, column)
    write_table(table, samples)
    write_json(context | {"cost": cost | found | {"evaluated_by": current_commit()}}, path)
    return True


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
