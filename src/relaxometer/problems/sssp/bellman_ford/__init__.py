"""Bellman-Ford over all arcs in every phase, as an edge list or a sparse matrix."""
