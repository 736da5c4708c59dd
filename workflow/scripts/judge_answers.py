"""Write the verdict on all answers, or fail upon one that names a wrong answer or an error.

The second comes after everything else has been made.
"""

import sys
from pathlib import Path

from relaxometer.core.errors import UserError
from relaxometer.core.files import write_text
from relaxometer.core.scripting import job

with job(snakemake):
    if snakemake.rule == "accept_answers":
        head, *lines = Path(snakemake.input[0]).read_text(encoding="utf-8").splitlines()
        print("\n".join(lines), file=sys.stderr)
        if head.startswith("error:"):
            count = sum(not line.startswith("warning:") for line in lines)
            raise UserError(f"{snakemake.input[0]} names {count} measurements that are not ok")
    else:
        from relaxometer.results.gather import verdict  # loads pandas

        throughput = [Path(file) for file in snakemake.input.throughput]
        contexts = [Path(file) for file in snakemake.input.contexts]
        traffic = [Path(file) for file in snakemake.input.traffic]
        all_pairs = [Path(file) for file in snakemake.input.all_pairs]
        lost = snakemake.params.lost
        text = verdict(Path(snakemake.input.summary), throughput, lost, contexts, traffic, all_pairs)
        write_text(text, Path(snakemake.output[0]))
