"""Starts Snakemake as ``make run`` and ``make report`` do."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from relaxometer.core.checkout import refuse_other_package
from relaxometer.core.errors import UserError, quoted


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "config", nargs="?", help="a suite of config/suites, or a file: an overlay of config/config.yaml"
    )


def start(config: str | None, cores: str, *arguments: str) -> NoReturn:
    """Become Snakemake in the root of the checkout around the current folder.

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
    os.execv(command[0], command)


def _file(config: str, root: Path) -> str:
    suites = root / "config/suites"
    for file in (suites / f"{config}.yaml", Path(config)):
        if file.is_file():
            return os.path.relpath(file, root)
    known = ", ".join(sorted(path.stem for path in suites.glob("*.yaml")))
    raise UserError(f"{quoted(config)} is neither a file nor a suite; known suites: {known}")
