"""Which runs stand in the figures of the article on dominators, and which figures those are."""


def dominator_runs(graph):
    """The runs of dominators on a graph or a batch."""
    return [
        run
        for run in PLAN.runs.values()
        if (run.problem, run.graph) == ("dominators", graph)
    ]


# Graphs that differ in size, by their names; others of the format differ in shape.
FLOW_FAMILY = [
    graph
    for graph in PLAN.graphs
    if graph.startswith("flow-random") and dominator_runs(graph)
]
FLOW_BATCHES = [batch for batch in PLAN.batches if dominator_runs(batch)]
UPDATES = expand("results/updates/{graph}.parquet", graph=PLAN.config.updates.graphs)
STEP_FOLDERS = [
    "results/runs/{}/{}/{}".format(*key)
    for key, run in PLAN.runs.items()
    if run.kernel == "persistent-warp" and run.graph == "flow-source"
]


def dominator_figures():
    """What the report shows of dominators."""
    targets = ["results/figures/dominators-size.svg"] if FLOW_FAMILY else []
    targets += ["results/figures/dominators-batches.svg"] if FLOW_BATCHES else []
    if any(run.problem == "dominators" for run in PLAN.runs.values()):
        targets += ["results/report/dominator-winners.csv"]
    if UPDATES:
        targets += [
            "results/figures/dominators-updates.svg",
            "results/report/dominator-updates.csv",
        ]
    return targets + (["results/report/dominator-steps.csv"] if STEP_FOLDERS else [])
