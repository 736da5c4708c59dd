"""What the report shows of searches over several ranks."""


def distributed_results():
    """The table, the verdict and the figures of runs over several ranks, if a configuration asks for any."""
    if not PLAN.distributed:
        return []
    figures = ["figure-9", "figure-10", "figure-12", "scaling"]
    return [
        "results/distributed.csv",
        "results/distributed_verdict.txt",
        *expand("results/figures/distributed/{figure}.svg", figure=figures),
    ]
