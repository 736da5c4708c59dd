"""Compare a run with an earlier one: ``relaxometer compare BASE [NOW]``.

docs/compare.md explains it. The exit code is 0 if nothing became slower, 3 if something did or
fails now, and 1 after a mistake.
"""

import argparse
from pathlib import Path

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.files import write_csv, write_text
from relaxometer.report import compared
from relaxometer.results.compare import THRESHOLD, compare
from relaxometer.results.recorded import read_recorded

REGRESSION = 3

TARGET = Path("results/compare")


def threshold_of(text: str) -> float:
    """Return a share of the time from ``5%`` or ``0.05``; UserError if it is neither."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    # Whoever writes 5 means 5%, not 500%, which would hide almost every regression.
    if not 0 <= value < (10 if text.endswith("%") else 1):
        raise UserError(f"threshold {quoted(text)}: expected a share of the time, such as 5% or 0.05")
    return value


def run(base: Path, now: Path, threshold: float, target: Path) -> int:
    """Compare, print, and write ``comparison.csv`` and ``comparison.md``; return the exit code."""
    found = compare(read_recorded(base), read_recorded(now), threshold)
    write_csv(found.lines, target / "comparison.csv")
    write_text(compared.markdown(found), target / "comparison.md")
    print(compared.terminal(found))
    print(f"For a pull request: {target / 'comparison.md'}")
    return REGRESSION if len(found.regressions) else 0


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("base", type=Path, help="a bundle, a results folder or a published suite")
    parser.add_argument(
        "now", type=Path, nargs="?", default=Path("results"), help="the same; by default results"
    )
    parser.add_argument("--threshold", default=f"{THRESHOLD:.0%}", help="slowdown that counts, such as 5%%")
    parser.add_argument("--target", type=Path, default=TARGET, help="folder of the tables that are written")


def main(given: argparse.Namespace) -> int:
    return run(given.base, given.now, threshold_of(given.threshold), given.target)
