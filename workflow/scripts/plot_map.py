"""Draw the roads of a graph in the colour of their distance from the first source."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from relaxometer.core.scripting import job
from relaxometer.graphs.graph import read_graph
from relaxometer.report.figures import maps, style
from relaxometer.results.samples import failed_variants

NO_ANSWER = {"distance": np.empty(0, dtype=np.uint32), "predecessor": np.empty(0, dtype=np.uint32)}

with job(snakemake):
    failed = set(failed_variants(pd.read_parquet(snakemake.input.timings)).itertuples(index=False, name=None))
    key = ("sssp", snakemake.wildcards.graph)
    proven = [file for file in snakemake.input.answers if (*key, Path(file).parent.name) not in failed]
    tables = (pq.read_table(file) for file in proven)
    answers = ({name: table[name].to_numpy() for name in NO_ANSWER} for table in tables if len(table))
    graph = read_graph(Path(snakemake.input.graph[0]).parent)
    style.save(maps.distance_map(graph, next(answers, NO_ANSWER)), snakemake.output[0])
