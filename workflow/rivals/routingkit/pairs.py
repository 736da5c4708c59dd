"""Point-to-point queries by RoutingKit, on one core; a table is one query to many per origin."""

import numpy as np
from rival import Skipped
from routingkit_cch import CCHMetric, CCHOneToMany, CCHQuery

INFINITE = 2**31 - 1
LIMIT = f"RoutingKit's distances and weights stay below {INFINITE:,}"


class Pairs:
    def __init__(self, hierarchy, metric, n_vertices, weights):
        self.hierarchy, self.metric, self.query = hierarchy, metric, CCHQuery(metric)
        self.n_arcs, self.hops = len(weights), None
        longest = min(weights.sum(dtype=np.int64), (n_vertices - 1) * int(weights.max(initial=0)))
        self.may_be_too_long = longest >= INFINITE

    def ask(self, queries):
        self.queries = queries
        self.is_table = queries.columns and not queries.paths
        step = queries.columns if self.is_table else 1
        self.origins = queries.origins[::step].tolist()
        self.targets = queries.targets[: step if self.is_table else None].tolist()

    def solve(self, source):
        if self.is_table:
            to_all = CCHOneToMany(self.metric, self.targets)
            self.found = [to_all.distances_from(origin) for origin in self.origins]
            return
        run, paths = self.query.run, self.queries.paths
        self.found, self.paths = [], []
        for origin, target in zip(self.origins, self.targets, strict=True):
            result = run(origin, target)
            self.found.append(result.distance)
            if paths:
                self.paths.append(result.node_path)
            del result  # a query has one result at a time

    def answer(self):
        found = np.array(self.found, dtype=np.float64).ravel()  # None, where unreached, becomes NaN
        if self.may_be_too_long and self.queries.cutoff >= INFINITE:
            self.check(np.isnan(found))
        found[found > self.queries.cutoff] = np.nan
        columns = {"distance": np.nan_to_num(found, nan=-1).astype(np.int64)}
        if self.queries.paths:
            there = ~np.isnan(found)
            sizes = np.array([len(path) for path in self.paths], dtype=np.uint32)
            vertices = np.concatenate([np.array(path, dtype=np.uint32) for path in self.paths])
            columns["path"] = vertices[np.repeat(there, sizes)]
            columns["size"] = np.where(there, sizes, np.uint32(0))
        return columns

    def check(self, lost):
        """Give up if there is a path where none was found: its length counts as infinite."""
        if not lost.any():
            return
        self.hops = self.hops or CCHQuery(CCHMetric(self.hierarchy, [1] * self.n_arcs))
        pairs = self.queries.origins[lost].tolist(), self.queries.targets[lost].tolist()
        if any(self.hops.run(*pair).distance is not None for pair in zip(*pairs, strict=True)):
            raise Skipped(LIMIT)
