"""Show which objects of a heap keep most memory alive, prove it, and write all of them as Parquet."""

import argparse
from pathlib import Path
from textwrap import shorten

import pyarrow as pa

from relaxometer.cli.command import graph_options
from relaxometer.cli.solve import read_graph
from relaxometer.core.errors import UserError, escaped
from relaxometer.core.files import write_table
from relaxometer.graphs.graph import NO_PREDECESSOR
from relaxometer.library.answers import WrongAnswer
from relaxometer.library.prepared import prepare

SHOWN = 50

NAME = 60

ROW = "{:>15} {:>7} {:>13} {:>8}  {:<19} {}"


def options(parser: argparse.ArgumentParser) -> None:
    graph_options(parser, (), "a heap snapshot of V8 or a heap dump of Java or Android")
    parser.add_argument("-o", "--output", type=Path, help="a Parquet file, one row per object")


def main(given: argparse.Namespace) -> None:
    graph = read_graph(given, likely="heapsnapshot")
    objects = graph.csr.objects
    if objects is None:
        raise UserError(f"{given.file}: not a heap; {graph.csr.metadata['format']} has no sizes of objects")
    (root,) = graph.csr.metadata["search_keys"]
    try:
        tree = prepare(graph, "dominators", device=given.device).search(root)
        found = tree.retained(objects["size"].to_numpy()).verify()
        levels = prepare(graph, "bfs", device=given.device).search(root).verify().level
    except WrongAnswer as error:
        raise UserError(str(error)) from None
    total = int(found.retained_size[root])
    reached = f"{int(found.reached.sum()):,} of {graph.n_vertices:,} objects reached"
    lines = [f"{given.file}: {reached}, {graph.n_arcs:,} references, {total:,} bytes; proven", ""]
    lines += [ROW.format("retained, bytes", "share", "own, bytes", "distance", "type", "name @id")]
    for v in found.top(SHOWN).tolist():
        one = objects.slice(v, 1).to_pylist()[0]
        name = f"{shorten(escaped(one['name']), NAME, placeholder='...')} @{one['object']}"
        retained = int(found.retained_size[v])
        shown = f"{retained:,}", f"{retained / max(total, 1):.1%}", f"{one['size']:,}", int(levels[v])
        lines.append(ROW.format(*shown, one["type"], name))
    if given.output:
        table = objects.append_column("retained_size", pa.array(found.retained_size))
        for name, column in (("dominator", found.idom), ("distance", levels)):
            table = table.append_column(name, pa.array(column, mask=column == NO_PREDECESSOR))
        write_table(table, given.output)
        lines += ["", f"{given.output}: {graph.n_vertices:,} objects"]
    print("\n".join(lines))
