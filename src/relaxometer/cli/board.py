"""Merge bundles of several machines: ``relaxometer board A.zip B.zip``; docs/bundle.md."""

import argparse
import shutil
from pathlib import Path

from relaxometer.core.files import write_csv, write_text
from relaxometer.report.board import page, readme
from relaxometer.results.board import board
from relaxometer.results.bundle_file import read
from relaxometer.results.recorded import read_recorded


def write(bundles: list[Path], target: Path, *, keep: bool = False) -> list[Path]:
    """Write ``index.html`` and ``board.csv`` of bundles, or folders of results, by name; return all paths.

    Nothing is written if one is refused. With `keep`, the bundles and a ``README.md`` about them are put
    there, too. UserError if one has no searches, two have one name, or graphs of one name differ; with
    `keep`, if one is not a bundle.
    """
    bundles = sorted(bundles, key=lambda bundle: (bundle.name, bundle))
    runs = [read_recorded(bundle) for bundle in bundles]
    merged = board(runs)
    texts = {"index.html": page(merged)}
    copies = {}
    if keep:
        # The board has refused two of one name.
        copies = {target / f"{bundle.stem}.zip": bundle for bundle in bundles}
        hashes = [read(bundle).sha256 for bundle in bundles]
        texts["README.md"] = readme(runs, hashes, target.as_posix())
    for name, text in texts.items():
        write_text(text, target / name)
    write_csv(merged, target / "board.csv")
    for copy, bundle in copies.items():
        if not (copy.is_file() and copy.samefile(bundle)):
            shutil.copyfile(bundle, copy)
    return [*(target / name for name in texts), target / "board.csv", *copies]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundles", nargs="*", type=Path, help="bundles, or folders of results")
    parser.add_argument("--target", type=Path, default=Path("results/board"))
    parser.add_argument(
        "--keep", action="store_true", help="put the bundles and a README.md next to the board"
    )


def main(given: argparse.Namespace) -> None:
    print("\n".join(map(str, write(given.bundles, given.target, keep=given.keep))))
