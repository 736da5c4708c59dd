"""Start the workflow again without what failed; :func:`relaxometer.plan.session.finish` calls this.

``python -m relaxometer.plan.second_start '["Snakefile", "overlay.yaml"]' '["results/..."]' ARGUMENTS`` takes
the Snakefile and the configuration files, the outputs of skipped measurements, which are removed from the
targets, and the arguments of the first start.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from snakemake.cli import args_to_api, parse_args
from snakemake.exceptions import print_exception

from relaxometer.plan.session import SECOND


def main() -> None:
    """Run Snakemake; nothing is forced again, and the lock is that of the first start."""
    try:
        parser, arguments = parse_args(sys.argv[3:])
        lost = set(json.loads(sys.argv[2]))
        arguments.targets = [one for one in arguments.targets if os.path.relpath(one) not in lost]
        # The working directory is that of the first start, to which relative names no longer apply.
        snakefile, *configfiles = map(Path, json.loads(sys.argv[1]))
        vars(arguments).update(snakefile=snakefile, configfile=configfiles, directory=None)
        vars(arguments).update(nolock=True, force=False, forceall=False, forcerun=set())
        arguments.config = [*(arguments.config or []), f"{SECOND}=True"]
        sys.exit(not args_to_api(arguments, parser))
    except Exception as error:
        print_exception(error)
        sys.exit(1)


if __name__ == "__main__":
    main()
