"""Draw figures and tables of the report's catalogue."""

from relaxometer.core.failures import refuse_lack
from relaxometer.core.scripting import job
from relaxometer.report.catalogue import Inputs, exhibits_in

with job(snakemake):
    files = {
        key: refuse_lack([given] if isinstance(given, str) else given)
        for key, given in snakemake.input.items()
    }
    inputs = Inputs(files, {}, snakemake.wildcards.get("graph", ""))
    outputs = dict(snakemake.output.items())
    for name, module in snakemake.params.modules.items():
        exhibit = exhibits_in(module)[name]
        own = {key: outputs[key] for key in exhibit.outputs()}
        exhibit.save(inputs.given(snakemake.params.given[name]), own)
