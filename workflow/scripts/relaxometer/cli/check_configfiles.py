"""Checks the files of the configuration before Snakemake reads them.

Snakemake reads the files of ``--configfile`` before the workflow, and ends with a traceback if one is not
UTF-8. ``profiles/default`` runs this script before that, which says in one line what is wrong and where.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from relaxometer.core.errors import UserError
from relaxometer.core.yaml_files import read_sections

parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
parser.add_argument("--configfile", "--configfiles", nargs="+", type=Path, default=[])
default = Path("config/config.yaml")
try:
    for file in [*([default] if default.exists() else []), *parser.parse_known_args()[0].configfile]:
        read_sections(file)
except UserError as error:
    sys.exit(f"error: {error}")
