"""rustworkx: Dijkstra's algorithm, and Cooper, Harvey and Kennedy's dominators, in Rust.

It asks a Python function for the weight of each arc in every search: ours is `float`, the cheapest there is,
and its calls are part of the time. Of a batch, `immediate_dominators` is called once per graph.
"""

import numpy as np
import rustworkx
from rival import Rival, serve


class RustworkX(Rival):
    version = rustworkx.__version__

    def __init__(self, graph, problem, parameters):
        self.n, self.is_sssp = graph.n_vertices, problem == "sssp"
        weights = graph.weights.astype(np.float64) if self.is_sssp else None
        self.parts = [(n, self.build(n, *ends, weights), entry) for n, *ends, entry in graph.parts()]
        self.solve = self.shortest_paths if self.is_sssp else self.find_dominators

    def build(self, n, tails, heads, weights):
        graph = rustworkx.PyDiGraph()
        graph.add_nodes_from(range(n))
        ends = tails.tolist(), heads.tolist()
        if weights is None:
            graph.add_edges_from_no_data(list(zip(*ends, strict=True)))
        else:
            graph.add_edges_from(list(zip(*ends, weights.tolist(), strict=True)))
        return graph

    def shortest_paths(self, source):
        self.source, (_, graph, _) = source, self.parts[0]
        self.found = rustworkx.digraph_dijkstra_shortest_path_lengths(graph, source, float)

    def find_dominators(self, source):
        self.found = [
            rustworkx.immediate_dominators(graph, source if entry is None else entry)
            for _, graph, entry in self.parts
        ]

    def answer(self):
        if self.is_sssp:
            distance = self.column(self.n, self.found, np.float64)  # leaves out the source
            distance[self.source] = 0
            return {"distance": distance}
        parts = zip(self.parts, self.found, strict=True)
        return {"idom": np.concatenate([self.column(n, found, np.int64) for (n, _, _), found in parts])}

    def column(self, n, found, dtype):
        values = np.full(n, -1, dtype)
        values[np.fromiter(found.keys(), np.int64)] = np.fromiter(found.values(), dtype)
        return values


serve(RustworkX)
