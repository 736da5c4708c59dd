"""Write table 1 of Suzuki et al. with a column for each graph, and whose data each graph is."""

import json
from pathlib import Path

from relaxometer.core.scripting import job
from relaxometer.report.papers.adaptive import table_1
from relaxometer.results.contexts import data_lines

with job(snakemake):
    graphs = [json.loads(Path(file).read_text(encoding="utf-8")) for file in snakemake.input]
    table_1(graphs).to_csv(snakemake.output.outline, index=False)
    data_lines(graphs).to_csv(snakemake.output.data, index=False)
