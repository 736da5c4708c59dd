"""Measurements other than single searches: many searches at once, updates of dominators, ExtractMin, a copy."""


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
        study="throughput",
        parameters={
            "searches": PLAN.config.throughput.searches,
            "repetitions": PLAN.config.throughput.repetitions,
            "seed": PLAN.config.seed,
        },
        device=PLAN.config.device,
        code=code_hash("measure.throughput"),
    script:
        "../scripts/run_study.py"


use rule measure_throughput as measure_updates with:
    output:
        "results/updates/{graph}.parquet",
    log:
        "logs/updates/{graph}.log",
    params:
        study="updates",
        parameters={
            "arcs": PLAN.config.updates.arcs,
            "repetitions": PLAN.config.updates.repetitions,
            "seed": PLAN.config.seed,
        },
        device=PLAN.config.device,
        code=code_hash("measure.updates"),


use rule measure_throughput as time_extract_min with:
    input:
        [],
    output:
        "results/extract_min.parquet",
    log:
        "logs/time_extract_min.log",
    params:
        study="extract_min",
        parameters={"seed": PLAN.config.seed},
        device=PLAN.config.device,
        code=code_hash("measure.extract_min"),


use rule measure_throughput as measure_copy_rate with:
    input:
        [],
    output:
        "results/device_rates.json",
    log:
        "logs/measure_copy_rate.log",
    params:
        study="copy_rate",
        parameters={},
        device=PLAN.config.device,
        code=code_hash("device.rates"),
