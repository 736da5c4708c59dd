"""Draw figure 3 of Suzuki et al.: how the arc weights of a graph are distributed."""

import json
from pathlib import Path

import pyarrow.parquet as pq

from relaxometer.core.scripting import job
from relaxometer.report.figures import style
from relaxometer.report.papers import adaptive

with job(snakemake):
    weights = pq.read_table(snakemake.input.arcs, columns=["weight"])["weight"].to_numpy()
    graph = json.loads(Path(snakemake.input.metadata).read_text(encoding="utf-8"))
    style.save(adaptive.arc_weights(weights, graph), snakemake.output[0])
