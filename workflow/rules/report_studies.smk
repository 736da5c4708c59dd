"""Figures and tables of throughput, of the choice of `auto`, and of preparation."""


rule plot_throughput:
    input:
        launches="results/throughput/{graph}.parquet",
        timings="results/timings.parquet",
    output:
        report(
            "results/figures/throughput/{graph}.svg",
            category="2. SSSP",
            caption="../report/throughput.rst",
            labels={
                "graph": "{graph}",
                "figure": "throughput",
                "view": "searches per second",
            },
        ),
    log:
        "logs/report/plot_throughput/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.figures.throughput"),
    script:
        "../scripts/plot_throughput.py"


rule tabulate_throughput:
    input:
        launches=THROUGHPUT,
        timings="results/timings.parquet",
    output:
        report(
            "results/report/throughput.csv",
            category="2. SSSP",
            caption="../report/throughput.rst",
            labels={
                "graph": "all",
                "figure": "throughput",
                "view": "searches per second, as a table",
            },
        ),
    log:
        "logs/report/tabulate_throughput.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.figures.throughput"),
    script:
        "../scripts/tabulate_throughput.py"


rule plot_choice:
    input:
        timings="results/timings.parquet",
    output:
        figure=report(
            "results/figures/auto-regret.svg",
            category="2. SSSP",
            caption="../report/auto_regret.rst",
            labels={
                "graph": "all",
                "figure": "auto",
                "view": "its time against the best",
            },
        ),
        table=report(
            "results/report/auto-regret.csv",
            category="2. SSSP",
            caption="../report/auto_regret.rst",
            labels={
                "graph": "all",
                "figure": "auto",
                "view": "its choices and why, as a table",
            },
        ),
    log:
        "logs/report/plot_choice.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.figures.choice"),
    script:
        "../scripts/plot_choice.py"


rule tabulate_preparation:
    input:
        timings="results/timings.parquet",
    output:
        report(
            "results/report/preparation.csv",
            category="2. SSSP",
            caption="../report/preparation.rst",
            labels={
                "graph": "all",
                "figure": "preparation",
                "view": "its time, and when it pays",
            },
        ),
    log:
        "logs/report/tabulate_preparation.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        swept=SWEPT,
        code=code_hash("report.figures.preparation"),
    script:
        "../scripts/tabulate_preparation.py"
