"""Dijkstra's algorithm, on the GPU and on CPU cores."""
