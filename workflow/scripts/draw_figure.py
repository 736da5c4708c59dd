"""Draw the figures and tables of one record of the report's catalogue."""

from relaxometer.core.scripting import job
from relaxometer.report.catalogue import Inputs, exhibits

with job(snakemake):
    inputs = Inputs(
        dict(snakemake.input.items()), snakemake.params.given, snakemake.wildcards.get("graph", "")
    )
    exhibits()[snakemake.params.exhibit].save(inputs, dict(snakemake.output.items()))
