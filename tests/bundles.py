"""A finished run of two tiny graphs without Snakemake, to pack into bundles."""

from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

from relaxometer.cli.all_runs import graph_of, inputs_of, jobs_of
from relaxometer.graphs.batch import Batch, write_batch
from relaxometer.graphs.graph import write_graph
from relaxometer.plan.plan import Plan
from relaxometer.results.finished import write_tables

ROOT = Path(__file__).parents[1]

CONFIG = {
    "device": "host",
    "timing": {"sources": 6, "repetitions": 2, "rounds": 1, "warmup": 0, "calls": 1},
    "sssp": {
        "graphs": ["small-grid"],
        "variants": {"conventional": {}, "dijkstra-cpu": {"timing": {"rounds": 2}}},
    },
    "bfs": {"graphs": ["small-grid"], "variants": {"hybrid-cpu": {}}},
    "dominators": {"graphs": ["flow-random-30"], "variants": {"semi-nca": {}}},
    "datasets": {
        "small-grid": {"format": "grid", "seed": 1, "parameters": {"rows": 8, "columns": 9}},
    },
}


WIDE = {"vertices": 40, "weights": {"range": [2**32 - 9, 2**32 - 2]}}
"""Paths longer than 32 bits hold."""

TYPES = {
    "device": "host",
    "timing": {"sources": 2, "repetitions": 1, "rounds": 1, "warmup": 0, "calls": 1},
    "sssp": {
        "graphs": ["float32", "float64", "far", "narrow"],
        "variants": {
            "near-far": {},
            "dijkstra-cpu": {"graphs": ["float32"]},
            "phast": {"graphs": ["float32", "far"]},
        },
    },
    "datasets": {
        **{
            kind: {
                **{"format": "grid", "seed": 1},
                "parameters": {"rows": 5, "columns": 6, "weights": {"type": kind, "range": [0.1, 9.5]}},
            }
            for kind in ("float32", "float64")
        },
        "narrow": {"format": "chain", "seed": 1, "parameters": WIDE},
        "far": {"format": "chain", "seed": 1, "parameters": WIDE, "distances": "uint64"},
    },
}
"""A run on weights of several types, which one variant does not take, and with distances of 64 bits."""


def plan(config: dict = CONFIG) -> Plan:
    return Plan(config, ROOT / "resources/datasets.yaml", "test", gpu=False)


def make_run(plan: Plan) -> None:
    """Do all jobs of a plan in the current folder, and gather them as the workflow does."""
    for name in inputs_of(plan):
        graph = graph_of(plan, name)
        if isinstance(graph, Batch):
            write_batch(graph, Path("results/batches", name))
        else:
            write_graph(graph, Path("results/graphs", name))
        for job in jobs_of(plan, name).values():
            job.do(graph)
    gather_run(plan)


@contextmanager
def finished_run(folder: Path) -> Iterator[Plan]:
    """Make a run in a folder, which is the current one within the block."""
    with chdir(folder):
        made = plan()
        make_run(made)
        yield made


def gather_run(plan: Plan) -> None:
    """Write the tables over all runs."""
    write_tables(plan, Path("results"), Path("results"))
