"""Check a bundle: ``python -m relaxometer.cli.verify BUNDLE``; docs/bundle.md says what is checked."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from relaxometer.core.cache import let_numba_write
from relaxometer.core.errors import UserError, escaped, naming_lacks
from relaxometer.results.verify import verify


def main() -> None:
    """Check the bundle that the command line names; the exit code is 1 if anything in it is wrong."""
    parser = argparse.ArgumentParser(prog="python -m relaxometer.cli.verify", description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--results", type=Path, default=Path("results"), help="whose graphs may be used")
    parser.add_argument(
        "--device", choices=("auto", "cuda", "host"), default="auto", help="proves the answers"
    )
    parser.add_argument("--fetch", action="store_true", help="download files that graphs are made from")
    given = parser.parse_args()
    try:
        with naming_lacks():
            let_numba_write()
            said = verify(given.bundle, given.results, given.device, download=given.fetch)
    except UserError as error:
        sys.exit(f"error: {error}")
    print("\n".join(map(escaped, said.lines)))
    for line in said.unchecked:
        print(f"not checked: {escaped(line)}")
    for line in said.wrong:
        print(f"wrong: {escaped(line)}", file=sys.stderr)
    if said.wrong:
        sys.exit(f"error: {given.bundle}: {len(said.wrong)} wrong, {escaped(said.outcome)}")
    print(f"{given.bundle} holds: {escaped(said.outcome)}")


# Child processes of a reader import this module again.
if __name__ == "__main__":
    main()
