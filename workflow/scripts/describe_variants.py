"""Write the page of every variant and rival."""

from pathlib import Path

from relaxometer.core.failures import failure_of
from relaxometer.core.files import read_frame, write_text
from relaxometer.core.scripting import job
from relaxometer.report.figures.names import label, short_names
from relaxometer.report.figures.summary import ranked_table, unmarked
from relaxometer.report.variant_pages import variant_page
from relaxometer.results.gather import gather
from relaxometer.results.samples import proven, with_class

with job(snakemake):
    summary = read_frame(Path(snakemake.input.summary), dtype={"version": str})
    timings = read_frame(Path(snakemake.input.timings))
    table = unmarked(ranked_table(summary, timings[~timings["variant"].isin(snakemake.params.swept)]))
    for program, file in zip(snakemake.params.programs, snakemake.output, strict=True):
        problem, variant = program["problem"], program["variant"]
        named = set(short_names(with_class(summary[summary["variant"] == variant])))
        lines = table[(table["Problem"] == label(problem)) & table["Variant"].isin(named)]
        folders = [one for one in program["folders"] if not failure_of(f"{one}/phases.parquet")]
        phases = gather(list(map(Path, folders)), "phases.parquet").to_pandas()
        of_problem = timings[timings["problem"] == problem]
        write_text(variant_page(program, lines, of_problem, proven(phases, timings)), Path(file))
