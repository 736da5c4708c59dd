"""Figures and table of the article on dominators."""


rule plot_dominator_sizes:
    input:
        timings="results/timings.parquet",
        graphs=expand("results/graphs/{graph}/graph.json", graph=FLOW_FAMILY),
    output:
        report(
            "results/figures/dominators-size.svg",
            category="4. Dominators",
            caption="../report/dominators_size.rst",
            labels={
                "graph": "random flow graphs",
                "figure": "size",
                "view": "time over size",
            },
        ),
    log:
        "logs/report/plot_dominator_sizes.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.papers.dominators"),
    script:
        "../scripts/plot_dominators.py"


use rule plot_dominator_sizes as plot_dominator_batches with:
    input:
        timings="results/timings.parquet",
        batches=expand("results/batches/{batch}/batch.json", batch=FLOW_BATCHES),
    output:
        report(
            "results/figures/dominators-batches.svg",
            category="4. Dominators",
            caption="../report/dominators_batches.rst",
            labels={
                "graph": "all batches",
                "figure": "batches",
                "view": "functions per second",
            },
        ),
    log:
        "logs/report/plot_dominator_batches.log",


rule tabulate_dominator_steps:
    input:
        timings="results/timings.parquet",
        phases=expand("{folder}/phases.parquet", folder=STEP_FOLDERS),
        contexts=expand("{folder}/context.json", folder=STEP_FOLDERS),
    output:
        report(
            "results/report/dominator-steps.csv",
            category="4. Dominators",
            caption="../report/dominators_steps.rst",
            labels={
                "graph": "flow-source",
                "figure": "steps",
                "view": "time of each step, as a table",
            },
        ),
    log:
        "logs/report/tabulate_dominator_steps.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.papers.dominators"),
    script:
        "../scripts/tabulate_dominator_steps.py"


rule tabulate_dominator_winners:
    input:
        timings="results/timings.parquet",
    output:
        report(
            "results/report/dominator-winners.csv",
            category="4. Dominators",
            caption="../report/dominators_winners.rst",
            labels={
                "graph": "all",
                "figure": "winners",
                "view": "where a GPU wins and where it loses, as a table",
            },
        ),
    log:
        "logs/report/tabulate_dominator_winners.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.papers.dominators"),
    script:
        "../scripts/tabulate_dominator_winners.py"


rule plot_dominator_updates:
    input:
        UPDATES,
    output:
        report(
            "results/figures/dominators-updates.svg",
            category="4. Dominators",
            caption="../report/dominators_updates.rst",
            labels={
                "graph": "all of the study",
                "figure": "updates",
                "view": "time over the arcs of an update",
            },
        ),
    log:
        "logs/report/plot_dominator_updates.log",
    conda:
        "../envs/relaxometer.yaml"
    params:
        code=code_hash("report.papers.dominator_updates"),
    script:
        "../scripts/plot_dominator_updates.py"


use rule plot_dominator_updates as tabulate_dominator_updates with:
    output:
        report(
            "results/report/dominator-updates.csv",
            category="4. Dominators",
            caption="../report/dominators_updates.rst",
            labels={
                "graph": "all of the study",
                "figure": "updates",
                "view": "time over the arcs of an update, as a table",
            },
        ),
    log:
        "logs/report/tabulate_dominator_updates.log",
