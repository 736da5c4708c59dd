"""What jobs of several ranks need, and which runs have one rank or more."""


def distributed_run(wildcards):
    """The run over several ranks that a job's wildcards name."""
    return PLAN.distributed[wildcards.run]


def distributed_inputs(wildcards):
    """The stored graph that is searched and its sources, unless the ranks make the graph."""
    graph = distributed_run(wildcards).graph
    if graph is None:
        return {}
    return {
        "graph": graph_files(graph),
        "sources": f"results/sources/{graph}.parquet",
    }


def distributed_gpus(wildcards):
    """How many GPUs a run over several ranks asks for: one a rank, unless it is emulated."""
    run = distributed_run(wildcards)
    return 0 if run.device == "host" else run.ranks


def names_of(runs):
    """A pattern of these names alone."""
    return "|".join(runs) or "(?!)"


ON_ONE_RANK = names_of(name for name, run in PLAN.distributed.items() if run.ranks == 1)
ON_SEVERAL_RANKS = names_of(
    name for name, run in PLAN.distributed.items() if run.ranks > 1
)
