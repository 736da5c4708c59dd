"""Print what searches cost: ``relaxometer cost BUNDLE``; docs/cost.md.

The table has a line per run. Lines below it count the runs that agree between processes, and those that use
more memory outside the pool once they are loaded.
"""

import argparse
from pathlib import Path

from relaxometer.cli.compare import threshold_of
from relaxometer.core.errors import UserError
from relaxometer.report.figures.cost import cost_table
from relaxometer.report.findings import markdown
from relaxometer.results.cost import agreement, costs
from relaxometer.results.recorded import read_recorded


def text_of(place: Path, share: float) -> str:
    """Return the table of a bundle, results folder or suite in Markdown, and the sentences below it.

    `share` is as :func:`relaxometer.results.cost.agreement` has it. UserError if no energy or memory was
    measured.
    """
    recorded = read_recorded(place)
    rows = costs(recorded.timings, recorded.weight_types)
    if rows.empty:
        raise UserError(f"{place}: no cost was measured on a GPU; see docs/cost.md")
    return "\n".join(
        [markdown(cost_table(recorded.timings, recorded.weight_types)), "", *agreement(rows, share)]
    )


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, help="a bundle, a results folder or a published suite")
    parser.add_argument("--within", default="5%", help="difference that is tolerated, such as 5%%")


def main(given: argparse.Namespace) -> None:
    print(text_of(given.run, threshold_of(given.within)))
