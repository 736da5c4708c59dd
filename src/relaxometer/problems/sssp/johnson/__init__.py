"""Searches with negative arcs by solvers that take none, after Johnson's potentials."""
