"""Copy what a suite showed from results/ to docs/results/{suite}/: ``export_results.py SUITE``."""

import sys
from pathlib import Path

from relaxometer.cli.export import export_results
from relaxometer.core.errors import UserError

ROOT = Path(__file__).parents[2]
SUITES = ["default", *sorted(path.stem for path in (ROOT / "config/suites").glob("*.yaml"))]


def main(arguments: list[str]) -> None:
    """Export the suite that the command line names, the default run if it names none."""
    suite = arguments[0] if arguments else "default"
    if len(arguments) > 1 or suite not in SUITES:
        raise SystemExit(f"usage: export_results.py [SUITE], with SUITE one of {', '.join(SUITES)}")
    try:
        files = export_results(Path("results"), ROOT / "docs/results" / suite)
    except UserError as error:
        raise SystemExit(f"error: {error}") from None
    print(f"{len(files)} files in docs/results/{suite}")


if __name__ == "__main__":
    main(sys.argv[1:])
