"""Draw figure 7 of Suzuki et al.: the mean time of a search on each graph."""

import json
from pathlib import Path

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import adaptive

with job(snakemake):
    timings = pd.read_parquet(snakemake.input.timings)
    shown = timings[timings["variant"].isin(snakemake.params.variants)]
    graphs = [json.loads(Path(file).read_text(encoding="utf-8")) for file in snakemake.input.graphs]
    style.save(adaptive.mean_times(shown, graphs), snakemake.output[0])
