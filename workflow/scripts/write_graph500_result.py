"""Write the output that Graph500 requires, in the benchmark's format."""

from pathlib import Path

from relaxometer.core.failures import refuse_failed
from relaxometer.core.files import read_frame, write_text
from relaxometer.core.scripting import job
from relaxometer.graphs.files import read_description
from relaxometer.results.graph500_result import official_output

with job(snakemake):
    refuse_failed(snakemake.input)
    runs = read_frame(Path(snakemake.input.runs))
    graph = read_description(Path(snakemake.input.graph))
    write_text(official_output(runs, graph), Path(snakemake.output[0]))
