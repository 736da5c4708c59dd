"""Publish the results of a suite to docs/results/SUITE: ``relaxometer publish [SUITE]``."""

import argparse
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from copy import copy
from fnmatch import fnmatchcase
from pathlib import Path

from relaxometer.core.checkout import ROOT
from relaxometer.core.errors import UserError
from relaxometer.core.files import read_frame, read_table
from relaxometer.core.words import counted
from relaxometer.plan.load import load_plan
from relaxometer.plan.plan import Plan
from relaxometer.report.catalogue import exhibits, targets
from relaxometer.results.bundle import pack
from relaxometer.results.published import BUNDLE, RANK_SAMPLES, SAMPLES, check_suite, write_samples
from relaxometer.results.recorded import read_context
from relaxometer.results.verify import differences

SUITES = ["default", *sorted(path.stem for path in (ROOT / "config/suites").glob("*.yaml"))]

TABLES = ("summary.csv", "claims.csv", "context.json")
FIGURE_KINDS = (".svg", ".png")

MOST_BYTES = 1_000_000
"""First answers that would make a published bundle larger are left out of it."""

EXTRAS = ("device_rates.json", "distributed.csv", "graph500/*.txt", "tables/*/*.csv")
"""Further files that some suites have, as patterns."""

OF_THE_LANDING_PAGE = {
    *("claims.csv", "data.csv", "machine.csv", "table-1.csv"),
    *("ranking.csv", "ranking-emulated.csv", "winners-in-short.csv"),
}
"""Tables whose content is in ``summary.csv``, ``claims.csv`` and the metadata of the graphs."""


def publish(plan: Plan, results: Path, target: Path, made: Path | None = None) -> tuple[list[Path], str]:
    """Replace a published suite; return the files written, and what :func:`add_bundle` says.

    All of it is made and checked in a temporary folder first, so that an error leaves `target` as it was.
    UserError if the run is not finished or of another suite, or :func:`add_bundle` refuses its bundle.
    """
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder) / target.name
        read_context(results)
        stage(results, staged)
        leave_out_others(plan, staged)
        check_suite(plan, staged)
        said = add_bundle(plan, results, staged, made)
        return replace(staged, target), said


def replace(staged: Path, target: Path) -> list[Path]:
    """Replace what an earlier run published of a suite; return the files written.

    Other files in `target`, such as the template of its page, stay.
    """
    for folder in ("figures", "tables"):
        shutil.rmtree(target / folder, ignore_errors=True)
    for pattern in (*EXTRAS, SAMPLES, RANK_SAMPLES, BUNDLE):
        for file in target.glob(pattern):
            file.unlink()
    files = sorted(path for path in staged.rglob("*") if path.is_file())
    return [_copy(file, target / file.relative_to(staged)) for file in files]


def stage(results: Path, target: Path) -> list[Path]:
    """Copy the tables and figures of a finished run, and write its samples; return the files written.

    Figures of graphs that are not in the run's summary belong to other runs and are left out. UserError if
    the run is not finished.
    """
    for table in (*TABLES, "timings.parquet"):
        if not (results / table).is_file():
            raise UserError(f"{results / table} is not there; run the workflow first: make run")
    graphs = set(read_frame(results / "summary.csv", usecols=["graph"], dtype=str)["graph"])
    figures = [path.relative_to(results) for path in _figures(results / "figures", graphs)]
    found = [path for pattern in EXTRAS for path in sorted(results.glob(pattern))]
    extras = [path.relative_to(results) for path in found if path.name not in OF_THE_LANDING_PAGE]
    copied = [_copy(results / file, target / file) for file in (*map(Path, TABLES), *extras, *figures)]
    return [*copied, *write_samples(results, target)]


def leave_out_others(plan: Plan, staged: Path) -> None:
    """Delete figures and tables that a plan does not want: runs of other suites left them."""
    there = copy(plan)
    # Figures that need a GPU are wanted if the machine that measured had one, whatever this one has.
    there.emulates = False
    wanted = {*targets(there)}
    outputs = [output.path for exhibit in exhibits().values() for output in exhibit.outputs().values()]
    made = [path.replace("{graph}", "*") for path in outputs]
    for file in [path for path in staged.rglob("*") if path.is_file()]:
        path = f"results/{file.relative_to(staged)}"
        if path not in wanted and any(fnmatchcase(path, pattern) for pattern in made):
            file.unlink()


def _figures(folder: Path, graphs: Iterable[str]) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in FIGURE_KINDS and (path.parent.parent == folder or path.stem in graphs):
            yield path


def _copy(source: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return target


def add_bundle(plan: Plan, results: Path, target: Path, made: Path | None = None) -> str:
    """Add a bundle to a published suite; return its name, or why it has none.

    It is `made`, a bundle of the same run, such as one with answers from the machine that measured; by
    default one of at most `MOST_BYTES` is made from `results`. UserError if `made` is damaged, too large or
    of another run, or `results` are of another configuration.
    """
    bundle = target / BUNDLE
    if not len(read_table(target / SAMPLES)):
        return "no bundle: searches over several ranks are not in one"
    if made is None:
        pack(plan, results, bundle, target.name, most_bytes=MOST_BYTES)
        if (size := bundle.stat().st_size) > MOST_BYTES:
            bundle.unlink()
            return f"no bundle: it would have {size:,} bytes, more than {MOST_BYTES:,}"
        return BUNDLE
    if wrong := differences(made, target):
        raise UserError(f"{made}: {wrong[0]}; pack the run that is published")
    if made.stat().st_size > MOST_BYTES:
        raise UserError(f"{made}: more than {MOST_BYTES:,} bytes; pack it with --most-bytes {MOST_BYTES}")
    _copy(made, bundle)
    return BUNDLE


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("suite", nargs="?", default="default", choices=SUITES, metavar="SUITE")
    parser.add_argument(
        "--bundle", type=Path, help="bundle of this run, packed where it was measured; by default packed here"
    )


def main(given: argparse.Namespace) -> None:
    overlays = [] if given.suite == "default" else [ROOT / f"config/suites/{given.suite}.yaml"]
    target = ROOT / "docs/results" / given.suite
    files, bundle = publish(load_plan(overlays), Path("results"), target, given.bundle)
    print(f"{counted(len(files), 'file')} in docs/results/{given.suite}, and {bundle}")
