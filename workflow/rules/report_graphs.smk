"""A page for every graph and batch of the run: what it is like, before anything is measured on it."""


rule describe_graph:
    input:
        graph=lambda wildcards: graph_files(wildcards.graph),
        weights="results/figures/figure-3/{graph}.svg",
    output:
        description="results/descriptions/graphs/{graph}.json",
        degrees=report(
            "results/figures/degrees/{graph}.svg",
            category="5. Graphs",
            caption="../report/degrees.rst",
            labels={
                "graph": "{graph}",
                "figure": "degrees",
                "view": "share of vertices",
            },
        ),
        page=report(
            "results/report/graphs/{graph}.html",
            category="5. Graphs",
            caption="../report/graph.rst",
            labels={
                "graph": "{graph}",
                "figure": "page",
                "view": "what the graph is like",
            },
        ),
    log:
        "logs/report/describe_graph/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("graphs.describe", "report.graph_pages", "report.figures.graphs", "report.figures.maps"),
    script:
        "../scripts/describe_graph.py"


rule describe_batch:
    input:
        multiext(
            "results/batches/{batch}/",
            "graphs.parquet",
            "vertices.parquet",
            "arcs.parquet",
            "batch.json",
        ),
    output:
        description="results/descriptions/batches/{batch}.json",
        figure=report(
            "results/figures/batch-sizes/{batch}.svg",
            category="5. Graphs",
            caption="../report/batch_sizes.rst",
            labels={
                "graph": "{batch}",
                "figure": "sizes",
                "view": "sizes and degrees",
            },
        ),
        page=report(
            "results/report/batches/{batch}.html",
            category="5. Graphs",
            caption="../report/batch.rst",
            labels={
                "graph": "{batch}",
                "figure": "page",
                "view": "what the batch is like",
            },
        ),
    log:
        "logs/report/describe_batch/{batch}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("graphs.describe", "report.graph_pages", "report.figures.graphs"),
    script:
        "../scripts/describe_batch.py"
