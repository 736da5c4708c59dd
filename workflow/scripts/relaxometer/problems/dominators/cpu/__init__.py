"""Dominators on CPU cores."""
