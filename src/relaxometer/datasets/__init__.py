"""Graphs by name: the registry, downloads, and the readers and generators that make a graph."""
