"""Dominators of graphs that change."""


rule measure_updates:
    input:
        lambda wildcards: graph_files(wildcards.graph),
    output:
        "results/updates/{graph}.parquet",
    log:
        "logs/updates/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    threads: lambda wildcards: workflow.cores
    resources:
        gpu=1,
    params:
        arcs=PLAN.config.updates.arcs,
        repetitions=PLAN.config.updates.repetitions,
        seed=PLAN.config.seed,
        device=PLAN.config.device,
        code=code_hash("measure.updates"),
    script:
        "../scripts/measure_updates.py"
