"""Fail, after everything else has been made, if a verdict names a wrong answer or an error."""

import sys
from pathlib import Path

from relaxometer.core.errors import UserError
from relaxometer.core.scripting import job

with job(snakemake):
    head, *lines = Path(snakemake.input[0]).read_text(encoding="utf-8").splitlines()
    print("\n".join(lines), file=sys.stderr)
    if head.startswith("error:"):
        raise UserError(f"{snakemake.input[0]} names {len(lines)} measurements that are not ok")
