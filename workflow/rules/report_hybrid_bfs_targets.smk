"""Which runs of breadth-first search stand in which figure, and which figures and results there are of them."""

from relaxometer.report.figures import HYBRID, HYBRID_SWEPT


def bfs_runs(graph):
    """The runs of breadth-first search on a graph."""
    return [
        run for run in PLAN.runs.values() if (run.problem, run.graph) == ("bfs", graph)
    ]


def bfs_variants(graph):
    """The runs on a graph that are no points of a curve."""
    return [run for run in bfs_runs(graph) if not is_swept(run)]


def bfs_sweeps(graph):
    """By parameter, the variants on a graph that differ in that parameter of the hybrid search alone."""
    swept = [run for run in bfs_runs(graph) if run.kernel == HYBRID and is_swept(run)]
    of_parameter = {
        name: [run.variant for run in swept if list(run.parameters) == [name]]
        for name in HYBRID_SWEPT
    }
    return {name: variants for name, variants in of_parameter.items() if variants}


BFS_GRAPHS = [graph for graph in PLAN.graphs if bfs_variants(graph)]
GRAPH500_GRAPHS = [
    graph for graph in BFS_GRAPHS if PLAN.datasets[graph].format == "graph500"
]
GRAPH500_VARIANTS = list(
    dict.fromkeys(
        run.variant for graph in GRAPH500_GRAPHS for run in bfs_variants(graph)
    )
)


def hybrid_bfs_figures():
    """The figures of Hirakushi and Takahashi, and the results of Graph500, that a configuration asks for."""
    targets = expand("results/figures/hybrid-bfs/levels/{graph}.svg", graph=BFS_GRAPHS)
    targets += expand(
        "results/figures/hybrid-bfs/sweeps/{graph}.svg",
        graph=filter(bfs_sweeps, BFS_GRAPHS),
    )
    targets += expand(
        "results/figures/hybrid-bfs/figure-11/{graph}.svg", graph=GRAPH500_GRAPHS
    )
    if GRAPH500_GRAPHS:
        targets += [
            "results/figures/hybrid-bfs/figure-9.svg",
            "results/figures/hybrid-bfs/figure-10.svg",
        ]
    targets += [
        f"results/graph500/{graph}-{run.variant}.txt"
        for graph in GRAPH500_GRAPHS
        for run in bfs_variants(graph)
    ]
    return targets
