"""Dominators on one CPU core."""
