"""Dominators of a changing graph, by what added and removed arcs put in doubt."""
