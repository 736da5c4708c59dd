"""Pack a finished run into one file: ``relaxometer bundle [SUITE.yaml]``; docs/bundle.md.

Tables over all runs that :mod:`relaxometer.cli.all_runs` has not made are made from the runs.
"""

import argparse
import math
from datetime import UTC, datetime
from pathlib import Path

from relaxometer.core.environment import environment
from relaxometer.plan.load import load_plan
from relaxometer.results.bundle import MOST_VERTICES, pack

FOLDER = Path("bundles")


def file_of(configfiles: list[Path]) -> Path:
    """Return the default name of a bundle: of the suite, the commit and the day."""
    suite = "-".join(path.stem for path in configfiles) or "default"
    day = datetime.now(UTC).strftime("%Y%m%d")
    return FOLDER / f"{suite}-{environment()['commit']}-{day}.zip"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("configfiles", nargs="*", type=Path, help="overlays of config/config.yaml")
    parser.add_argument("--target", type=Path, help="the file to write")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument(
        "--most-vertices", type=int, default=MOST_VERTICES, help="leave out answers on larger graphs"
    )
    parser.add_argument(
        "--most-bytes", type=int, default=math.inf, help="leave out answers that would make the file larger"
    )


def main(given: argparse.Namespace) -> None:
    target = given.target or file_of(given.configfiles)
    limits = {"most_vertices": given.most_vertices, "most_bytes": given.most_bytes}
    sha256 = pack(load_plan(given.configfiles), given.results, target, target.stem, **limits)
    print(f"{target}: {target.stat().st_size / 1e6:,.1f} MB, sha256 {sha256}")
