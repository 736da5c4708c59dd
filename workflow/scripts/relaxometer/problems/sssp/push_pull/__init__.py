"""Direction-optimising delta-stepping for graphs with hubs."""
