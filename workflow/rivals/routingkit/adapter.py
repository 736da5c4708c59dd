"""RoutingKit's customizable contraction hierarchies: a one-to-many query with all vertices as targets.

RoutingKit leaves the order to the user: ours is METIS's nested dissection. A query climbs from the source and
sweeps down over all vertices, on one core; it returns a list, the only output there is. The package has no
customization on several cores, and no query may live while weights change: a change chooses all targets anew.
"""

import time
from importlib.metadata import version

import numpy as np
import pymetis
from pairs import INFINITE, LIMIT, Pairs
from rival import Rival, Skipped, serve
from routingkit_cch import CCH, CCHMetric, CCHOneToMany


class RoutingKit(Rival):
    version = version("routingkit-cch")

    def __init__(self, graph, problem, parameters):
        self.n, self.tails, self.heads = graph.n_vertices, graph.tails, graph.targets
        self.problem = problem
        self.take(graph.weights)
        self.lists, self.targets = (self.tails.tolist(), self.heads.tolist()), list(range(self.n))

    def prepare(self):
        order = self.timed("order_ms", self.dissect)
        self.hierarchy = self.timed("contract_ms", CCH, order, *self.lists, False)
        self.metric = self.timed("customize_ms", CCHMetric, self.hierarchy, self.new)
        if self.problem == "routes":
            pairs = Pairs(self.hierarchy, self.metric, self.n, self.weights)
            self.ask, self.solve, self.answer = pairs.ask, pairs.solve, pairs.answer
        else:
            self.query = self.timed("targets_ms", CCHOneToMany, self.metric, self.targets)

    def take(self, weights):
        if weights.max(initial=0) >= INFINITE:
            raise Skipped(LIMIT)
        self.weights, self.new = weights, weights.tolist()

    def customize(self):
        self.query = None
        self.timed("customize_ms", self.metric.reset, self.new)
        self.query = self.timed("targets_ms", CCHOneToMany, self.metric, self.targets)

    def timed(self, name, work, *arguments):
        begin = time.perf_counter()
        result = work(*arguments)
        self.facts = {**self.facts, name: f"{(time.perf_counter() - begin) * 1e3:.3f}"}
        return result

    def dissect(self):
        pairs = np.stack([self.tails, self.heads]).astype(np.int64)[:, self.tails != self.heads]
        keys = np.unique(np.concatenate([pairs[0] * self.n + pairs[1], pairs[1] * self.n + pairs[0]]))
        if not len(keys):
            return list(range(self.n))
        offsets = np.searchsorted(keys, np.arange(self.n + 1) * self.n)
        return list(pymetis.nested_dissection(pymetis.CSRAdjacency(offsets, keys % self.n))[0])

    def solve(self, source):
        self.found = self.query.distances_from(source)

    def answer(self):
        distance = np.array(self.found, dtype=np.float64)  # None, where unreached, becomes NaN
        too_long = distance[self.tails] + self.weights >= INFINITE
        if (too_long & np.isnan(distance[self.heads])).any():
            raise Skipped(LIMIT)
        return {"distance": np.nan_to_num(distance, nan=-1).astype(np.int64)}


serve(RoutingKit)
