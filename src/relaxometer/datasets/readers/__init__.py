"""Readers: one module per format of published data."""
