"""Snakemake's logger plugin `relaxometer`: the screen of a run."""

from relaxometer.core.screen import Screen as LogHandler

__all__ = ["LogHandler"]
