"""Push along light arcs, then pull into the vertices that are left; for skewed graphs."""
