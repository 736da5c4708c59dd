"""Rivals: other people's programs, each in its own process and environment; see ``docs/rivals.md``."""
