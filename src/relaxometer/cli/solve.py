"""Search a graph from one source, prove the answer, and write it as Parquet."""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow as pa

from relaxometer.core.errors import UserError, naming_lacks
from relaxometer.core.files import write_table
from relaxometer.library.answers import WrongAnswer
from relaxometer.library.graph import Graph
from relaxometer.library.prepared import prepare

PROBLEMS = ("sssp", "bfs", "dominators")


def main() -> None:
    """Search as the command line says."""
    parser = argparse.ArgumentParser(prog="relaxometer solve", description=__doc__)
    parser.add_argument("file", help="a graph: DIMACS, Matrix Market, OpenStreetMap, ...")
    parser.add_argument("--format", help="of the file, if its name does not tell it")
    parser.add_argument("--problem", choices=PROBLEMS, default="sssp")
    parser.add_argument("--source", type=int, required=True, help="number of a vertex, from 0")
    parser.add_argument("--variant", help="by default, the one that suits one search")
    parser.add_argument("--device", choices=("auto", "cuda", "cpu", "host"), default="auto")
    parser.add_argument("-o", "--output", type=Path, required=True, help="a Parquet file, one row per vertex")
    given = parser.parse_args()
    try:
        with naming_lacks():
            graph = Graph.from_file(given.file, format=given.format)
            solver = prepare(graph, given.problem, variant=given.variant, device=given.device)
            answer = solver.search(given.source).verify().to_host()
            write_table(pa.table(dict(answer.columns)), given.output)
    except (UserError, WrongAnswer) as error:
        raise SystemExit(f"error: {error}") from None
    reached = int(answer.reached.sum())
    print(
        f"{given.output}: {reached:,} of {graph.n_vertices:,} vertices reached, proven; by {solver.variant}"
    )


if __name__ == "__main__":
    main()
