"""Which runs stand in the figures of the article on Bellman-Ford over edges."""


def edge_bf_runs(graph):
    """The runs of Bellman-Ford over edges on a graph."""
    return [run for run in sssp_runs(graph) if run.kernel == "edge-bf"]


def block_runs(graph):
    """The runs on a graph that are points of the sweep of the size of a block."""
    runs = (run for run in edge_bf_runs(graph) if "block" in run.parameters)
    return [run for run in runs if is_swept(run)]


EDGE_BF_GRAPHS = [
    graph
    for graph in PLAN.graphs
    if PLAN.datasets[graph].format == "rmat" and edge_bf_runs(graph)
]


def edge_bf_figures():
    """What the report shows of the article, where it ran on R-MAT graphs."""
    if not EDGE_BF_GRAPHS:
        return []
    over_all = ["performance", "speedup", "gains"]
    targets = expand("results/figures/edge-bf-{figure}.svg", figure=over_all)
    targets += ["results/report/edge-bf-graphs.csv"]
    swept = filter(block_runs, EDGE_BF_GRAPHS)
    return targets + expand("results/figures/edge-bf-blocks/{graph}.svg", graph=swept)
