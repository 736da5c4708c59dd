"""SuiteSparse:GraphBLAS by python-graphblas: a search is a sequence of sparse vector-matrix products.

It has no searches of its own. Ours follow LAGraph: delta-stepping over (min, +), with all arcs alike, and
breadth-first search over (any, secondi), pushing or pulling. A phase's calls from Python take about 0.2 ms.
"""

import graphblas
import numpy as np
from graphblas import Matrix, Vector, binary, semiring
from rival import Rival, levels, serve


class GraphBlas(Rival):
    version = graphblas.__version__

    def __init__(self, graph, problem, parameters):
        graphblas.ss.config["nthreads"] = int(parameters["threads"])
        self.n, self.pull, self.delta = graph.n_vertices, int(parameters["pull"]), int(parameters["delta"])
        arcs, shape = (graph.tails, graph.targets), {"nrows": self.n, "ncols": self.n}
        if problem == "sssp":
            self.solve, weights = self.shortest_paths, graph.weights.astype(np.int64)
            self.delta = self.delta or 1 + int(32.0 * weights.sum() * self.n / max(1, graph.n_arcs) ** 2)
            self.facts = {"delta": self.delta}
            self.out = Matrix.from_coo(*arcs, weights, dup_op=binary.min, **shape).wait()
        else:
            self.solve = self.breadth_first
            self.out = Matrix.from_coo(*arcs, 1, **shape).wait()
            self.into = self.out.T.new().wait()

    def shortest_paths(self, source):
        self.distance = Vector.from_scalar(np.iinfo(np.int64).max, self.n, np.int64)
        self.distance[source] = 0
        pending = Vector.from_coo([source], np.int64(0), size=self.n)
        while pending.nvals:
            limit = (int(pending.reduce("min").new()) // self.delta + 1) * self.delta
            better = semiring.min_plus(pending.select("<", limit).new() @ self.out).new()
            better(binary.lt(better & self.distance).new().V, replace=True) << better
            self.distance(binary.min) << better
            pending = pending.select(">=", limit).new()
            pending(binary.min) << better
        self.distance.wait()

    def breadth_first(self, source):
        self.source, self.predecessor = source, Vector.from_coo([source], np.int64(source), size=self.n)
        level = self.predecessor.dup()
        while level.nvals:
            step = self.into @ level if level.nvals * self.pull > self.n else level @ self.out
            level(~self.predecessor.S, replace=True) << semiring.ss.any_secondi(step)
            self.predecessor(level.S) << level
        self.predecessor.wait()

    def answer(self):
        if self.solve == self.shortest_paths:
            return {"distance": self.distance.to_dense()}
        predecessor = self.predecessor.to_dense(fill_value=-1)
        return {"level": levels(predecessor, self.source), "predecessor": predecessor}


serve(GraphBlas)
