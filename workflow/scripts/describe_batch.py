"""Find out what the graphs of a batch are like, and draw it: numbers, figure, and a page with both."""

from pathlib import Path

from relaxometer.core.files import write_json
from relaxometer.core.scripting import job
from relaxometer.graphs.batch import read_batch
from relaxometer.graphs.describe import describe_batch
from relaxometer.report.figures import graphs, style
from relaxometer.report.graph_pages import batch_page

with job(snakemake):
    description = describe_batch(read_batch(Path(snakemake.input[0]).parent))
    write_json(description, Path(snakemake.output.description))
    style.save(graphs.batch_sizes(description), snakemake.output.figure)
    page = batch_page(description, snakemake.output.figure)
    Path(snakemake.output.page).write_text(page, encoding="utf-8")
