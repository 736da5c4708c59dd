"""Which runs stand in which figure, and which figures the report has."""

from collections import Counter

from relaxometer.report.figures import PHASE_SYNCHRONOUS

CURVE = 4
"""So many variants that differ in parameters alone are points of one curve, and stand in no other figure."""


def setting(run):
    """What the points of one curve have in common: all but the values of their parameters."""
    return run.problem, run.graph, run.kernel, *sorted(run.parameters)


SETTINGS = Counter(setting(run) for run in PLAN.runs.values())


def is_swept(run):
    """Whether a run is a point of a curve."""
    return bool(run.parameters) and SETTINGS[setting(run)] >= CURVE


def sssp_runs(graph):
    """The runs of shortest paths on a graph."""
    return [
        run for run in PLAN.runs.values() if (run.problem, run.graph) == ("sssp", graph)
    ]


def source_runs(graph):
    """The runs on a graph that the figures of Suzuki et al. compare."""
    runs = sssp_runs(graph)
    return [
        run for run in runs if run.kernel in PHASE_SYNCHRONOUS and not is_swept(run)
    ]


def threshold_runs(graph):
    """The runs on a graph that are points of figure 8."""
    runs = (run for run in sssp_runs(graph) if run.kernel == "adaptive")
    return [run for run in runs if "to_all_us" in run.parameters and is_swept(run)]


SWEPT = sorted({run.variant for run in PLAN.runs.values() if is_swept(run)})
SOURCE_GRAPHS = [graph for graph in PLAN.graphs if source_runs(graph)]
SOURCE_VARIANTS = list(
    dict.fromkeys(run.variant for graph in SOURCE_GRAPHS for run in source_runs(graph))
)


def graph_pages():
    """The pages that describe the graphs of the run, and the batches."""
    kinds = {
        name: "batches" if PLAN.datasets[name].is_batch else "graphs"
        for name in [*PLAN.graphs, *PLAN.batches]
    }
    return [f"results/report/{kind}/{name}.html" for name, kind in kinds.items()]


def report_figures():
    """Everything that the report shows beyond the summary and the claims."""
    targets = [
        "results/figures/median-times.svg",
        "results/context.json",
        "results/report/data.csv",
        *graph_pages(),
    ]
    targets += expand("results/figures/map/{graph}.png", graph=PLAN.config.report.maps)
    if "adaptive" in PLAN.config.report.sources:
        targets += expand("results/figures/figure-3/{graph}.svg", graph=PLAN.graphs)
        figures = ["figure-4", "figure-5", "figure-6"]
        targets += expand(
            "results/figures/{figure}/{graph}.svg", figure=figures, graph=SOURCE_GRAPHS
        )
        targets += ["results/figures/figure-7.svg"] if SOURCE_GRAPHS else []
        swept_graphs = filter(threshold_runs, PLAN.graphs)
        targets += expand("results/figures/figure-8/{graph}.svg", graph=swept_graphs)
    if "edge-bf" in PLAN.config.report.sources:
        targets += edge_bf_figures()
    if "hybrid-bfs" in PLAN.config.report.sources:
        targets += hybrid_bfs_figures()
    if "dominators" in PLAN.config.report.sources:
        targets += dominator_figures()
    if "survey" in PLAN.config.report.sources:
        targets += survey_figures()
    return targets + work_tables() + study_figures()
