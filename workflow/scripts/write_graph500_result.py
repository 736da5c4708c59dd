"""Write the output that Graph500 requires, in the benchmark's format."""

import json
from pathlib import Path

import pandas as pd

from relaxometer.core.files import write_text
from relaxometer.core.scripting import job
from relaxometer.results.graph500_result import official_output

with job(snakemake):
    runs = pd.read_parquet(snakemake.input.runs)
    graph = json.loads(Path(snakemake.input.graph).read_text(encoding="utf-8"))
    write_text(official_output(runs, graph), Path(snakemake.output[0]))
