"""The problems: shortest paths, breadth-first search, dominators; each a package with its variants."""
