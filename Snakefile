from snakemake.utils import min_version

min_version("9.19")


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/session.smk"
include: "workflow/rules/graphs.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/timings.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/report_hybrid_bfs.smk"
include: "workflow/rules/report_edge_bf.smk"
include: "workflow/rules/survey.smk"
include: "workflow/rules/report_survey.smk"
include: "workflow/rules/throughput.smk"
include: "workflow/rules/updates.smk"
include: "workflow/rules/report_studies.smk"
include: "workflow/rules/report_graphs.smk"
include: "workflow/rules/distributed.smk"
include: "workflow/rules/report_distributed.smk"
include: "workflow/rules/report_dominators.smk"


report: "workflow/report/workflow.rst"


rule all:
    input:
        "results/summary.csv",
        "results/claims.parquet",
        rules.judge_answers.output,
        report_figures(),
        distributed_results(),
