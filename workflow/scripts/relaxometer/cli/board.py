"""Merge bundles of several machines: ``python -m relaxometer.cli.board A.zip B.zip``; docs/bundle.md."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from relaxometer.core.errors import UserError
from relaxometer.core.files import write_csv, write_text
from relaxometer.report.board import latex, page, readme
from relaxometer.results.board import board
from relaxometer.results.bundle_file import read
from relaxometer.results.recorded import read_recorded


def write(bundles: list[Path], target: Path) -> list[Path]:
    """Write ``index.html``, ``board.tex`` and ``board.csv``; return their paths."""
    merged = board([read_recorded(bundle) for bundle in bundles])
    files = [target / name for name in ("index.html", "board.tex", "board.csv")]
    write_text(page(merged), files[0])
    write_text(latex(merged), files[1])
    write_csv(merged, files[2])
    return files


def keep(bundles: list[Path], target: Path) -> list[Path]:
    """Put the bundles and a ``README.md`` about them next to their board; return the paths.

    Raises
    ------
    UserError
        If one is not a bundle.
    """
    hashes = [read(bundle).sha256 for bundle in bundles]
    kept = [target / bundle.name for bundle in bundles]
    for bundle, copy in zip(bundles, kept, strict=True):
        if not (copy.is_file() and copy.samefile(bundle)):
            shutil.copyfile(bundle, copy)
    write_text(readme([read_recorded(bundle) for bundle in kept], hashes), target / "README.md")
    return [*kept, target / "README.md"]


def main() -> None:
    """Merge the bundles that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m relaxometer.cli.board", description=__doc__)
    parser.add_argument("bundles", nargs="*", type=Path, help="bundles, or folders of results")
    parser.add_argument("--target", type=Path, default=Path("results/board"))
    parser.add_argument(
        "--keep", action="store_true", help="put the bundles and a README.md next to the board"
    )
    given = parser.parse_args()
    try:
        files = write(given.bundles, given.target)
        if given.keep:
            files += keep(given.bundles, given.target)
    except UserError as error:
        sys.exit(f"error: {error}")
    print("\n".join(map(str, files)))


if __name__ == "__main__":
    main()
