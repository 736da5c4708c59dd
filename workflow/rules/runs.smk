"""Every variant and rival of every problem on every graph: one job each, with all sources inside.

The outputs are marked `update`, so that Snakemake keeps the old ones until the job has finished.
"""


rule run_variant:
    input:
        unpack(run_inputs),
    output:
        runs=update("results/runs/{problem}/{graph}/{variant}/runs.parquet"),
        certificates=update(
            "results/runs/{problem}/{graph}/{variant}/certificates.parquet"
        ),
        phases=update("results/runs/{problem}/{graph}/{variant}/phases.parquet"),
        answer=update("results/runs/{problem}/{graph}/{variant}/answer.parquet"),
        context=update("results/runs/{problem}/{graph}/{variant}/context.json"),
    log:
        "logs/{problem}/{graph}/{variant}.log",
    benchmark:
        "logs/{problem}/{graph}/{variant}.benchmark.tsv"
    conda:
        "../envs/relaxometer.yaml"
    threads: lambda wildcards: workflow.cores
    resources:
        gpu=1,
    params:
        run=lambda wildcards: run_of(wildcards).model_dump(),
        device=PLAN.config.device,
        code=lambda wildcards: run_code(wildcards),
    script:
        "../scripts/run_variant.py"


rule install_rival:
    output:
        "results/rivals/{rival}.json",
    log:
        "logs/rivals/{rival}.log",
    wildcard_constraints:
        rival=NAME,
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=lambda wildcards: PLAN.rivals[wildcards.rival].code,
    script:
        "../scripts/install_rival.py"


rule run_rival:
    input:
        unpack(rival_inputs),
    output:
        runs=update("results/runs/{problem}/{graph}/{variant}/runs.parquet"),
        certificates=update(
            "results/runs/{problem}/{graph}/{variant}/certificates.parquet"
        ),
        phases=update("results/runs/{problem}/{graph}/{variant}/phases.parquet"),
        answer=update("results/runs/{problem}/{graph}/{variant}/answer.parquet"),
        context=update("results/runs/{problem}/{graph}/{variant}/context.json"),
    log:
        "logs/{problem}/{graph}/{variant}.log",
    benchmark:
        "logs/{problem}/{graph}/{variant}.benchmark.tsv"
    wildcard_constraints:
        variant="|".join(RIVAL_LINES) or "none",
    conda:
        "../envs/relaxometer.yaml"
    threads: lambda wildcards: workflow.cores
    resources:
        gpu=1,
    params:
        run=lambda wildcards: run_of(wildcards).model_dump(),
        device=PLAN.config.device,
        code=lambda wildcards: rival_code(wildcards),
    script:
        "../scripts/run_variant.py"


ruleorder: run_rival > run_variant
