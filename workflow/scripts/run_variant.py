"""Run one variant on one graph from every source, prove the answers, and write all samples."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from relaxometer.batch import Batch, read_batch
from relaxometer.config import Run
from relaxometer.device import get_device
from relaxometer.graph import Graph, read_graph, write_json, write_table
from relaxometer.measure import PHASES, RUNS, certificates_schema, measure
from relaxometer.problems import load_problem
from relaxometer.scripting import job

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
    write_table(pa.Table.from_pylist(result.runs, RUNS), Path(snakemake.output.runs))
    certificates = certificates_schema(load_problem(run.problem))
    write_table(pa.Table.from_pylist(result.certificates, certificates), Path(snakemake.output.certificates))
    write_table(pa.Table.from_pylist(result.phases, PHASES), Path(snakemake.output.phases))
    write_table(pa.table(result.answer), Path(snakemake.output.answer))
    write_json(result.context, Path(snakemake.output.context))
