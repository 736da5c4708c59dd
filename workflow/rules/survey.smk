"""What the survey measures apart from searches."""


rule time_extract_min:
    output:
        "results/extract_min.parquet",
    log:
        "logs/time_extract_min.log",
    conda:
        "../envs/relaxometer.yaml"
    threads: lambda wildcards: workflow.cores
    resources:
        gpu=1,
    params:
        device=PLAN.config.device,
        seed=PLAN.config.seed,
        code=code_hash("measure.extract_min"),
    script:
        "../scripts/time_extract_min.py"
