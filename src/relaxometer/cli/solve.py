"""Search a graph from one source, prove the answer, and write it as Parquet."""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow as pa

from relaxometer.cli.command import graph_options
from relaxometer.core.errors import UserError
from relaxometer.core.files import write_table
from relaxometer.library.answers import WrongAnswer
from relaxometer.library.graph import Graph
from relaxometer.library.prepared import prepare


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    graph_options(parser)
    parser.add_argument("--source", type=int, required=True, help="number of a vertex, from 0")
    parser.add_argument("--variant", help="by default, the one that suits one search")
    parser.add_argument("-o", "--output", type=Path, required=True, help="a Parquet file, one row per vertex")


def main(given: argparse.Namespace) -> None:
    """Search, prove and write."""
    graph = Graph.from_file(given.file, format=given.format)
    solver = prepare(graph, given.problem, variant=given.variant, device=given.device)
    try:
        answer = solver.search(given.source).verify().to_host()
    except WrongAnswer as error:
        raise UserError(str(error)) from None
    write_table(pa.table(dict(answer.columns)), given.output)
    reached = f"{int(answer.reached.sum()):,} of {graph.n_vertices:,} vertices reached"
    print(f"{given.output}: {reached}, proven; by {solver.variant}")
