"""RoutingKit's customizable contraction hierarchies: a one-to-many query with all vertices as targets.

RoutingKit leaves the order to the user: ours is METIS's nested dissection. A query climbs from the source and
sweeps down over all vertices, on one core; it returns a list, the only output there is.
"""

import time
from importlib.metadata import version

import numpy as np
import pymetis
from rival import Rival, Skipped, serve
from routingkit_cch import CCH, CCHMetric, CCHOneToMany

INFINITE = 2**31 - 1
LIMIT = f"RoutingKit's distances and weights stay below {INFINITE:,}"


class RoutingKit(Rival):
    version = version("routingkit-cch")

    def __init__(self, graph, problem, parameters):
        if graph.weights.max(initial=0) >= INFINITE:
            raise Skipped(LIMIT)
        self.n, self.weights = graph.n_vertices, graph.weights
        self.tails, self.heads = graph.tails, graph.targets
        self.lists = self.tails.tolist(), self.heads.tolist(), self.weights.tolist()

    def prepare(self):
        (tails, heads, weights), ends, order = self.lists, [time.perf_counter()], self.dissect()
        ends.append(time.perf_counter())
        self.hierarchy = CCH(order, tails, heads, False)
        ends.append(time.perf_counter())
        self.metric = CCHMetric(self.hierarchy, weights)
        ends.append(time.perf_counter())
        self.query = CCHOneToMany(self.metric, list(range(self.n)))
        ends.append(time.perf_counter())
        names = "order_ms", "contract_ms", "customize_ms", "targets_ms"
        self.facts = {name: f"{ms:.3f}" for name, ms in zip(names, np.diff(ends) * 1e3, strict=True)}

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
