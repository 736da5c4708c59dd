"""Download and build graphs and batches, and draw the sources and query sets of searches."""


# A local rule, since nodes of a cluster often have no internet. The old file is kept until the new one is complete.
rule download_file:
    output:
        update("results/downloads/{file}"),
    log:
        "logs/downloads/{file}.log",
    wildcard_constraints:
        file="|".join(map(re.escape, DOWNLOADS)),
    priority: FIRST
    localrule: True
    conda:
        "../envs/relaxometer.yaml"
    params:
        file=lambda wildcards: DOWNLOADS[wildcards.file][1].as_download(),
        # Snakemake compares only values of built-in types, so new terms of use do not fetch the file again.
        terms=lambda wildcards: UserString(DOWNLOADS[wildcards.file][0].terms),
    script:
        "../scripts/download_file.py"


# A UserDict, so that another description or licence rebuilds nothing, as above; pages read them from the entry.
rule build_graph:
    input:
        unpack(graph_inputs),
    output:
        vertices=update("results/graphs/{graph}/vertices.parquet"),
        arcs=update("results/graphs/{graph}/arcs.parquet"),
        metadata=update("results/graphs/{graph}/graph.json"),
    log:
        "logs/graphs/{graph}.log",
    priority: FIRST
    conda:
        "../envs/relaxometer.yaml"
    resources:
        gpu=generator_gpus,
    params:
        dataset=lambda wildcards: dataset_of(wildcards.graph).as_built(),
        about=lambda wildcards: UserDict(dataset_of(wildcards.graph).about()),
        code=lambda wildcards: dataset_code(wildcards.graph),
    script:
        "../scripts/build_dataset.py"


rule build_batch:
    input:
        unpack(lambda wildcards: file_inputs(dataset_of(wildcards.batch))),
    output:
        graphs=update("results/batches/{batch}/graphs.parquet"),
        vertices=update("results/batches/{batch}/vertices.parquet"),
        arcs=update("results/batches/{batch}/arcs.parquet"),
        metadata=update("results/batches/{batch}/batch.json"),
    log:
        "logs/batches/{batch}.log",
    priority: FIRST
    conda:
        "../envs/relaxometer.yaml"
    threads: 2
    params:
        dataset=lambda wildcards: dataset_of(wildcards.batch).as_built(),
        about=lambda wildcards: UserDict(dataset_of(wildcards.batch).about()),
        code=lambda wildcards: dataset_code(wildcards.batch),
    script:
        "../scripts/build_dataset.py"


rule draw_sources:
    input:
        lambda wildcards: graph_files(wildcards.graph),
    output:
        update("results/sources/{graph}.parquet"),
    log:
        "logs/sources/{graph}.log",
    priority: FIRST
    conda:
        "../envs/relaxometer.yaml"
    params:
        **parameters.of_sources(PLAN),
    script:
        "../scripts/draw_sources.py"


rule draw_queries:
    input:
        unpack(query_inputs),
    output:
        update("results/queries/{problem}/{graph}.parquet"),
    log:
        "logs/queries/{problem}/{graph}.log",
    priority: FIRST
    conda:
        "../envs/relaxometer.yaml"
    threads: all_cores
    params:
        queries=of_queries("queries"),
        drawn=of_queries("drawn"),
        code=of_queries("code"),
    script:
        "../scripts/draw_sources.py"
