"""Every variant of every problem on every graph: one job each, with all sources inside.

The outputs are marked `update`, so that Snakemake keeps the old ones until the job has finished.
"""


rule run_sssp:
    input:
        graph=lambda wildcards: graph_files(wildcards.graph),
        sources="results/sources/{graph}.parquet",
    output:
        runs=update("results/runs/sssp/{graph}/{variant}/runs.parquet"),
        certificates=update("results/runs/sssp/{graph}/{variant}/certificates.parquet"),
        phases=update("results/runs/sssp/{graph}/{variant}/phases.parquet"),
        answer=update("results/runs/sssp/{graph}/{variant}/answer.parquet"),
        context=update("results/runs/sssp/{graph}/{variant}/context.json"),
    log:
        "logs/sssp/{graph}/{variant}.log",
    benchmark:
        "logs/sssp/{graph}/{variant}.benchmark.tsv"
    conda:
        "../envs/relaxometer.yaml"
    threads: lambda wildcards: workflow.cores
    resources:
        gpu=1,
    params:
        run=lambda wildcards: run_of("sssp", wildcards).model_dump(),
        device=PLAN.config.device,
        code=lambda wildcards: run_code("sssp", wildcards),
    script:
        "../scripts/run_variant.py"


use rule run_sssp as run_bfs with:
    output:
        runs=update("results/runs/bfs/{graph}/{variant}/runs.parquet"),
        certificates=update("results/runs/bfs/{graph}/{variant}/certificates.parquet"),
        phases=update("results/runs/bfs/{graph}/{variant}/phases.parquet"),
        answer=update("results/runs/bfs/{graph}/{variant}/answer.parquet"),
        context=update("results/runs/bfs/{graph}/{variant}/context.json"),
    log:
        "logs/bfs/{graph}/{variant}.log",
    benchmark:
        "logs/bfs/{graph}/{variant}.benchmark.tsv"
    params:
        run=lambda wildcards: run_of("bfs", wildcards).model_dump(),
        device=PLAN.config.device,
        code=lambda wildcards: run_code("bfs", wildcards),


use rule run_sssp as run_dominators with:
    input:
        unpack(run_inputs),
    output:
        runs=update("results/runs/dominators/{graph}/{variant}/runs.parquet"),
        certificates=update(
            "results/runs/dominators/{graph}/{variant}/certificates.parquet"
        ),
        phases=update("results/runs/dominators/{graph}/{variant}/phases.parquet"),
        answer=update("results/runs/dominators/{graph}/{variant}/answer.parquet"),
        context=update("results/runs/dominators/{graph}/{variant}/context.json"),
    log:
        "logs/dominators/{graph}/{variant}.log",
    benchmark:
        "logs/dominators/{graph}/{variant}.benchmark.tsv"
    params:
        run=lambda wildcards: run_of("dominators", wildcards).model_dump(),
        device=PLAN.config.device,
        code=lambda wildcards: run_code("dominators", wildcards),
