"""Search a graph from one source, prove the answer, and write it as Parquet or CSV."""

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from relaxometer.cli.command import graph_options
from relaxometer.core.errors import UserError, quoted
from relaxometer.core.files import replacing, write_table
from relaxometer.datasets.formats import all_formats
from relaxometer.graphs.graph import NO_PREDECESSOR
from relaxometer.library.answers import WrongAnswer
from relaxometer.library.graph import VALUES_OF, Graph, file_formats, format_of, read_file, unused_values
from relaxometer.library.prepared import prepare
from relaxometer.problems.problem import load_problem

TREES = ("predecessor", "idom")


def options(parser: argparse.ArgumentParser) -> None:
    graph_options(parser)
    parser.add_argument(
        "--source",
        required=True,
        help="a vertex: its id in a table, else its number from 0; vertex 1 of a DIMACS or METIS file is 0",
    )
    parser.add_argument("--variant", help="by default, the one that suits one search")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        help="one row per vertex; CSV if it ends in .csv, else Parquet",
    )


def read_graph(given: argparse.Namespace, likely: str = "edge-list") -> Graph:
    """Read the graph that `graph_options` name; of a `likely` format, if the file's name tells none."""
    file = Path(given.file)
    if not (given.format or format_of(file) or file.is_dir()):
        advice = f"add --format {likely} (or one of: {', '.join(file_formats())})"
        raise UserError(f"{file}: its name does not tell the format; {advice}")
    graph = read_file(file, given.format, weight_parameters(file, given.format, given.weight))
    uses_weights = given.problem is not None and load_problem(given.problem).lengths
    if uses_weights and (said := unused_values(file, graph)):
        print(f"{said}; --weight values uses it", file=sys.stderr)
    return graph


def weight_parameters(file: Path, form: str | None, weight: str | None) -> dict[str, Any]:
    """Return the parameters of the file's format that `--weight` stands for."""
    form = form or format_of(file)
    if weight is None or form not in all_formats():
        return {}
    if "weight" in all_formats()[form].parameters.model_fields:
        return {"weight": weight}
    if form in VALUES_OF and weight == "values":
        return {"weights": {"distribution": "values"}}
    right = f"values, for {VALUES_OF[form]}" if form in VALUES_OF else f"none, since {form} has no columns"
    raise UserError(f"{file}: --weight {quoted(weight)}; expected {right}")


def weights_said(graph: Graph, problem: str) -> str:
    """Say which weights count, after a semicolon, where the file's format leaves it open."""
    if not load_problem(problem).lengths:
        return ""
    if (graph.csr.weights == 1).all():
        return "; every weight is 1"
    column = graph.csr.metadata.get("weights_from")
    return f"; weights from {quoted(column)}" if column else ""


def main(given: argparse.Namespace) -> None:
    graph = read_graph(given)
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
    said = weights_said(graph, given.problem)
    print(f"{given.output}: {reached}, proven; by {solver.variant}{said}")
    if graph.first_in_file:
        named = f"--source {vertex} is vertex {vertex + graph.first_in_file} of the file"
        print(f"vertices are numbered from 0: {named}")


def _table(graph: Graph, columns: Mapping[str, Any]) -> pa.Table:
    """Return an answer as a table, with vertices by the ids of the graph's file, if it has any."""
    ids = graph.csr.ids
    if ids is None:
        return pa.table({"vertex": np.arange(graph.n_vertices, dtype=np.uint32), **columns})
    named = {
        name: ids.take(pa.array(column, mask=column == NO_PREDECESSOR)) if name in TREES else column
        for name, column in columns.items()
    }
    return pa.table({"id": ids, **named})
