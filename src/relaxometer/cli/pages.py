"""Write the pages of docs/results from their data: ``python -m relaxometer.cli.pages [SUITE ...]``."""

from __future__ import annotations

import argparse

from relaxometer.core.checkout import ROOT
from relaxometer.core.errors import UserError
from relaxometer.report import findings

RESULTS = ROOT / "docs/results"


def main(arguments: list[str] | None = None) -> None:
    """Write the pages of the suites that the command line names, or of all."""
    parser = argparse.ArgumentParser(prog="python -m relaxometer.cli.pages", description=__doc__)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="of docs/results; by default all")
    given = parser.parse_args(arguments)
    known = findings.suites(RESULTS)
    for suite in given.suites:
        if suite not in known:
            raise SystemExit(f"error: no page for the suite {suite!r}; there are {', '.join(known)}")
    for suite in given.suites or known:
        try:
            changed = findings.write(RESULTS / suite)
        except UserError as error:
            raise SystemExit(f"error: {error}") from None
        print(f"docs/results/{suite}/README.md: {'written' if changed else 'unchanged'}")


if __name__ == "__main__":
    main()
