"""Studies: throughput, new weights, all pairs, updates of dominators, retained sizes, ExtractMin and the copy rate."""


rule measure_throughput:
    input:
        lambda wildcards: graph_files(wildcards.graph),
    output:
        update(STUDIES["throughput"].path),
    log:
        "logs/throughput/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    threads: all_cores
    resources:
        gpu=1,
    params:
        **parameters.of_study(PLAN, "throughput"),
    script:
        "../scripts/run_study.py"


use rule measure_throughput as measure_bfs_throughput with:
    output:
        update(STUDIES["bfs_throughput"].path),
    log:
        "logs/bfs_throughput/{graph}.log",
    params:
        **parameters.of_study(PLAN, "bfs_throughput"),


use rule measure_throughput as measure_traffic with:
    input:
        graph=lambda wildcards: graph_files(wildcards.graph),
        installed=[
            f"results/rivals/{run.solver}.json"
            for run in PLAN.traffic_rivals
            if not run.command
        ],
    output:
        update(STUDIES["traffic"].path),
    log:
        "logs/traffic/{graph}.log",
    params:
        **parameters.of_study(PLAN, "traffic"),


use rule measure_throughput as measure_all_pairs with:
    output:
        [update(path) for path in STUDIES["all_pairs"].paths],
    log:
        "logs/all_pairs/{graph}.log",
    params:
        **parameters.of_study(PLAN, "all_pairs"),


use rule measure_throughput as measure_updates with:
    output:
        update(STUDIES["updates"].path),
    log:
        "logs/updates/{graph}.log",
    params:
        **parameters.of_study(PLAN, "updates"),


use rule measure_throughput as measure_retained with:
    output:
        update(STUDIES["retained"].path),
    log:
        "logs/retained/{graph}.log",
    params:
        **parameters.of_study(PLAN, "retained"),


use rule measure_throughput as measure_extract_min with:
    input:
        [],
    output:
        update(STUDIES["extract_min"].path),
    log:
        "logs/measure_extract_min.log",
    params:
        **parameters.of_study(PLAN, "extract_min"),


use rule measure_throughput as measure_copy_rate with:
    input:
        [],
    output:
        update(STUDIES["copy_rate"].path),
    log:
        "logs/measure_copy_rate.log",
    params:
        **parameters.of_study(PLAN, "copy_rate"),
