"""Time many shortest-path searches at once on a graph, and prove every answer."""

from pathlib import Path

from relaxometer.core.files import write_table
from relaxometer.core.scripting import job
from relaxometer.device import get_device
from relaxometer.graphs.graph import read_graph
from relaxometer.measure.throughput import measure_throughput

with job(snakemake):
    table = measure_throughput(
        read_graph(Path(snakemake.input[0]).parent),
        snakemake.params.searches,
        repetitions=snakemake.params.repetitions,
        seed=snakemake.params.seed,
        device=get_device(snakemake.params.device),
    )
    write_table(table, Path(snakemake.output[0]))
