"""Draw figures 9 and 10 of Hirakushi and Takahashi: rates and times over the size of Kronecker graphs."""

import json
from pathlib import Path

import pandas as pd

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import hybrid_bfs

with job(snakemake):
    graphs = [json.loads(Path(file).read_text(encoding="utf-8")) for file in snakemake.input.graphs]
    names = [graph["name"] for graph in graphs]
    timings = pd.read_parquet(snakemake.input.timings).query("problem == 'bfs' and graph in @names")
    shown = timings[timings["variant"].isin(snakemake.params.variants)]
    style.save(hybrid_bfs.rates_over_scale(shown, graphs), snakemake.output.rates)
    style.save(hybrid_bfs.computing_times(shown, graphs), snakemake.output.times)
