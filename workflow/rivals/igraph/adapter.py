"""igraph for Python: Dijkstra's algorithm, breadth-first search, and Lengauer and Tarjan's dominators, in C.

Its functions take weights and return results as lists. Copying them is part of the time: nothing else is
offered. Of a batch, `dominator` is called once per graph.
"""

import igraph
import numpy as np
from rival import Rival, serve


class IGraph(Rival):
    version = igraph.__version__

    def __init__(self, graph, problem, parameters):
        self.n = graph.n_vertices
        self.weights = graph.weights.astype(np.float64).tolist() if problem == "sssp" else None
        self.parts = [
            (igraph.Graph(n, np.column_stack([tails, heads]).astype(np.int64), directed=True), entry)
            for n, tails, heads, entry in graph.parts()
        ]
        self.solve, self.answer = {
            "sssp": (self.shortest_paths, self.distances),
            "bfs": (self.breadth_first, self.tree),
            "dominators": (self.find_dominators, self.dominators),
        }[problem]

    def shortest_paths(self, source):
        graph, _ = self.parts[0]
        self.found = graph.distances(source, weights=self.weights, algorithm="dijkstra")

    def breadth_first(self, source):
        self.found = self.parts[0][0].bfs(source)

    def find_dominators(self, source):
        self.roots = [source if entry is None else entry for _, entry in self.parts]
        pairs = zip(self.parts, self.roots, strict=True)
        self.found = [graph.dominator(root) for (graph, _), root in pairs]

    def distances(self):
        return {"distance": np.array(self.found[0])}

    def tree(self):
        order, begins, parents = map(np.array, self.found)
        level, predecessor = np.full(self.n, -1), np.full(self.n, -1)
        level[order] = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
        predecessor[order] = parents[order]
        predecessor[order[0]] = order[0]
        return {"level": level, "predecessor": predecessor}

    def dominators(self):
        columns = [np.array(found, dtype=np.float64) for found in self.found]  # NaN where unreached
        for column, root in zip(columns, self.roots, strict=True):
            column[root] = root
        return {"idom": np.nan_to_num(np.concatenate(columns), nan=-1.0)}


serve(IGraph)
