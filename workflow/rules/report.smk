"""Figures, tables and claims out of what the runs measured, as the report shows them."""


include: "report_targets.smk"
include: "report_edge_bf_targets.smk"
include: "report_hybrid_bfs_targets.smk"
include: "report_survey_targets.smk"
include: "report_dominators_targets.smk"
include: "report_studies_targets.smk"


rule plot_summary:
    input:
        summary="results/summary.csv",
        timings="results/timings.parquet",
    output:
        figure=report(
            "results/figures/median-times.svg",
            category="1. Summary",
            caption="../report/median_times.rst",
            labels={"table": "median times (figure)"},
        ),
        table="results/report/summary_table.csv",
    log:
        "logs/report/plot_summary.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        swept=SWEPT,
        code=code_hash("report.figures.summary"),
    script:
        "../scripts/plot_summary.py"


rule compare_claims:
    input:
        claims=str(ROOT / "resources/claims.yaml"),
        timings="results/timings.parquet",
        phases=expand("{folder}/phases.parquet", folder=RUN_FOLDERS),
        contexts=expand("{folder}/context.json", folder=RUN_FOLDERS),
        graphs=expand("results/graphs/{graph}/graph.json", graph=PLAN.graphs),
        extract_min=EXTRACT_MIN,
    output:
        parquet="results/claims.parquet",
        csv=report(
            "results/claims.csv",
            category="1. Summary",
            caption="../report/claims.rst",
            labels={"table": "claims of the sources", "format": "csv"},
        ),
        table="results/report/claims_table.csv",
    log:
        "logs/report/compare_claims.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        sources=PLAN.config.report.sources,
        swept=SWEPT,
        code=code_hash("results.claims"),
    script:
        "../scripts/compare_claims.py"


rule merge_contexts:
    input:
        expand("{folder}/context.json", folder=RUN_FOLDERS),
    output:
        context=report(
            "results/context.json",
            category="6. Provenance",
            caption="../report/provenance.rst",
            labels={"what": "all runs, as json"},
        ),
        page=report(
            "results/report/provenance.html",
            category="6. Provenance",
            caption="../report/provenance.rst",
            labels={"what": "all runs, as a page"},
        ),
        machine="results/report/machine.csv",
    log:
        "logs/report/merge_contexts.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        config=PLAN.config.model_dump(),
        code=code_hash("results.contexts"),
    script:
        "../scripts/merge_contexts.py"


rule plot_map:
    input:
        graph=lambda wildcards: graph_files(wildcards.graph),
        timings="results/timings.parquet",
        answers=lambda wildcards: expand(
            "results/runs/sssp/{graph}/{variant}/answer.parquet",
            graph=wildcards.graph,
            variant=[run.variant for run in sssp_runs(wildcards.graph)],
        ),
    output:
        report(
            "results/figures/map/{graph}.png",
            category="5. Graphs",
            caption="../report/map.rst",
            labels={
                "graph": "{graph}",
                "figure": "map",
                "view": "distance from one source",
            },
        ),
    log:
        "logs/report/plot_map/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.figures.maps"),
    script:
        "../scripts/plot_map.py"


rule tabulate_graphs:
    input:
        expand("results/graphs/{graph}/graph.json", graph=PLAN.graphs),
    output:
        outline=report(
            "results/report/table-1.csv",
            category="5. Graphs",
            caption="../report/table_1.rst",
            labels={
                "graph": "all",
                "figure": "table 1",
                "view": "outline of the graphs",
            },
        ),
        data="results/report/data.csv",
    log:
        "logs/report/tabulate_graphs.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.papers.adaptive", "results.contexts"),
    script:
        "../scripts/tabulate_graphs.py"


rule plot_arc_weights:
    input:
        arcs="results/graphs/{graph}/arcs.parquet",
        metadata="results/graphs/{graph}/graph.json",
    output:
        report(
            "results/figures/figure-3/{graph}.svg",
            category="5. Graphs",
            caption="../report/figure_3.rst",
            labels={"graph": "{graph}", "figure": "figure 3", "view": "arc weights"},
        ),
    log:
        "logs/report/plot_arc_weights/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.papers.adaptive"),
    script:
        "../scripts/plot_arc_weights.py"


rule plot_phases:
    input:
        timings="results/timings.parquet",
        phases=lambda wildcards: expand(
            "results/runs/sssp/{graph}/{variant}/phases.parquet",
            graph=wildcards.graph,
            variant=[run.variant for run in source_runs(wildcards.graph)],
        ),
    output:
        per_phase=report(
            "results/figures/figure-4/{graph}.svg",
            category="2. SSSP",
            caption="../report/figure_4.rst",
            labels={
                "graph": "{graph}",
                "figure": "figure 4",
                "view": "updated vertices per phase",
            },
        ),
        distribution=report(
            "results/figures/figure-5/{graph}.svg",
            category="2. SSSP",
            caption="../report/figure_5.rst",
            labels={
                "graph": "{graph}",
                "figure": "figure 5",
                "view": "updated vertices, all phases",
            },
        ),
        times=report(
            "results/figures/figure-6/{graph}.svg",
            category="2. SSSP",
            caption="../report/figure_6.rst",
            labels={
                "graph": "{graph}",
                "figure": "figure 6",
                "view": "time of each phase",
            },
        ),
    log:
        "logs/report/plot_phases/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.papers.adaptive"),
    script:
        "../scripts/plot_phases.py"


rule plot_mean_times:
    input:
        timings="results/timings.parquet",
        graphs=expand("results/graphs/{graph}/graph.json", graph=SOURCE_GRAPHS),
    output:
        report(
            "results/figures/figure-7.svg",
            category="2. SSSP",
            caption="../report/figure_7.rst",
            labels={
                "graph": "all",
                "figure": "figure 7",
                "view": "mean time of a search",
            },
        ),
    log:
        "logs/report/plot_mean_times.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        variants=SOURCE_VARIANTS,
        code=code_hash("report.papers.adaptive"),
    script:
        "../scripts/plot_mean_times.py"


rule plot_thresholds:
    input:
        timings="results/timings.parquet",
    output:
        report(
            "results/figures/figure-8/{graph}.svg",
            category="2. SSSP",
            caption="../report/figure_8.rst",
            labels={
                "graph": "{graph}",
                "figure": "figure 8",
                "view": "mean time against the threshold",
            },
        ),
    log:
        "logs/report/plot_thresholds/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        variants=SOURCE_VARIANTS,
        swept=lambda wildcards: [run.variant for run in threshold_runs(wildcards.graph)],
        code=code_hash("report.papers.adaptive"),
    script:
        "../scripts/plot_thresholds.py"
