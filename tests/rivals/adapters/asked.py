"""A rival that answers query sets and does what it should; the cheats of the tests derive from it."""

import numpy as np
from honest import FAR, Honest


class Asked(Honest):
    """Dijkstra's algorithm from each origin."""

    def ask(self, queries):
        self.queries = queries
        self.pairs = list(zip(queries.origins.tolist(), queries.targets.tolist(), strict=True))

    def solve(self, source):
        self.found, self.paths = [], []
        for origin, target in self.pairs:
            super().solve(origin)
            there = self.distance[target] <= self.queries.cutoff
            self.found.append(self.distance[target] if there else FAR)
            self.paths.append(self.path(origin, target) if there else [])

    def path(self, origin, target):
        path = [target]
        while path[-1] != origin:
            path.append(self.predecessor[path[-1]])
        return path[::-1]

    def answer(self):
        columns = {"distance": np.array(self.found, np.int64)}
        if self.queries.paths:
            columns["size"] = np.array([len(path) for path in self.paths], np.uint32)
            columns["path"] = np.array([vertex for path in self.paths for vertex in path], np.uint32)
        return columns
