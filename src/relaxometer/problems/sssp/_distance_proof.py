"""Proofs of distances that come without predecessors, from many sources at once, on the device."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from relaxometer.device.arrays import DeviceArray
from relaxometer.graphs.graph import UNREACHED, Graph
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.certificate import Certificate
from relaxometer.problems.sssp._incoming import incoming_arcs
from relaxometer.problems.variants import Skipped

RULES = {
    "source": "the distance of the source is 0",
    "overstretched": "no arc from a reached vertex leads to one further than its tail plus its weight",
    "tight": "to every reached vertex but the source leads an arc as long as the difference of distances; "
    "a cycle of weight zero counts as one vertex",
}
"""The rules of the proof, in the order of the kernels' report."""

BLOCK = 256
ROWS = 64  # consecutive vertices that a warp checks


@dataclass(frozen=True, eq=False)
class Proof:
    """Outcome of the proof; arrays are by place."""

    certificate: Certificate  # violations of all sources together
    wrong: npt.NDArray[np.bool_]  # whether some rule is broken for this source
    reached: Any  # vertices reached, uint32
    farthest: Any  # the greatest of the distances, uint32 or uint64
    total: Any  # their sum modulo 2**64, uint64
    inverses: Any  # the sum of their inverses, as in `Sweeps`, uint64; None unless asked for


class DistanceProver:
    """Proves distances from many sources on one resident graph.

    Of the host copy it reads arcs by head, and cycles of weight zero. Skipped unless weights are uint32;
    distances may have 64 bits. If sums are rounded, arcs of positive weight may form a cycle of length zero.

    References
    ----------
    Ahuja, Magnanti and Orlin, "Network Flows", 1993, section 5.2 (shortest path optimality conditions).
    """

    def __init__(self, graph: ResidentGraph) -> None:
        if graph.lengths.dtype != np.uint32:
            raise Skipped(f"distances of type {graph.lengths.name} are not proven without predecessors")
        self._device, self._n = graph.device, graph.n_vertices
        self._word, options = graph.lengths.word, graph.lengths.options
        component, members = zero_components(graph.host)
        self._n_components = len(members)
        self._members = graph.device.asarray(members)
        self._module = graph.device.module(Path(__file__).with_name("_distance_proof.cu"), options=options)
        self._check_distances = self._module.get_function("check_distances")
        self._check_components = self._module.get_function("check_components")
        self._graph = self._module.struct(
            "Incoming",
            **incoming_arcs(graph),
            component=graph.device.asarray(component) if len(members) else None,
            n_components=np.uint32(len(members)),
        )

    def check(self, sources: Any, labels: DeviceArray, *, inverses: bool = False) -> Proof:
        """Check the distances from many sources.

        `sources` has the source of each place, `UNREACHED` where there is none; there no vertex may be
        reached. `labels`, of shape (n_batches, n_vertices, k), are distances; k is a multiple of 32.
        """
        device, xp = self._device, self._device.xp
        k, places = labels.shape[2], len(sources)
        report = np.array([[0, self._n]] * len(RULES), dtype=np.uint64)
        on_device = device.asarray(report)
        wrong, reached = (xp.zeros(places, dtype=xp.uint32) for _ in range(2))
        farthest = xp.zeros(places, dtype=self._word)
        total = xp.zeros(places, dtype=xp.uint64)
        inverse = xp.zeros(places, dtype=xp.uint64) if inverses else None
        entered = xp.zeros(max(1, self._n_components * places), dtype=xp.uint32)
        findings = {"report": on_device, "wrong": wrong, "entered": entered}
        findings |= {"reached": reached, "farthest": farthest, "total": total, "inverses": inverse}
        distances = {"k": np.uint32(k), "sources": sources, "of": labels}
        warps = -(-self._n // ROWS)
        launch = (-(-warps * 32 // BLOCK), places // 32), BLOCK
        arguments = self._graph, distances, findings
        self._check_distances(*launch, (*arguments, np.uint32(ROWS)))
        if self._n_components:
            launch = (self._n_components, -(-places // BLOCK)), BLOCK
            self._check_components(*launch, (*arguments, self._members, np.uint32(places)))
        certificate = Certificate.of_report(RULES, device.asnumpy(on_device))
        return Proof(certificate, device.asnumpy(wrong).astype(bool), reached, farthest, total, inverse)


def zero_components(graph: Graph) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Find the cycles of arcs of weight zero.

    Returns the number of each vertex's strongly connected component of these arcs, among the components of
    several vertices, `UNREACHED` for vertices in none of these; and a vertex of each.
    """
    zero = np.flatnonzero(graph.weights == 0)
    component = np.full(graph.n_vertices, UNREACHED, dtype=np.uint32)
    if len(zero) == 0:
        return component, np.empty(0, dtype=np.uint32)
    ends = graph.tails[zero].astype(np.int64), graph.targets[zero].astype(np.int64)
    shape = graph.n_vertices, graph.n_vertices
    arcs = sp.csr_matrix((np.ones(len(zero), dtype=np.bool_), ends), shape=shape)
    _, label = connected_components(arcs, directed=True, connection="strong")
    several = np.flatnonzero(np.bincount(label) > 1)
    number = np.full(int(label.max()) + 1, UNREACHED, dtype=np.uint32)
    number[several] = np.arange(len(several), dtype=np.uint32)
    component = number[label]
    _, members = np.unique(component, return_index=True)
    return component, members[: len(several)].astype(np.uint32)
