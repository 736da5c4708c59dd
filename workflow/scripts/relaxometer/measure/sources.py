"""The sources that every variant starts from on a graph."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from relaxometer.core.errors import UserError
from relaxometer.graphs.graph import Graph


def sources_table(graph: Graph, sources: int | list[int], seed: int) -> pa.Table:
    """Choose the sources that every variant starts from on `graph`.

    Parameters
    ----------
    graph : Graph
    sources : int or list of int
        How many to draw without repetition among the vertices that have arcs, or the sources themselves.
        Graphs with ``search_keys`` in their metadata give the first of these instead.
    seed : int

    Returns
    -------
    Table with the column ``source``, int64
        Fewer than asked for if the graph has no more.

    Raises
    ------
    UserError
        If a given source is not a vertex, or no vertex has arcs.
    """
    if isinstance(sources, list):
        for source in sources:
            if source >= graph.n_vertices:
                raise UserError(
                    f"graph {graph.name}: source {source} is out of range; "
                    f"expected 0 to {graph.n_vertices - 1} (config: timing.sources)"
                )
        return pa.table({"source": np.array(sources, dtype=np.int64)})
    if keys := graph.metadata.get("search_keys"):
        return pa.table({"source": np.array(keys[:sources], dtype=np.int64)})
    candidates = np.flatnonzero(graph.degrees)
    if not len(candidates):
        raise UserError(f"graph {graph.name}: no vertex has arcs, so no source can be drawn")
    drawn = np.random.default_rng(seed).permutation(candidates)[:sources]
    return pa.table({"source": drawn.astype(np.int64)})
