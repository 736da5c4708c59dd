"""Publish the results of a suite to docs/results/SUITE: ``python -m relaxometer.cli.publish [SUITE]``."""

from __future__ import annotations

import csv
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from relaxometer.core.errors import UserError
from relaxometer.results.published import write_samples

ROOT = Path(__file__).parents[4]
SUITES = ["default", *sorted(path.stem for path in (ROOT / "config/suites").glob("*.yaml"))]

TABLES = ("summary.csv", "claims.csv", "context.json")
FIGURE_KINDS = (".svg", ".png")

EXTRAS = ("device_rates.json", "distributed.csv", "graph500/*.txt", "tables/*/*.csv")
"""Further files that some suites have, as patterns."""

OF_THE_LANDING_PAGE = {
    *("claims.csv", "data.csv", "machine.csv", "table-1.csv"),
    *("ranking.csv", "ranking-emulated.csv", "winners-in-short.csv"),
}
"""Tables whose content is in ``summary.csv``, ``claims.csv`` and the metadata of the graphs."""


def publish(results: Path, target: Path) -> list[Path]:
    """Copy the tables and figures of a finished run, and write its samples.

    Figures of graphs that are not in the run's summary belong to other runs and are left out. The figures and
    tables of an earlier time are removed; other files in `target`, such as the template of its page, stay.

    Parameters
    ----------
    results : Path
        The workflow's ``results`` folder.
    target : Path
        Created if missing.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    UserError
        If the run is not finished.
    """
    for table in (*TABLES, "timings.parquet"):
        if not (results / table).is_file():
            raise UserError(f"{results / table} is not there; run the workflow first: make run")
    graphs = _graphs(results / "summary.csv")
    for folder in ("figures", "tables"):
        shutil.rmtree(target / folder, ignore_errors=True)
    figures = [path.relative_to(results) for path in _figures(results / "figures", graphs)]
    found = [path for pattern in EXTRAS for path in sorted(results.glob(pattern))]
    extras = [path.relative_to(results) for path in found if path.name not in OF_THE_LANDING_PAGE]
    copied = [_copy(results / file, target / file) for file in (*map(Path, TABLES), *extras, *figures)]
    return [*copied, *write_samples(results, target)]


def _graphs(summary: Path) -> set[str]:
    with summary.open(encoding="utf-8", newline="") as lines:
        return {line["graph"] for line in csv.DictReader(lines)}


def _figures(folder: Path, graphs: Iterable[str]) -> Iterator[Path]:
    """Yield the figures of all graphs together, which are in a paper's folder, and those of `graphs`."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in FIGURE_KINDS and (path.parent.parent == folder or path.stem in graphs):
            yield path


def _copy(source: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return target


def main(arguments: list[str]) -> None:
    """Publish the suite that the command line names, or the default run."""
    suite = arguments[0] if arguments else "default"
    if len(arguments) > 1 or suite not in SUITES:
        raise SystemExit(
            f"usage: python -m relaxometer.cli.publish [SUITE]; SUITE is one of {', '.join(SUITES)}"
        )
    try:
        files = publish(Path("results"), ROOT / "docs/results" / suite)
    except UserError as error:
        raise SystemExit(f"error: {error}") from None
    print(f"{len(files)} files in docs/results/{suite}")


if __name__ == "__main__":
    main(sys.argv[1:])
