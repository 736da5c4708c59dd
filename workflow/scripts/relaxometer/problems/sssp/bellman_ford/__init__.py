"""Bellman-Ford over all edges, as an edge list or a sparse matrix."""
