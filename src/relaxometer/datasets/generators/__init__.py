"""Generators: one module per family of synthetic graphs."""
