"""Checks the command line and the files that it names before Snakemake does.

Snakemake reads the files of ``--configfile`` before the workflow. It ends with a traceback if one is not
UTF-8, if ``--config`` is not a key with its value, or if it cannot write its cache, and does not say which
file has no keys. ``profiles/default`` runs this script before that, which says in one line what is wrong and
where.
"""

import argparse
import os
import re
import sys
from pathlib import Path

from snakemake.common import get_appdirs

from relaxometer.core.errors import UserError, quoted
from relaxometer.core.yaml_files import read_sections, read_yaml

BASE = Path("config/config.yaml")


def check_file(file: Path, given: list[Path]) -> None:
    """Refuse a file that cannot be read or has no keys; `given` are those of the command line."""
    if file in given[1:] and not file.suffix and not file.exists():
        raise UserError(f"--configfile: {quoted(file)} is not a file; if it is a target, write it after --")
    if not read_sections(file) and read_yaml(file) is None:
        raise UserError(f"{file}: has no keys; leave it out, or write {{}} to change nothing")


def check_value(entry: str) -> None:
    """Refuse an entry of ``--config`` that is not a key of the configuration with its value."""
    key, equals, value = entry.partition("=")
    if equals and re.fullmatch(r"[a-zA-Z_][\w-]*\w", key):
        return
    section, dot, inner = key.partition(".")
    if not (equals and dot):
        raise UserError(f"--config: {quoted(entry)} is not key=value")
    inside = f"{inner.replace('.', ': {')}: {value}{'}' * inner.count('.')}"
    raise UserError(f"--config: {quoted(key)}: keys have no dots here; write '{section}={{{inside}}}'")


def check_cache() -> None:
    """Refuse a home folder in which Snakemake cannot make its cache."""
    folder = Path(get_appdirs().user_cache_dir)
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise UserError(f"{folder}: cannot be written; set XDG_CACHE_HOME to a folder that can")


parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
parser.add_argument("--configfile", "--configfiles", nargs="+", type=Path, default=[])
parser.add_argument("-C", "--config", nargs="*", action="extend", default=[])
arguments = parser.parse_known_args()[0]
try:
    for one in [*([BASE] if BASE.exists() else []), *arguments.configfile]:
        check_file(one, arguments.configfile)
    for entry in arguments.config:
        check_value(entry)
    check_cache()
except UserError as error:
    sys.exit(f"error: {error}")
