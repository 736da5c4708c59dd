"""Figures 9, 10 and 12 of Hirakushi and Takahashi over ranks, and how well the series scale."""


include: "report_distributed_targets.smk"


rule plot_distributed:
    input:
        "results/distributed.csv",
    output:
        rates=report(
            "results/figures/distributed/figure-9.svg",
            category="3. BFS",
            caption="../report/distributed_rates.rst",
            labels={
                "graph": "several ranks",
                "figure": "figure 9",
                "view": "rate over ranks",
            },
        ),
        computing=report(
            "results/figures/distributed/figure-10.svg",
            category="3. BFS",
            caption="../report/distributed_parts.rst",
            labels={
                "graph": "several ranks",
                "figure": "figure 10",
                "view": "computing over ranks",
            },
        ),
        communication=report(
            "results/figures/distributed/figure-12.svg",
            category="3. BFS",
            caption="../report/distributed_parts.rst",
            labels={
                "graph": "several ranks",
                "figure": "figure 12",
                "view": "communication over ranks",
            },
        ),
        scaling=report(
            "results/figures/distributed/scaling.svg",
            category="3. BFS",
            caption="../report/distributed_scaling.rst",
            labels={
                "graph": "several ranks",
                "figure": "scaling",
                "view": "weak and strong scaling",
            },
        ),
    log:
        "logs/report/plot_distributed.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.papers.hybrid_bfs_ranks"),
    script:
        "../scripts/plot_distributed.py"
