"""Which studies of the fast shortest paths a configuration asks for: throughput, choice, preparation."""

THROUGHPUT = expand(
    "results/throughput/{graph}.parquet", graph=PLAN.config.throughput.graphs
)


def has_choice():
    """Whether `auto` runs on some graph beside another variant."""
    return any(
        run.kernel == "auto" and len(sssp_runs(run.graph)) > 1
        for run in PLAN.runs.values()
    )


def study_figures():
    """The figures and tables of the studies."""
    targets = expand(
        "results/figures/throughput/{graph}.svg", graph=PLAN.config.throughput.graphs
    )
    if THROUGHPUT:
        targets += ["results/report/throughput.csv"]
    if has_choice():
        targets += ["results/report/auto-regret.csv"]
    if any(map(sssp_runs, PLAN.graphs)):
        targets += ["results/report/preparation.csv"]
    return targets
