"""Draw figures 4, 5 and 6 of Suzuki et al.: what the phases of the searches on a graph update and take."""

from pathlib import Path

import pandas as pd

from relaxometer.figures import adaptive, style
from relaxometer.gather import gather
from relaxometer.samples import proven_phases
from relaxometer.scripting import job

with job(snakemake):
    folders = [Path(file).parent for file in snakemake.input.phases]
    timings = pd.read_parquet(snakemake.input.timings)
    phases = proven_phases(gather(folders, "phases.parquet").to_pandas(), timings)
    graph = snakemake.wildcards.graph
    style.save(adaptive.updated_per_phase(phases, graph), snakemake.output.per_phase)
    style.save(adaptive.updated_distribution(phases, graph), snakemake.output.distribution)
    style.save(adaptive.phase_times(phases, graph), snakemake.output.times)
