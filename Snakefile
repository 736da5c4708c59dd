from pathlib import Path

from snakemake.utils import min_version

min_version("9.27")


# In a folder without this file, Snakemake would silently leave out the base of the overlays.
BASE = Path("config/config.yaml")


configfile: str(BASE if BASE.exists() else Path(str(workflow.current_basedir)) / BASE)


include: "workflow/rules/common.smk"
include: "workflow/rules/session.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/studies.smk"
include: "workflow/rules/distributed.smk"
include: "workflow/rules/gather.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/pages.smk"


report: "workflow/report/workflow.rst"


WANTED = [
    *targets.results(PLAN),
    *catalogue.targets(PLAN),
    *graph500_results(PLAN),
    *map(variant_pages.path, PROGRAMS),
]


rule all:
    input:
        failures.made(WANTED) if IS_REPORT else WANTED,
