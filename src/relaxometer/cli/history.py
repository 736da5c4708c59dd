"""Times over commits from the bundles in a folder: ``relaxometer history FOLDER``."""

from __future__ import annotations

import argparse
from pathlib import Path

from relaxometer.core.errors import UserError
from relaxometer.core.files import write_csv
from relaxometer.report.figures import style
from relaxometer.report.figures.history import times_over_commits
from relaxometer.results.history import history, over_commits
from relaxometer.results.recorded import read_recorded


def write(folder: Path, target: Path) -> list[Path]:
    """Write ``history.csv``, ``commits.csv`` and ``history.svg``; return their paths."""
    if not folder.is_dir():
        raise UserError(f"{folder}: not a folder; put bundles (make bundle) into one")
    bundles = sorted(folder.glob("*.zip"))
    if not bundles:
        raise UserError(f"{folder}: contains no bundle; put some there: make bundle")
    lines = history([read_recorded(bundle) for bundle in bundles])
    files = [target / name for name in ("history.csv", "commits.csv", "history.svg")]
    write_csv(lines, files[0])
    write_csv(over_commits(lines), files[1])
    style.save(times_over_commits(lines), files[2])
    return files


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="with a bundle for each commit")
    parser.add_argument("--target", type=Path, default=Path("results/history"))


def main(given: argparse.Namespace) -> None:
    print("\n".join(map(str, write(given.folder, given.target))))
