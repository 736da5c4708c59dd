"""The sources that every variant starts from on a graph."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaxometer.core.errors import UserError, quoted
from relaxometer.graphs.graph import Graph


def sources_table(graph: Graph, sources: int | list[int | str], seed: int) -> pa.Table:
    """Choose the sources that every variant starts from on `graph`, with their ids if it has any.

    `sources` is the number to draw without repetition among the vertices that have arcs, fewer if the graph
    has no more, or the sources themselves: their numbers, or as texts their ids. Graphs with ``search_keys``
    in their metadata give the first of these instead. UserError if a given source is not a vertex, or no
    vertex has arcs.
    """
    chosen = _chosen(graph, sources, seed)
    ids = {} if graph.ids is None else {"id": graph.ids.take(pa.array(chosen))}
    return pa.table({"source": chosen, **ids})


def _chosen(graph: Graph, sources: int | list[int | str], seed: int) -> npt.NDArray[np.int64]:
    if isinstance(sources, list):
        numbers = [_number(graph, source) for source in sources]
        if len(set(numbers)) < len(numbers):
            raise UserError(
                f"graph {graph.name}: a source is given by number and by id (config: timing.sources)"
            )
        return np.array(numbers, dtype=np.int64)
    if keys := graph.metadata.get("search_keys"):
        return np.array(keys[:sources], dtype=np.int64)
    candidates = np.flatnonzero(graph.degrees)
    if not len(candidates):
        raise UserError(f"graph {graph.name}: no vertex has arcs, so no source can be drawn")
    return np.random.default_rng(seed).permutation(candidates)[:sources].astype(np.int64)


def _number(graph: Graph, source: int | str) -> int:
    """Return the number of a vertex that is given by it, or by its id."""
    if isinstance(source, str):
        place = int(graph.find([source])[0])
        if place < 0:
            has = "keeps no ids: give numbers" if graph.ids is None else f"has no vertex {quoted(source)}"
            raise UserError(f"graph {graph.name}: {has} (config: timing.sources)")
        return place
    if source >= graph.n_vertices:
        by_id = "" if graph.ids is None else f", or an id in quotes: '{source}'"
        raise UserError(
            f"graph {graph.name}: source {source} is out of range; "
            f"expected 0 to {graph.n_vertices - 1}{by_id} (config: timing.sources)"
        )
    return source


def untimed_vertices(graph: Graph, sources: npt.NDArray[np.integer], count: int) -> list[int]:
    """Choose at most `count` vertices other than the sources, for untimed searches.

    Neighbours of sources come first, since a search from there takes about as long. All have arcs. The
    sources themselves are returned if no other vertex has any.
    """
    is_free = graph.degrees > 0
    is_free[sources] = False
    chosen: list[int] = []
    for source in sources[:count].tolist():
        heads = graph.targets[graph.offsets[source] : graph.offsets[source + 1]]
        for head in heads[is_free[heads]][:1].tolist():
            chosen.append(head)
            is_free[head] = False
    others = np.flatnonzero(is_free)
    spread = others[:: max(1, len(others) // count)]
    return [*chosen, *spread.tolist()][:count] or sources[:count].tolist()
