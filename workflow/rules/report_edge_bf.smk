"""Figures and tables of the article on Bellman-Ford over edges."""


rule measure_copy_rate:
    output:
        "results/device_rates.json",
    log:
        "logs/measure_copy_rate.log",
    conda:
        "../envs/relaxometer.yaml"
    threads: lambda wildcards: workflow.cores
    resources:
        gpu=1,
    params:
        device=PLAN.config.device,
        code=code_hash("device.rates"),
    script:
        "../scripts/measure_copy_rate.py"


rule plot_edge_bf:
    input:
        timings="results/timings.parquet",
        graphs=expand("results/graphs/{graph}/graph.json", graph=EDGE_BF_GRAPHS),
    output:
        performance=report(
            "results/figures/edge-bf-performance.svg",
            category="2. SSSP",
            caption="../report/edge_bf_performance.rst",
            labels={
                "graph": "R-MAT",
                "figure": "edge-bf 1",
                "view": "arcs a second",
            },
        ),
        speedup=report(
            "results/figures/edge-bf-speedup.svg",
            category="2. SSSP",
            caption="../report/edge_bf_speedup.rst",
            labels={
                "graph": "R-MAT",
                "figure": "edge-bf 2",
                "view": "gain over a CPU",
            },
        ),
        gains=report(
            "results/figures/edge-bf-gains.svg",
            category="2. SSSP",
            caption="../report/edge_bf_gains.rst",
            labels={
                "graph": "R-MAT",
                "figure": "edge-bf 3",
                "view": "gain of each optimisation",
            },
        ),
    log:
        "logs/report/plot_edge_bf.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        swept=SWEPT,
        code=code_hash("report.papers.edge_bf"),
    script:
        "../scripts/plot_edge_bf.py"


rule plot_edge_bf_blocks:
    input:
        timings="results/timings.parquet",
    output:
        report(
            "results/figures/edge-bf-blocks/{graph}.svg",
            category="2. SSSP",
            caption="../report/edge_bf_blocks.rst",
            labels={
                "graph": "{graph}",
                "figure": "edge-bf 4",
                "view": "mean time against the size of a block",
            },
        ),
    log:
        "logs/report/plot_edge_bf_blocks/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        swept=lambda wildcards: [run.variant for run in block_runs(wildcards.graph)],
        code=code_hash("report.papers.edge_bf"),
    script:
        "../scripts/plot_edge_bf_blocks.py"


rule tabulate_edge_bf:
    input:
        timings="results/timings.parquet",
        graphs=expand("results/graphs/{graph}/graph.json", graph=EDGE_BF_GRAPHS),
        rate="results/device_rates.json",
    output:
        graphs=report(
            "results/report/edge-bf-graphs.csv",
            category="5. Graphs",
            caption="../report/edge_bf_graphs.rst",
            labels={
                "graph": "R-MAT",
                "figure": "edge-bf table",
                "view": "outline of the graphs",
            },
        ),
        bandwidth=report(
            "results/report/edge-bf-bandwidth.csv",
            category="2. SSSP",
            caption="../report/edge_bf_bandwidth.rst",
            labels={
                "graph": "all",
                "figure": "bandwidth",
                "view": "effective bandwidth against a copy",
            },
        ),
    log:
        "logs/report/tabulate_edge_bf.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.papers.edge_bf"),
    script:
        "../scripts/tabulate_edge_bf.py"
