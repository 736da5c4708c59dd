"""Maps cut into tiles that fit in shared memory, for breadth-first search."""
