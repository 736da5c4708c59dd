"""Draw the direction and the time of each level of the searches on a graph."""

from pathlib import Path

import pandas as pd

from relaxometer.figures import hybrid_bfs, style
from relaxometer.gather import gather
from relaxometer.samples import proven
from relaxometer.scripting import job

with job(snakemake):
    folders = [Path(file).parent for file in snakemake.input.phases]
    timings = pd.read_parquet(snakemake.input.timings)
    phases = proven(gather(folders, "phases.parquet").to_pandas(), timings)
    style.save(hybrid_bfs.level_times(phases, snakemake.wildcards.graph), snakemake.output[0])
