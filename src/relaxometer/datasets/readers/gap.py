"""Reader of graphs as the GAP Benchmark Suite stores them, ``.sg`` and with weights ``.wsg``.

References
----------
S. Beamer, K. Asanovic and D. Patterson, "The GAP Benchmark Suite", arXiv:1508.03619; the layout is that of
``WriteSerializedGraph`` in its ``src/writer.h``.
"""

from pathlib import Path

import numpy as np

from relaxometer.core.errors import UserError
from relaxometer.datasets.parameters import OwnWeights
from relaxometer.datasets.readers.edge_weights import weights_of
from relaxometer.datasets.readers.mirrored import edges_listed_twice
from relaxometer.datasets.readers.text import check_vertices, read_bytes
from relaxometer.datasets.registry import Dataset
from relaxometer.datasets.weights import typed_graph
from relaxometer.graphs.graph import Graph

HEADER = 17
"""Bytes before the offsets: whether the graph is directed, and 64-bit counts of arcs and vertices."""


def build(name: str, dataset: Dataset[OwnWeights], file: Path) -> Graph:
    """Make the graph of a file; see :data:`relaxometer.datasets.build.Reader`."""
    content = read_bytes(file)
    if len(content) < HEADER or content[0] > 1:
        raise UserError(f"{file}: not a graph of the GAP Benchmark Suite; expected .sg or .wsg")
    is_directed = content[0] == 1
    n_arcs, n_vertices = map(int, np.frombuffer(content, "<i8", 2, offset=1))
    per_arc = 8 if ".wsg" in file.suffixes else 4
    expected = HEADER + (1 + is_directed) * (8 * (n_vertices + 1) + per_arc * n_arcs)
    if n_arcs < 0 or not 0 <= n_vertices < 2**31 or expected != len(content):
        kind = (
            f"{'directed' if is_directed else 'undirected'} graph of type {'.wsg' if per_arc == 8 else '.sg'}"
        )
        counts = f"{n_vertices} vertices and {n_arcs} arcs"
        raise UserError(
            f"{file}: {len(content)} bytes, but a {kind} of {counts} has {expected}; the file is incomplete, "
            "or its name has the other ending"
        )
    check_vertices(str(file), n_vertices, n_arcs, "arcs")
    offsets = np.frombuffer(content, "<i8", n_vertices + 1, offset=HEADER)
    words = np.frombuffer(content, "<i4", n_arcs * per_arc // 4, offset=HEADER + 8 * (n_vertices + 1))
    if offsets[0] != 0 or offsets[-1] != n_arcs or np.any(offsets[1:] < offsets[:-1]):
        raise UserError(f"{file}: its offsets do not ascend from 0 to {n_arcs}; fetch it again")
    tails = np.repeat(np.arange(n_vertices, dtype=np.uint32), np.diff(offsets))
    heads = words[:: per_arc // 4]
    loads = words[1::2] if per_arc == 8 else np.zeros(n_arcs, np.int32)
    if heads.min(initial=0) < 0 or heads.max(initial=-1) >= n_vertices:
        raise UserError(f"{file}: an arc leads to no vertex; expected 0 to {n_vertices - 1}; fetch it again")
    if not is_directed:
        entries = tails, heads.astype(np.uint32), loads
        tails, heads, loads = edges_listed_twice(file, lambda: [entries])
    values = loads.astype(np.float64) if per_arc == 8 else None
    weights = weights_of(file, dataset.parameters, tails, heads, values, directed=is_directed)
    arcs, facts = (tails, heads, weights), {"arcs_in_file": n_arcs}
    return typed_graph(name, n_vertices, *arcs, undirected=not is_directed, metadata=facts)
