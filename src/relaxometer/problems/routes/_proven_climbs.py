"""Proven distances of millions of pairs on a map, by climbs in a contraction hierarchy on the device."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.device.signature import read_source
from relaxometer.graphs.graph import UNREACHED
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.certificate import Certificate
from relaxometer.problems.routes._contracted import HierarchyParameters
from relaxometer.problems.routes._queries import Queries
from relaxometer.problems.sssp import _maps
from relaxometer.problems.variants import Skipped

RULES = {
    "order": "ranks number the vertices, arcs lead to higher ranks, a vertex is one deeper than its parent",
    "arcs": "no arc of the graph is missing in the hierarchy, or longer there",
    "triangles": "no arc between two heads of a rank's arcs is missing, or longer than the way by that rank",
    "attained": "every length is that of an arc of the graph or of a way by a lower rank",
    "climbs": "every climb is the shortest that an arc and a climb from its head make",
}
"""The rules of the proof, in the order of the kernels' report."""

SOURCE = read_source(Path(__file__).with_suffix(".cu"))
LANES = SOURCE.constants["LANES"]
WARP, BLOCK = 32, 256
MAX_BLOCKS = 1 << 20  # of a launch whose threads stride over the remaining items
MAX_CLIMBS = 1 << 28  # climbs in memory at once, 12 bytes each: 3 GiB


class ProvenClimbs:
    """Distances by climbs in a contraction hierarchy, of which every length is proven.

    The hierarchy is the prover's, and what made it is not trusted: kernels check it against the arcs of the
    graph in host memory.

    - No distance is too long. By `arcs`, every path in the graph is one in the hierarchy that is not longer.
      If an inner vertex lies below both its neighbours there, leave it out: by `triangles`, the arc between
      these is not longer than the way by it, and if they are the same vertex, no arc is needed. What is left
      at last climbs, then descends.
    - No distance is too short. By `attained`, from the lowest tail up, every length of an arc is that of a
      walk in the graph. Nothing rests on an arc with the same tail, so arcs of weight 0 need no care.
    - All that a vertex climbs to are its ancestors: by `triangles`, an arc leads from its parent, the lowest
      head of its arcs, to each other head. By `order` and `climbs`, a row has one column per depth, with the
      ancestor there, which is the parent's too, and the length of the shortest climb. So common ancestors
      fill the first columns of two rows, and the least sum of two climbs to one of them is the distance.

    Sums stop at `UNREACHED`, which stands for no path. Sums that stop are associative and monotone, so all of
    this holds for them, and a distance of `UNREACHED` or more is found as `UNREACHED`.

    Columns do not depend on each other. They are found, checked and used for as many depths at once as
    `MAX_CLIMBS` allows, so memory does not limit the height. Skipped if the graph is not a map, or its
    weights are not uint32. `certificate` is the outcome for the hierarchy: if a rule is broken, no distance
    is proven.
    """

    def __init__(self, graph: ResidentGraph) -> None:
        # Imports the partitioner, a library that few variants need.
        from relaxometer.problems.routes._shortcuts import find_depths
        from relaxometer.problems.sssp.phast import _cch
        from relaxometer.problems.sssp.phast._fill import inverse

        if graph.lengths.dtype != np.uint32:
            raise Skipped(f"distances of type {graph.lengths.name} are not proven by climbs")
        host, self._device = graph.host, graph.device
        _maps.refuse_all_but_maps(host)
        cch = _cch.contract(host, HierarchyParameters.model_fields["fill"].default)
        n, depth = host.n_vertices, find_depths(cch.parent)
        self._n, self._n_arcs, self._height = n, len(cch.up), int(depth.max()) + 1
        by_depth = np.argsort(depth, kind="stable")
        self._bounds = np.searchsorted(depth[by_depth], np.arange(self._height + 1)).tolist()
        self._by_depth = self._upload(by_depth)
        self._rank = self._upload(inverse(cch.order))
        self._module = self._device.module(SOURCE.path)
        self._kernel = self._module.get_function
        self._hierarchy = self._module.struct(
            "Hierarchy",
            n=np.uint32(n),
            n_arcs=np.uint32(len(cch.up)),
            order=self._upload(cch.order),
            rank=self._rank,
            depth=self._upload(depth),
            offsets=self._upload(cch.offsets),
            heads=self._upload(cch.up),
            tails=self._device.xp.zeros(len(cch.up), dtype=np.uint32),
            upward=self._upload(cch.upward),
            downward=self._upload(cch.downward),
        )
        self._report = self._device.asarray(np.array([[0, n]] * len(RULES), dtype=np.uint64))
        attained = self._device.xp.zeros(2 * self._n_arcs, dtype=np.uint8)
        self._findings = self._module.struct("Findings", report=self._report, attained=attained)
        self.certificate = self._check(graph)

    def _upload(self, numbers: Any) -> Any:
        return self._device.asarray(numbers.astype(np.uint32))

    def _check(self, graph: ResidentGraph) -> Certificate:
        """Check the hierarchy."""
        device, host, per_rank = self._device, graph.host, -(-self._n // BLOCK)
        own = self._hierarchy, self._findings
        self._kernel("check_order")(per_rank, BLOCK, own)
        if (found := self._found()).holds:  # then all kernels stay within bounds
            offsets, heads, weights = device.asarrays(host.offsets, host.targets, host.weights)
            arcs = self._module.struct("Graph", offsets=offsets, heads=heads, weights=weights)
            self._kernel("check_arcs")(per_rank, BLOCK, (own[0], arcs, own[1]))
            self._kernel("check_triangles")(_blocks(self._n_arcs * LANES), BLOCK, own)
            self._kernel("check_attained")(_blocks(self._n_arcs), BLOCK, own)
            found = self._found()
        return found

    def _found(self) -> Certificate:
        return Certificate.of_report(RULES, self._device.asnumpy(self._report))

    def distances(self, queries: Queries) -> tuple[npt.NDArray[np.uint32], bool]:
        """Return the distances of queries, and whether all are proven; `UNREACHED` beyond the cutoff."""
        xp, count = self._device.xp, len(queries)
        found = xp.full(count, UNREACHED, dtype=np.uint32)
        if self.certificate.holds:
            pairs = np.uint32(count), *self._device.asarrays(queries.origins, queries.targets), found
            most = max(WARP, MAX_CLIMBS // self._n // WARP * WARP)
            columns = min(most, -(-self._height // WARP) * WARP)
            words = [xp.empty((self._n, columns), dtype=np.uint32) for _ in range(3)]
            for first in range(0, self._height, columns):
                rows = self._find_climbs(first, words)
                launch = -(-self._n * columns // BLOCK), BLOCK
                self._kernel("check_climbs")(*launch, (self._hierarchy, rows, self._findings))
                self._kernel("meet")(-(-count // (BLOCK // WARP)), BLOCK, (self._rank, rows, *pairs))
        found[found > np.uint32(queries.cutoff)] = UNREACHED
        return self._device.asnumpy(found), self._found().holds

    def _find_climbs(self, first: int, words: list[Any]) -> Any:
        """Find the climbs from all ranks to ancestors at the depths from `first` on, as many as rows have."""
        for row in words:
            row.fill(UNREACHED)  # what all have that are not as deep
        columns = words[0].shape[1]
        members = dict(zip(("up", "down", "ancestors"), words, strict=True))
        rows = self._module.struct("Rows", first=np.uint32(first), columns=np.uint32(columns), **members)
        for begin, end in itertools.pairwise(self._bounds[first:]):
            launch = -(-(end - begin) * columns // BLOCK), BLOCK
            arguments = self._hierarchy, rows, self._by_depth[begin:end], np.uint32(end - begin)
            self._kernel("climb")(*launch, arguments)
        return rows


def _blocks(n_threads: int) -> int:
    return max(1, min(-(-n_threads // BLOCK), MAX_BLOCKS))
