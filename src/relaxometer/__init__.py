"""Relaxometer: GPU graph kernels raced on real maps, every answer proven."""

__version__ = "0.1.0"
