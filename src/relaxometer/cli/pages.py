"""Write the pages of docs/results from their data: ``relaxometer pages [SUITE ...]``."""

import argparse

from relaxometer.core.checkout import ROOT
from relaxometer.core.errors import UserError
from relaxometer.report import findings

RESULTS = ROOT / "docs/results"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="of docs/results; by default all")


def main(given: argparse.Namespace) -> None:
    known = findings.suites(RESULTS)
    for suite in given.suites:
        if suite not in known:
            raise UserError(f"no page for the suite {suite!r}; there are {', '.join(known)}")
    for suite in given.suites or known:
        changed = findings.write(RESULTS / suite)
        print(f"docs/results/{suite}/README.md: {'written' if changed else 'unchanged'}")
