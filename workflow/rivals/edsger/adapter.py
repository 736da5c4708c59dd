"""Edsger: Dijkstra's algorithm with a 4-ary heap and decrease-key, and breadth-first search, in Cython.

Edsger merges parallel arcs while it loads. A breadth-first search returns predecessors only; we find the
levels from them, untimed.
"""

from importlib.metadata import version

import numpy as np
import pandas as pd
from edsger.path import BFS, Dijkstra
from rival import Rival, levels, serve


class Edsger(Rival):
    version = version("edsger")

    def __init__(self, graph, problem, parameters):
        n = graph.n_vertices
        # A loop at the last vertex, since Edsger takes the largest id for the number of vertices.
        arcs = {"tail": np.append(graph.tails, n - 1), "head": np.append(graph.targets, n - 1)}
        if problem == "sssp":
            arcs["weight"] = np.append(graph.weights, 0).astype(np.float64)
            self.search, self.solve = Dijkstra(pd.DataFrame(arcs)), self.shortest_paths
        else:
            self.search, self.solve = BFS(pd.DataFrame(arcs), sentinel=-1), self.breadth_first

    def shortest_paths(self, source):
        self.distance = self.search.run(source, path_tracking=True, return_inf=False)

    def breadth_first(self, source):
        self.source, self.predecessor = source, self.search.run(source)

    def answer(self):
        if self.solve == self.shortest_paths:
            unreached = self.distance == np.finfo(np.float64).max
            predecessor = np.where(unreached, -1, self.search.path_links.astype(np.int64))
            return {"distance": self.distance, "predecessor": predecessor}
        self.predecessor[self.source] = self.source
        return {"level": levels(self.predecessor, self.source), "predecessor": self.predecessor}


serve(Edsger)
