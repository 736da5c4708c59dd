"""Studies: throughput, new weights, all pairs, updates of dominators, ExtractMin and the copy rate."""


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
        study="throughput",
        parameters=STUDIES["throughput"].parameters(PLAN),
        device=PLAN.config.device,
        code=code_hash("measure.throughput"),
    script:
        "../scripts/run_study.py"


use rule measure_throughput as measure_bfs_throughput with:
    output:
        update(STUDIES["bfs_throughput"].path),
    log:
        "logs/bfs_throughput/{graph}.log",
    params:
        study="bfs_throughput",
        parameters=STUDIES["bfs_throughput"].parameters(PLAN),
        device=PLAN.config.device,
        code=code_hash("measure.throughput"),


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
        study="traffic",
        parameters=STUDIES["traffic"].parameters(PLAN),
        device=PLAN.config.device,
        code=code_hash(
            "measure.traffic",
            *(
                solver_modules("sssp")[name].removeprefix("relaxometer.")
                for name in PLAN.config.traffic.variants
            ),
        )
        + "".join(map(code_of_rival, PLAN.traffic_rivals)),


use rule measure_throughput as measure_all_pairs with:
    output:
        [update(path) for path in STUDIES["all_pairs"].paths],
    log:
        "logs/all_pairs/{graph}.log",
    params:
        study="all_pairs",
        parameters=STUDIES["all_pairs"].parameters(PLAN),
        device=PLAN.config.device,
        code=code_hash("measure.all_pairs"),


use rule measure_throughput as measure_updates with:
    output:
        update(STUDIES["updates"].path),
    log:
        "logs/updates/{graph}.log",
    params:
        study="updates",
        parameters=STUDIES["updates"].parameters(PLAN),
        device=PLAN.config.device,
        code=code_hash("measure.updates"),


use rule measure_throughput as measure_extract_min with:
    input:
        [],
    output:
        update(STUDIES["extract_min"].path),
    log:
        "logs/measure_extract_min.log",
    params:
        study="extract_min",
        parameters=STUDIES["extract_min"].parameters(PLAN),
        device=PLAN.config.device,
        code=code_hash("measure.extract_min"),


use rule measure_throughput as measure_copy_rate with:
    input:
        [],
    output:
        update(STUDIES["copy_rate"].path),
    log:
        "logs/measure_copy_rate.log",
    params:
        study="copy_rate",
        parameters=STUDIES["copy_rate"].parameters(PLAN),
        device=PLAN.config.device,
        code=code_hash("device.rates"),
