"""cuGraph by pylibcugraph: near-far piles in SSSP, direction-optimizing BFS; CUDA 13, driver 580 or later.

Timed is the whole call of pylibcugraph: it checks the source, searches, gives the vertices their own ids
again and copies the result within the GPU. Memory comes from the driver's pool.
"""

import cupy
import numpy as np
import pylibcugraph
import rmm
from rival import Rival, serve

rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource())
HANDLE = pylibcugraph.ResourceHandle()


class CuGraph(Rival):
    version = pylibcugraph.__version__

    def __init__(self, graph, problem, parameters):
        self.n, self.is_sssp = graph.n_vertices, problem == "sssp"
        symmetric = not graph.facts.get("directed", True)
        self.pulls = symmetric and parameters["direction_optimizing"] == "true"
        weights = cupy.asarray(graph.weights.astype(parameters["weights"])) if self.is_sssp else None
        self.graph = pylibcugraph.SGGraph(
            HANDLE,
            pylibcugraph.GraphProperties(is_symmetric=symmetric, is_multigraph=True),
            cupy.asarray(graph.tails.astype(np.int32)),
            cupy.asarray(graph.targets.astype(np.int32)),
            weight_array=weights,
            vertices_array=cupy.asarray(np.arange(self.n, dtype=np.int32)),  # also those without arcs
            store_transposed=False,
            renumber=parameters["renumber"] == "true",
            do_expensive_check=False,
        )
        cupy.cuda.Device().synchronize()

    def solve(self, source):
        self.source = source
        if self.is_sssp:
            found = pylibcugraph.sssp(HANDLE, self.graph, source, np.inf, True, False)
            self.vertices, self.distance, self.predecessor = found
        else:
            start = cupy.asarray([source], dtype=np.int32)
            found = pylibcugraph.bfs(HANDLE, self.graph, start, self.pulls, -1, True, False)
            self.distance, self.predecessor, self.vertices = found
        cupy.cuda.Device().synchronize()

    def fetch(self):
        self.found = self.vertices.get(), self.distance.get(), self.predecessor.get()

    def answer(self):
        vertices, distances, predecessors = self.found  # in cuGraph's order
        distance, predecessor = np.empty(self.n, distances.dtype), np.empty(self.n, np.int32)
        distance[vertices], predecessor[vertices] = distances, predecessors
        predecessor[self.source] = self.source
        return {"distance" if self.is_sssp else "level": distance, "predecessor": predecessor}


serve(CuGraph)
