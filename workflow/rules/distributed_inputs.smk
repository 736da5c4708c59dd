"""Inputs and GPUs of runs over several ranks, and the names of those with one rank and with more."""


def distributed_run(wildcards):
    """Return the run over several ranks that the wildcards name."""
    return PLAN.distributed[wildcards.run]


def of_ranks(key):
    """Return a function that returns a parameter of the run over several ranks that the wildcards name."""
    return lambda wildcards: parameters.of_ranks(PLAN, distributed_run(wildcards))[key]


def distributed_inputs(wildcards):
    """Return the stored graph and its sources, unless the ranks generate the graph."""
    graph = distributed_run(wildcards).graph
    if graph is None:
        return {}
    return {"graph": graph_files(graph), "sources": f"results/sources/{graph}.parquet"}


def distributed_gpus(wildcards):
    """Return the number of GPUs: one per rank, none if emulated."""
    run = distributed_run(wildcards)
    return 0 if run.device == "host" else run.ranks


ON_ONE_RANK = pattern_of(
    name for name, run in PLAN.distributed.items() if run.ranks == 1
)
ON_SEVERAL_RANKS = pattern_of(
    name for name, run in PLAN.distributed.items() if run.ranks > 1
)
