"""From a dataset's name to its CSR Parquet and the sources that every variant starts from."""


rule download_file:
    output:
        "results/downloads/{file}",
    log:
        "logs/downloads/{file}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        file=lambda wildcards: downloaded(wildcards.file)[1].as_download(),
        terms=lambda wildcards: downloaded(wildcards.file)[0].terms,
    script:
        "../scripts/download_file.py"


rule build_graph:
    input:
        unpack(graph_inputs),
    output:
        vertices="results/graphs/{graph}/vertices.parquet",
        arcs="results/graphs/{graph}/arcs.parquet",
        metadata="results/graphs/{graph}/graph.json",
    log:
        "logs/graphs/{graph}.log",
    benchmark:
        "logs/graphs/{graph}.benchmark.tsv"
    conda:
        "../envs/relaxometer.yaml"
    params:
        dataset=lambda wildcards: PLAN.datasets[wildcards.graph].model_dump(),
        code=lambda wildcards: dataset_code(wildcards.graph),
    script:
        "../scripts/build_graph.py"


rule draw_sources:
    input:
        lambda wildcards: graph_files(wildcards.graph),
    output:
        "results/sources/{graph}.parquet",
    log:
        "logs/sources/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        sources=PLAN.config.timing.sources,
        seed=PLAN.config.seed,
    script:
        "../scripts/draw_sources.py"
