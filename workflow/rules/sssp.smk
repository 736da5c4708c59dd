"""Every variant of single-source shortest paths on every graph: one job each, with all sources inside."""


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
        run=lambda wildcards: sssp_run(wildcards).model_dump(),
        device=PLAN.config.device,
        code=lambda wildcards: code_hash(
            "measure", f"sssp.{sssp_run(wildcards).kernel.replace('-', '_')}"
        ),
    script:
        "../scripts/run_variant.py"
