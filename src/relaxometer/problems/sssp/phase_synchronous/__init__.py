"""Shortest paths phase by phase, after Suzuki et al."""
