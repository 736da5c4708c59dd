"""Figures and tables of the survey, and the work of all variants of shortest paths."""


rule plot_extract_min:
    input:
        "results/extract_min.parquet",
    output:
        figure=report(
            "results/figures/survey-extract-min.svg",
            category="2. SSSP",
            caption="../report/survey_extract_min.rst",
            labels={
                "graph": "none",
                "figure": "survey table 1",
                "view": "time of ExtractMin",
            },
        ),
        table=report(
            "results/report/survey-extract-min.csv",
            category="2. SSSP",
            caption="../report/survey_extract_min.rst",
            labels={
                "graph": "none",
                "figure": "survey table 1",
                "view": "time of ExtractMin, as a table",
            },
        ),
    log:
        "logs/report/plot_extract_min.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.papers.survey"),
    script:
        "../scripts/plot_extract_min.py"


rule plot_queue_orders:
    input:
        timings="results/timings.parquet",
    output:
        report(
            "results/figures/survey-queues/{graph}.svg",
            category="2. SSSP",
            caption="../report/survey_queues.rst",
            labels={
                "graph": "{graph}",
                "figure": "survey, queues",
                "view": "order of the queues",
            },
        ),
    log:
        "logs/report/plot_queue_orders/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        variants=lambda wildcards: [run.variant for run in queue_runs(wildcards.graph)],
        code=code_hash("report.papers.survey"),
    script:
        "../scripts/plot_queue_orders.py"


rule plot_widths:
    input:
        timings="results/timings.parquet",
    output:
        report(
            "results/figures/survey-widths/{graph}.svg",
            category="2. SSSP",
            caption="../report/survey_widths.rst",
            labels={
                "graph": "{graph}",
                "figure": "survey, delta-stepping",
                "view": "width of a bucket",
            },
        ),
    log:
        "logs/report/plot_widths/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        variants=lambda wildcards: [run.variant for run in width_runs(wildcards.graph)],
        code=code_hash("report.papers.survey"),
    script:
        "../scripts/plot_widths.py"


rule tabulate_survey_bandwidth:
    input:
        timings="results/timings.parquet",
        rate="results/device_rates.json",
    output:
        report(
            "results/report/survey-bandwidth.csv",
            category="2. SSSP",
            caption="../report/survey_bandwidth.rst",
            labels={
                "graph": "all",
                "figure": "survey, bandwidth",
                "view": "effective bandwidth of all variants against a copy",
            },
        ),
    log:
        "logs/report/tabulate_survey_bandwidth.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        swept=SWEPT,
        code=code_hash("report.papers.survey"),
    script:
        "../scripts/tabulate_survey_bandwidth.py"


rule tabulate_work:
    input:
        timings="results/timings.parquet",
    output:
        report(
            "results/report/sssp-work.csv",
            category="2. SSSP",
            caption="../report/sssp_work.rst",
            labels={
                "graph": "all",
                "figure": "work",
                "view": "rank, phases and relaxed arcs of all variants",
            },
        ),
    log:
        "logs/report/tabulate_work.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        swept=SWEPT,
        code=code_hash("report.figures.work"),
    script:
        "../scripts/tabulate_work.py"
