"""Figures 9 to 11 of Hirakushi and Takahashi on one GPU, the levels and sweeps behind them, Graph500's output."""


rule plot_bfs_degrees:
    input:
        vertices="results/graphs/{graph}/vertices.parquet",
        metadata="results/graphs/{graph}/graph.json",
    output:
        report(
            "results/figures/hybrid-bfs/figure-11/{graph}.svg",
            category="5. Graphs",
            caption="../report/bfs_degrees.rst",
            labels={
                "graph": "{graph}",
                "figure": "figure 11",
                "view": "vertices by degree",
            },
        ),
    log:
        "logs/report/plot_bfs_degrees/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.papers.hybrid_bfs", "graphs.graph"),
    script:
        "../scripts/plot_bfs_degrees.py"


rule plot_bfs_scales:
    input:
        timings="results/timings.parquet",
        graphs=expand("results/graphs/{graph}/graph.json", graph=GRAPH500_GRAPHS),
    output:
        rates=report(
            "results/figures/hybrid-bfs/figure-9.svg",
            category="3. BFS",
            caption="../report/bfs_rates.rst",
            labels={
                "graph": "all of Graph500",
                "figure": "figure 9",
                "view": "rate over size",
            },
        ),
        times=report(
            "results/figures/hybrid-bfs/figure-10.svg",
            category="3. BFS",
            caption="../report/bfs_times.rst",
            labels={
                "graph": "all of Graph500",
                "figure": "figure 10",
                "view": "time on CPU and GPU",
            },
        ),
    log:
        "logs/report/plot_bfs_scales.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        variants=GRAPH500_VARIANTS,
        code=code_hash("report.papers.hybrid_bfs"),
    script:
        "../scripts/plot_bfs_scales.py"


rule plot_bfs_levels:
    input:
        timings="results/timings.parquet",
        phases=lambda wildcards: expand(
            "results/runs/bfs/{graph}/{variant}/phases.parquet",
            graph=wildcards.graph,
            variant=[run.variant for run in bfs_variants(wildcards.graph)],
        ),
    output:
        report(
            "results/figures/hybrid-bfs/levels/{graph}.svg",
            category="3. BFS",
            caption="../report/bfs_levels.rst",
            labels={
                "graph": "{graph}",
                "figure": "levels",
                "view": "direction and time of each level",
            },
        ),
    log:
        "logs/report/plot_bfs_levels/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.papers.hybrid_bfs", "results.gather"),
    script:
        "../scripts/plot_bfs_levels.py"


rule plot_bfs_sweeps:
    input:
        timings="results/timings.parquet",
    output:
        report(
            "results/figures/hybrid-bfs/sweeps/{graph}.svg",
            category="3. BFS",
            caption="../report/bfs_sweeps.rst",
            labels={
                "graph": "{graph}",
                "figure": "sweeps",
                "view": "time against alpha, beta and threshold",
            },
        ),
    log:
        "logs/report/plot_bfs_sweeps/{graph}.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        swept=lambda wildcards: bfs_sweeps(wildcards.graph),
        code=code_hash("report.papers.hybrid_bfs"),
    script:
        "../scripts/plot_bfs_sweeps.py"


rule write_graph500_result:
    input:
        runs="results/runs/bfs/{graph}/{variant}/runs.parquet",
        graph="results/graphs/{graph}/graph.json",
    output:
        report(
            "results/graph500/{graph}-{variant}.txt",
            category="3. BFS",
            caption="../report/graph500_result.rst",
            labels={
                "graph": "{graph}",
                "figure": "Graph500's output",
                "view": "{variant}",
            },
        ),
    log:
        "logs/report/write_graph500_result/{graph}-{variant}.log",
    wildcard_constraints:
        graph="|".join(GRAPH500_GRAPHS) or "none",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("results.graph500_result"),
    script:
        "../scripts/write_graph500_result.py"
