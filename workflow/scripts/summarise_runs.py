"""Write one line for each run, also for those that could not be made."""

import json
from pathlib import Path

import pyarrow.parquet as pq

from relaxometer.core.files import replacing
from relaxometer.core.scripting import job
from relaxometer.results.gather import summarise

with job(snakemake):
    graphs = [json.loads(Path(file).read_text(encoding="utf-8")) for file in snakemake.input.graphs]
    directed = {graph["name"]: bool(graph.get("directed", True)) for graph in graphs}
    table = summarise(pq.read_table(snakemake.input.timings), snakemake.params.lost, directed)
    with replacing(Path(snakemake.output[0])) as temporary:
        table.to_csv(temporary, index=False, float_format="%.6g")
