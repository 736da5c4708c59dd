"""SciPy: Dijkstra's algorithm with a Fibonacci heap, and breadth-first search."""

import numpy as np
import scipy
from rival import Rival, Skipped, levels, serve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, dijkstra

MAX_ARCS = 2**31 - 1


class SciPy(Rival):
    version = scipy.__version__

    def __init__(self, graph, problem, parameters):
        if graph.n_arcs > MAX_ARCS:
            raise Skipped(f"{graph.n_arcs:,} arcs; SciPy's indices hold up to {MAX_ARCS:,}")
        weights = graph.weights.astype(np.float64) if problem == "sssp" else np.ones(graph.n_arcs)
        n = graph.n_vertices
        indices = graph.targets.astype(np.int32), graph.offsets.astype(np.int32)
        self.matrix = csr_array((weights, *indices), shape=(n, n))  # zero weights are explicit entries
        self.solve = self.shortest_paths if problem == "sssp" else self.breadth_first

    def shortest_paths(self, source):
        self.distance, self.predecessor = dijkstra(self.matrix, indices=source, return_predecessors=True)
        self.predecessor[source] = source

    def breadth_first(self, source):
        self.source, (_, self.predecessor) = source, breadth_first_order(self.matrix, source)
        self.predecessor[source] = source

    def answer(self):
        if self.solve == self.shortest_paths:
            return {"distance": self.distance, "predecessor": self.predecessor}
        return {"level": levels(self.predecessor, self.source), "predecessor": self.predecessor}


serve(SciPy)
