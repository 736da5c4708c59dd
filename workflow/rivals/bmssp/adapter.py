"""bmssp-rs: bounded multi-source shortest paths, the algorithm that breaks the sorting barrier, in Rust."""

from importlib.metadata import version

import numpy as np
from _bmssp import sssp_f64_csr
from rival import Rival, serve


class Bmssp(Rival):
    version = version("bmssp-rs")

    def __init__(self, graph, problem, parameters):
        self.offsets, self.targets = graph.offsets, graph.targets.astype(np.int64)
        self.weights = graph.weights.astype(np.float64)

    def solve(self, source):
        self.found = sssp_f64_csr(self.offsets, self.targets, self.weights, source, return_pred=True)

    def answer(self):
        distance = self.found["dist"]
        return {
            "distance": np.where(np.isinf(distance), -1, distance),
            "predecessor": self.found["pred"],
        }


serve(Bmssp)
