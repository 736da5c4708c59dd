"""Starts Snakemake as ``make run`` and ``make report`` do."""

import argparse
import os
import sys
from pathlib import Path

from relaxometer.core.checkout import refuse_other_package
from relaxometer.core.environment import is_verbose
from relaxometer.core.errors import UserError, quoted
from relaxometer.core.unchanged import UP_TO_DATE, is_unchanged, recorded


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "config", nargs="?", help="a suite of config/suites, or a file: an overlay of config/config.yaml"
    )


def start(config: str | None, cores: str, *arguments: str) -> None:
    """Become Snakemake in the root of the checkout around the current folder, unless it has nothing to do.

    UserError outside a checkout, or for a configuration that is neither a suite nor a file.
    """
    here = Path.cwd()
    root = next((one for one in (here, *here.parents) if (one / "config/config.yaml").is_file()), None)
    if root is None or not (root / "Snakefile").is_file():
        raise UserError(f"{here} is not inside a checkout of Relaxometer, which holds the workflow; clone it")
    refuse_other_package(root)
    overlay = ["--configfile", _file(config, root)] if config else []
    os.chdir(root)
    command = [sys.executable, "-m", "snakemake", "--cores", cores, *overlay, *arguments]
    if not _has_shown_old(command[3:]):
        os.execv(command[0], command)


def _has_shown_old(arguments: list[str]) -> bool:
    """Return whether nothing is left to do since the last run, after showing what that run showed."""
    record = recorded(arguments)
    if not record or is_verbose():
        return False
    if record["absent"]:
        from relaxometer.rivals.definition import find_rivals
        from relaxometer.rivals.installation import retry_absent

        # A new state is written to a file that the record knows.
        retry_absent(Path("results/rivals"), find_rivals(record["rivals"]))
    if not is_unchanged(record):
        return False
    print(UP_TO_DATE, file=sys.stderr)
    print(record["text"], end="")
    return True


def _file(config: str, root: Path) -> str:
    suites = root / "config/suites"
    for file in (suites / f"{config}.yaml", Path(config)):
        if file.is_file():
            return os.path.relpath(file, root)
    known = ", ".join(sorted(path.stem for path in suites.glob("*.yaml")))
    raise UserError(f"{quoted(config)} is neither a file nor a suite; known suites: {known}")
