"""Gathering what the runs measured, and the verdict over their answers."""

RUN_FOLDERS = ["results/runs/{}/{}/{}".format(*key) for key in PLAN.runs]


rule gather_timings:
    input:
        runs=expand("{folder}/runs.parquet", folder=RUN_FOLDERS),
        certificates=expand("{folder}/certificates.parquet", folder=RUN_FOLDERS),
        contexts=expand("{folder}/context.json", folder=RUN_FOLDERS),
    output:
        timings="results/timings.parquet",
        certificates="results/certificates.parquet",
        summary=report(
            "results/summary.csv",
            category="1. Summary",
            caption="../report/summary.rst",
            labels={"table": "all variants", "format": "csv"},
        ),
    log:
        "logs/gather_timings.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("results.gather"),
    script:
        "../scripts/gather_timings.py"


rule judge_answers:
    input:
        summary="results/summary.csv",
        throughput=expand(
            "results/throughput/{graph}.parquet", graph=PLAN.config.throughput.graphs
        ),
    output:
        "results/verdict.txt",
    log:
        "logs/judge_answers.log",
    conda:
        "../envs/relaxometer.yaml"
    script:
        "../scripts/judge_answers.py"
