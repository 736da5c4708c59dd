"""Check a bundle: ``relaxometer verify BUNDLE``; docs/bundle.md says what is checked."""

import argparse
import sys
from pathlib import Path

from relaxometer.core.cache import let_numba_write
from relaxometer.core.errors import UserError, escaped
from relaxometer.results.verify import verify


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path)
    parser.add_argument(
        "--results", type=Path, default=Path("results"), help="folder of results whose graphs may be used"
    )
    parser.add_argument(
        "--device", choices=("auto", "cuda", "host"), default="auto", help="device that proves the answers"
    )
    parser.add_argument("--fetch", action="store_true", help="download the source files of graphs")


def main(given: argparse.Namespace) -> None:
    """Check a bundle; UserError if anything in it is wrong."""
    let_numba_write()
    said = verify(given.bundle, given.results, given.device, download=given.fetch)
    print("\n".join(map(escaped, said.lines)))
    for line in said.unchecked:
        print(f"not checked: {escaped(line)}")
    for line in said.wrong:
        print(f"wrong: {escaped(line)}", file=sys.stderr)
    if said.wrong:
        raise UserError(f"{given.bundle}: {len(said.wrong)} wrong, {escaped(said.outcome)}")
    print(f"{given.bundle} holds: {escaped(said.outcome)}")
