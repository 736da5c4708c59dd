"""Shortest paths over several ranks."""
