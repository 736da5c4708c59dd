"""Merge the contexts of all runs into one file, one page and the lines of the report's first page."""

from pathlib import Path

from relaxometer.core.failures import refuse_lack
from relaxometer.core.files import write_csv, write_json, write_text
from relaxometer.core.scripting import job
from relaxometer.report.provenance import provenance_page
from relaxometer.results.contexts import drift_lines, machine_lines, merge_contexts, read_contexts

with job(snakemake):
    contexts = read_contexts(refuse_lack(snakemake.input))
    merged = merge_contexts(contexts)
    write_json(merged, Path(snakemake.output.context))
    page = provenance_page(merged, snakemake.params.config, drift_lines(contexts), snakemake.params.rivals)
    write_text(page, Path(snakemake.output.page))
    write_csv(machine_lines(contexts), Path(snakemake.output.machine), header=False)
