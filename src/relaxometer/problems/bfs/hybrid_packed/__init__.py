"""Direction-optimizing breadth-first search for graphs with hubs, with packed neighbours."""
