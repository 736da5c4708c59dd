"""Many shortest-path searches at once."""


rule measure_throughput:
    input:
        lambda wildcards: graph_files(wildcards.graph),
    output:
        "results/throughput/{graph}.parquet",
    log:
        "logs/throughput/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    threads: lambda wildcards: workflow.cores
    resources:
        gpu=1,
    params:
        searches=PLAN.config.throughput.searches,
        repetitions=PLAN.config.throughput.repetitions,
        seed=PLAN.config.seed,
        device=PLAN.config.device,
        code=code_hash("measure.throughput"),
    script:
        "../scripts/measure_throughput.py"
