"""Pages of graphs, batches, variants and rivals, and results in the format of Graph500."""

from relaxometer.report.papers.hybrid_bfs import graph500_graphs, graph500_results
from relaxometer.results.configured import check_configured


rule describe_graph:
    input:
        dataset=lambda wildcards: graph_files(wildcards.graph),
        weights="results/figures/common/arc-weights/{graph}.svg",
    output:
        description="results/descriptions/graphs/{graph}.json",
        figure=report(
            "results/figures/common/degrees/{graph}.svg",
            category=CHAPTERS.get("Graphs", "Graphs"),
            caption="../report/pages/degrees.rst",
            labels={
                "graph": "{graph}",
                "figure": "degrees",
                "view": "share of vertices",
            },
        ),
        page=report(
            "results/pages/graphs/{graph}.html",
            category=CHAPTERS.get("Graphs", "Graphs"),
            caption="../report/pages/graph.rst",
            labels={
                "graph": "{graph}",
                "figure": "page",
                "view": "what the graph is like",
            },
        ),
    log:
        "logs/describe_graph/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        texts=lambda wildcards: dataset_of(wildcards.graph).texts,
        code=code_hash("graphs.describe", "report.graph_pages", "report.figures.maps"),
    script:
        "../scripts/describe_dataset.py"


use rule describe_graph as describe_batch with:
    input:
        dataset=lambda wildcards: batch_files(wildcards.batch),
    output:
        description="results/descriptions/batches/{batch}.json",
        figure=report(
            "results/figures/common/batch-sizes/{batch}.svg",
            category=CHAPTERS.get("Graphs", "Graphs"),
            caption="../report/pages/batch-sizes.rst",
            labels={
                "graph": "{batch}",
                "figure": "sizes",
                "view": "sizes and degrees",
            },
        ),
        page=report(
            "results/pages/batches/{batch}.html",
            category=CHAPTERS.get("Graphs", "Graphs"),
            caption="../report/pages/batch.rst",
            labels={
                "graph": "{batch}",
                "figure": "page",
                "view": "what the batch is like",
            },
        ),
    log:
        "logs/describe_batch/{batch}.log",
    params:
        texts=lambda wildcards: dataset_of(wildcards.batch).texts,
        code=code_hash("graphs.describe", "report.graph_pages"),


rule write_graph500_result:
    input:
        runs="results/runs/bfs/{graph}/{variant}/runs.parquet",
        graph="results/graphs/{graph}/graph.json",
    output:
        report(
            "results/graph500/{graph}-{variant}.txt",
            category=CHAPTERS.get("BFS", "BFS"),
            caption="../report/hybrid-bfs/graph500-result.rst",
            labels={
                "graph": "{graph}",
                "figure": "Graph500's output",
                "view": "{variant}",
            },
        ),
    log:
        "logs/write_graph500_result/{graph}-{variant}.log",
    wildcard_constraints:
        graph="|".join(graph500_graphs(PLAN)) or "none",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("results.graph500_result"),
    script:
        "../scripts/write_graph500_result.py"


PROGRAMS = variant_pages.programs(PLAN)

if IS_REPORT and not IS_MODULE:
    try:
        session.check_report(
            map(variant_pages.path, PROGRAMS),
            PLAN.runs.values(),
        )
        check_configured(PLAN)
    except UserError as error:
        sys.exit(f"error: {error}")

if PROGRAMS:

    rule describe_variants:
        input:
            summary="results/summary.csv",
            timings="results/timings.parquet",
            phases=expand("{folder}/phases.parquet", folder=RUN_FOLDERS),
        output:
            [
                report(
                    variant_pages.path(program),
                    category=CHAPTERS.get("Variants", "Variants"),
                    caption="../report/pages/variant.rst",
                    labels={
                        "problem": program["problem"],
                        "variant or rival": program["variant"],
                    },
                )
                for program in PROGRAMS
            ],
        log:
            "logs/describe_variants.log",
        conda:
            "../envs/relaxometer.yaml"
        params:
            programs=PROGRAMS,
            swept=catalogue.swept(PLAN),
            code=code_hash("report.variant_pages"),
        script:
            "../scripts/describe_variants.py"
