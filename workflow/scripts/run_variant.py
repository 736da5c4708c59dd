"""Run one variant on one graph from every source, prove the answers, and write all samples."""

from pathlib import Path

import pyarrow.parquet as pq

from relaxometer.config import Run
from relaxometer.device import get_device
from relaxometer.graph import read_graph
from relaxometer.measure import measure, write_measurement
from relaxometer.scripting import job

with job(snakemake):
    run = Run.model_validate(snakemake.params.run)
    graph = read_graph(Path(snakemake.input.graph[0]).parent)
    sources = pq.read_table(snakemake.input.sources)["source"].to_numpy()
    if isinstance(run.timing.sources, int):
        sources = sources[: run.timing.sources]
    result = measure(run, graph, sources, get_device(snakemake.params.device))
    write_measurement(result, run.problem, Path(snakemake.output.runs).parent)
