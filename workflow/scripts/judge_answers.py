"""Write the verdict on all answers; as the job `accept_answers`, fail if it names a wrong answer or an error.

The second job runs after everything else has been made.
"""

import sys
from itertools import chain
from pathlib import Path

from relaxometer.core.errors import UserError
from relaxometer.core.failures import failure_of, made
from relaxometer.core.files import write_text
from relaxometer.core.scripting import job

with job(snakemake):
    if summary := snakemake.input.get("summary"):
        from relaxometer.problems.problem import add_folders
        from relaxometer.results.verdict import verdict  # loads pandas
        from relaxometer.studies.registry import STUDIES

        add_folders(snakemake.config.get("kernels", []))
        contexts = snakemake.input.contexts
        studies = {name: files for name, files in snakemake.input.items() if name in STUDIES}
        tables = {name: [Path(file) for file in made(files)] for name, files in studies.items()}
        lost = {
            "a study": filter(None, map(failure_of, chain.from_iterable(studies.values()))),
            "a further round": [why for file in contexts if "/rounds/" in file and (why := failure_of(file))],
        }
        text = verdict(Path(summary), tables, lost, [Path(file) for file in made(contexts)])
        write_text(text, Path(snakemake.output[0]))
    else:
        head, *lines = Path(snakemake.input[0]).read_text(encoding="utf-8").splitlines()
        print("\n".join(lines), file=sys.stderr)
        if head.startswith("error:"):
            count = sum(not line.startswith(("note:", "warning:")) for line in lines)
            what = "1 measurement that is" if count == 1 else f"{count} measurements that are"
            raise UserError(f"{snakemake.input[0]} names {what} not ok")
