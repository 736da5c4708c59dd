"""Draw the figures and tables of one record of the report's catalogue."""

from relaxometer.core.failures import refuse_lack
from relaxometer.core.scripting import job
from relaxometer.report.catalogue import Inputs, exhibits_in

with job(snakemake):
    graph = snakemake.wildcards.get("graph", "")
    files = {
        key: refuse_lack([given] if isinstance(given, str) else given)
        for key, given in snakemake.input.items()
    }
    inputs = Inputs(files, snakemake.params.given, graph)
    exhibit = exhibits_in(snakemake.params.module)[snakemake.params.exhibit]
    exhibit.save(inputs, dict(snakemake.output.items()))
