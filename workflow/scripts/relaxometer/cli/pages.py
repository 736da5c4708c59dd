"""Write the pages of docs/results from their data: ``python -m relaxometer.cli.pages [SUITE ...]``."""

from __future__ import annotations

import sys
from pathlib import Path

from relaxometer.core.errors import UserError
from relaxometer.report import findings

RESULTS = Path(__file__).parents[4] / "docs/results"


def main(arguments: list[str]) -> None:
    """Write the pages of the suites that the command line names, or of all."""
    known = findings.suites(RESULTS)
    for suite in arguments:
        if suite not in known:
            raise SystemExit(f"error: no page for the suite {suite!r}; there are {', '.join(known)}")
    for suite in arguments or known:
        try:
            changed = findings.write(RESULTS / suite)
        except UserError as error:
            raise SystemExit(f"error: {error}") from None
        print(f"docs/results/{suite}/README.md: {'written' if changed else 'unchanged'}")


if __name__ == "__main__":
    main(sys.argv[1:])
