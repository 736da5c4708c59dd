"""Query sets on the sample graphs, and their answers by a plain search."""

from dataclasses import replace

import numpy as np

from relaxometer.graphs.graph import UNREACHED, Graph
from relaxometer.problems.routes import Queries
from sample_graphs import reference_distances


def random_queries(graph: Graph, count: int = 40, seed: int = 3, **options) -> Queries:
    """Return random pairs of vertices, the first from a vertex to itself."""
    origins, targets = np.random.default_rng(seed).integers(graph.n_vertices, size=(2, count))
    targets[0] = origins[0]
    return Queries("random", origins.astype(np.uint32), targets.astype(np.uint32), **options)


def table_queries(graph: Graph, rows: int = 5, columns: int = 7, seed: int = 4, **options) -> Queries:
    """Return a table between random vertices, some of them twice."""
    random = np.random.default_rng(seed)
    origins, targets = (random.integers(graph.n_vertices, size=n).astype(np.uint32) for n in (rows, columns))
    ends = np.repeat(origins, columns), np.tile(targets, rows)
    return Queries("table", *ends, columns=columns, **options)


def some_queries(graph: Graph) -> list[Queries]:
    """Return sets of every kind, with and without paths and cutoffs."""
    pairs, table = random_queries(graph), table_queries(graph)
    middle = int(np.median(right_distances(graph, pairs)))
    sets = [pairs, table, replace(pairs, paths=True), replace(table, paths=True)]
    return sets + [replace(one, cutoff=min(middle, one.cutoff)) for one in sets] + [replace(pairs, cutoff=0)]


def right_distances(graph: Graph, queries: Queries) -> np.ndarray:
    """Return the distances of queries by a plain heap, uint32."""
    rows = {int(origin): reference_distances(graph, int(origin)) for origin in np.unique(queries.origins)}
    found = np.array([rows[int(o)][int(t)] for o, t in zip(queries.origins, queries.targets, strict=True)])
    return np.where(found > queries.cutoff, UNREACHED, found).astype(np.uint32)
