"""A rival that needs NumPy only and does what it should; the cheats of the tests derive from it."""

import heapq
import itertools
import time

import numpy as np
from rival import Rival

NONE, FAR = 2**32 - 1, 2**63 - 1


class Honest(Rival):
    """Dijkstra's algorithm with a binary heap."""

    version = "1.0"

    def __init__(self, graph, problem, parameters):
        self.n, self.parameters, self.graph = graph.n_vertices, parameters, graph
        self.use(graph.weights)

    def use(self, weights):
        arcs = list(zip(self.graph.targets.tolist(), weights.tolist(), strict=True))
        offsets = self.graph.offsets.tolist()
        self.arcs = [arcs[first:last] for first, last in itertools.pairwise(offsets)]

    def solve(self, source):
        self.distance, self.predecessor = [FAR] * self.n, [NONE] * self.n
        self.distance[source], self.predecessor[source] = 0, source
        heap = [(0, source)]
        while heap:
            length, tail = heapq.heappop(heap)
            if length > self.distance[tail]:
                continue
            for head, weight in self.arcs[tail]:
                if length + weight < self.distance[head]:
                    self.distance[head], self.predecessor[head] = length + weight, tail
                    heapq.heappush(heap, (length + weight, head))

    def answer(self):
        return {
            "distance": np.array(self.distance, np.int64),
            "predecessor": np.array(self.predecessor, np.uint32),
        }


class Customizing(Honest):
    """The same, and it takes new weights."""

    def take(self, weights):
        self.taken = weights

    def customize(self):
        self.use(self.taken)
        self.facts = {"sum": int(self.taken.sum())}


class Slow(Honest):
    """The same in at least `MS` milliseconds of work."""

    MS = 20

    def solve(self, source):
        until = time.thread_time() + self.MS / 1e3
        super().solve(source)
        while time.thread_time() < until:
            pass
