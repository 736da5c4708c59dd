"""Draw the direction and the time of each level of the searches on a graph."""

from pathlib import Path

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import hybrid_bfs
from relaxometer.results.gather import gather
from relaxometer.results.samples import proven

with job(snakemake):
    folders = [Path(file).parent for file in snakemake.input.phases]
    timings = pd.read_parquet(snakemake.input.timings)
    phases = proven(gather(folders, "phases.parquet").to_pandas(), timings)
    style.save(hybrid_bfs.level_times(phases, snakemake.wildcards.graph), snakemake.output[0])
