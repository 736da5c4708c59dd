"""Draw figures 4, 5 and 6 of Suzuki et al.: what the phases of the searches on a graph update and take."""

from pathlib import Path

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import adaptive
from relaxometer.results.gather import gather
from relaxometer.results.samples import proven_phases

with job(snakemake):
    folders = [Path(file).parent for file in snakemake.input.phases]
    timings = pd.read_parquet(snakemake.input.timings)
    phases = proven_phases(gather(folders, "phases.parquet").to_pandas(), timings)
    graph = snakemake.wildcards.graph
    style.save(adaptive.updated_per_phase(phases, graph), snakemake.output.per_phase)
    style.save(adaptive.updated_distribution(phases, graph), snakemake.output.distribution)
    style.save(adaptive.phase_times(phases, graph), snakemake.output.times)
