"""The runs of a configuration, checked before any of them starts."""
