"""NetworKit: Dijkstra's algorithm and breadth-first search, in C++.

Distances only: with `storePaths` NetworKit keeps all predecessors of a vertex and counts its shortest paths,
which takes longer, and Python could ask for them one vertex at a time.
"""

import networkit
import numpy as np
from rival import Rival, serve


class NetworKit(Rival):
    version = networkit.__version__

    def __init__(self, graph, problem, parameters):
        self.is_sssp = problem == "sssp"
        weights = graph.weights.astype(np.float64) if self.is_sssp else np.ones(graph.n_arcs)
        arcs = weights, (graph.tails.astype(np.int64), graph.targets.astype(np.int64))
        self.graph = networkit.GraphFromCoo(arcs, n=graph.n_vertices, weighted=self.is_sssp, directed=True)
        search = networkit.distance.Dijkstra if self.is_sssp else networkit.distance.BFS
        self.search = search(self.graph, 0, storePaths=False)

    def solve(self, source):
        self.search.setSource(source)
        self.search.run()

    def answer(self):
        found = self.search.getDistances(asarray=True)  # the largest float where unreached
        return {"distance" if self.is_sssp else "level": found}


serve(NetworKit)
