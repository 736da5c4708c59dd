"""Search a graph from one source, prove the answer, and write it as Parquet or CSV."""

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from relaxometer.cli.command import graph_options
from relaxometer.core.errors import UserError
from relaxometer.core.files import replacing, write_table
from relaxometer.graphs.graph import NO_PREDECESSOR
from relaxometer.library.answers import WrongAnswer
from relaxometer.library.graph import Graph
from relaxometer.library.prepared import prepare

TREES = ("predecessor", "idom")


def options(parser: argparse.ArgumentParser) -> None:
    graph_options(parser)
    parser.add_argument("--source", required=True, help="a vertex: its id in a table, else a number from 0")
    parser.add_argument("--variant", help="by default, the one that suits one search")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        help="one row per vertex; CSV if it ends in .csv, else Parquet",
    )


def main(given: argparse.Namespace) -> None:
    graph = Graph.from_file(given.file, format=given.format)
    solver = prepare(graph, given.problem, variant=given.variant, device=given.device)
    # As the graph's file names it.
    is_number = re.fullmatch("-?[0-9]{1,20}", given.source) and not graph.has_node(given.source)
    vertex = int(given.source) if is_number else given.source
    try:
        answer = solver.search(vertex).verify().to_host()
    except WrongAnswer as error:
        raise UserError(str(error)) from None
    table = _table(graph, answer.columns)
    if given.output.suffix == ".csv":
        with replacing(given.output) as temporary:
            csv.write_csv(table, temporary)
    else:
        write_table(table, given.output)
    reached = f"{int(answer.reached.sum()):,} of {graph.n_vertices:,} vertices reached"
    print(f"{given.output}: {reached}, proven; by {solver.variant}")


def _table(graph: Graph, columns: Mapping[str, Any]) -> pa.Table:
    """Return an answer as a table, with vertices by the ids of the graph's file, if it has any."""
    ids = graph.csr.ids
    if ids is None:
        return pa.table(dict(columns))
    named = {
        name: ids.take(pa.array(column, mask=column == NO_PREDECESSOR)) if name in TREES else column
        for name, column in columns.items()
    }
    return pa.table({"id": ids, **named})
