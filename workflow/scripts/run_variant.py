"""Run one variant on one graph from every source, prove the answers, and write all samples."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from relaxometer.core.scripting import job
from relaxometer.device import get_device
from relaxometer.graphs.batch import Batch, read_batch
from relaxometer.graphs.graph import Graph, read_graph
from relaxometer.measure.variant import measure, write_measurement
from relaxometer.plan.models import Run

with job(snakemake):
    run = Run.model_validate(snakemake.params.run)
    folder = Path(snakemake.input.graph[0]).parent
    graph: Graph | Batch
    if snakemake.input.get("sources"):
        graph = read_graph(folder)
        sources = pq.read_table(snakemake.input.sources)["source"].to_numpy()
        if isinstance(run.timing.sources, int):
            sources = sources[: run.timing.sources]
    else:
        graph, sources = read_batch(folder), np.zeros(1, dtype=np.int64)
    result = measure(run, graph, sources, get_device(snakemake.params.device))
    write_measurement(result, run.problem, Path(snakemake.output.runs).parent)
