"""Which runs stand in the figures of the survey, and which figures those are."""


def queue_runs(graph):
    """The runs of Bellman-Ford with queues on a graph."""
    return [run for run in sssp_runs(graph) if run.kernel == "bellman-ford-queue"]


def width_runs(graph):
    """The runs of delta-stepping on a graph."""
    return [run for run in sssp_runs(graph) if run.kernel == "delta-stepping"]


def is_compared(runs):
    """Whether there is more than one run, so that a figure of a parameter shows something."""
    return len(runs) > 1


EXTRACT_MIN = (
    ["results/extract_min.parquet"] if "survey" in PLAN.config.report.sources else []
)


def survey_figures():
    """What the report shows of the survey."""
    queues = [graph for graph in PLAN.graphs if is_compared(queue_runs(graph))]
    buckets = [graph for graph in PLAN.graphs if is_compared(width_runs(graph))]
    has_runs = any(map(sssp_runs, PLAN.graphs))
    bandwidth = ["results/report/survey-bandwidth.csv"] if has_runs else []
    return [
        "results/figures/survey-extract-min.svg",
        *bandwidth,
        *expand("results/figures/survey-queues/{graph}.svg", graph=queues),
        *expand("results/figures/survey-widths/{graph}.svg", graph=buckets),
    ]


def work_tables():
    """The table of the work of all variants of shortest paths, whatever their source."""
    has_runs = any(map(sssp_runs, PLAN.graphs))
    return ["results/report/sssp-work.csv"] if has_runs else []
