"""Dominators of undirected graphs by their biconnected components."""
