"""Searches from several sources, or up to a limit: what the solvers take, and the proof of their answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from relaxometer.core.errors import UserError
from relaxometer.device import Device
from relaxometer.graphs.graph import NO_PREDECESSOR, Graph
from relaxometer.graphs.lengths import LENGTHS, Lengths, unreached
from relaxometer.graphs.resident import ResidentGraph
from relaxometer.problems.certificate import Certificate


def unweighted(graph: Graph) -> Graph:
    """Return a graph with weights of 1, whose distances are levels."""
    return replace(graph, weights=np.ones(graph.n_arcs, np.uint32), distance_type=None)


def checked_limit(limit: float, *, is_signed: bool = False) -> float:
    """Return a limit of distances; UserError if it is not a number, or below 0 where distances are not."""
    if not (limit >= 0 or (is_signed and limit < 0)):
        raise UserError(f"limit: {limit}; expected at least 0")
    return limit


def first_beyond(limit: float, lengths: Lengths) -> Any:
    """Return the least distance beyond a limit, a scalar; None if there is none. As `checked_limit`."""
    checked_limit(limit, is_signed=lengths.is_signed)
    kind: Any = lengths.distances.type
    if not lengths.is_float:
        largest = int(unreached(lengths.distances)) - 1
        return None if limit >= largest else kind(max(math.floor(limit) + 1, lengths.smallest))
    if limit >= lengths.largest:
        return None
    rounded = kind(limit)
    if float(rounded) > limit:
        return rounded
    return np.nextafter(rounded, kind(np.inf))


def prove(
    device: Device,
    certifier: Callable[[ResidentGraph], Any],
    graph: Graph,
    sources: npt.NDArray[np.uint32],
    bound: Any,
    columns: Mapping[str, Any],
) -> Certificate:
    """Prove distances from the nearest of several sources, less than `bound` if it is given.

    One more vertex has an arc of weight 0 to each source, and one of weight `bound` to each vertex that was
    not reached within it. Its shortest paths are those of the answer, so their certificate proves it.

    `certifier` makes that of ``sssp``. `columns`, arrays on the device, are distance, predecessor and, if it
    is to be proven, the source of each vertex.
    """
    distance, predecessor, *source = columns.values()
    n, out = graph.n_vertices, np.zeros(0, np.int64)
    if bound is not None:
        out = np.flatnonzero(device.asnumpy(distance) == unreached(distance.dtype))
    extended = ResidentGraph.upload(device, _with_root(graph, sources, out, bound))
    own, away = device.asarray(sources), device.asarray(out)
    is_wrong = device.xp.zeros(n, bool)
    is_wrong[own] = predecessor[own] != own
    is_wrong[away] |= predecessor[away] != NO_PREDECESSOR
    if source:
        is_wrong |= source[0] != _handed_down(device.xp, own, predecessor, source[0])
    distance, predecessor = (device.xp.append(one, one[:1]) for one in (distance, predecessor))
    distance[n], predecessor[n] = 0, n
    distance[away] = 0 if bound is None else bound
    predecessor[own] = predecessor[away] = n
    certificate = certifier(extended).check(n, distance, predecessor)
    wrong = np.flatnonzero(device.asnumpy(is_wrong))
    if not len(wrong):
        return certificate
    first = certificate.first | {"source": int(wrong[0])}
    return Certificate(certificate.violations | {"source": len(wrong)}, first)


def _with_root(graph: Graph, sources: Any, out: Any, bound: Any) -> Graph:
    heads = np.concatenate([sources, out]).astype(np.uint32)
    weights = np.zeros(len(heads), graph.weights.dtype)
    weights[len(sources) :] = 0 if bound is None else bound
    order = np.argsort(heads, kind="stable")
    return Graph(
        graph.name,
        np.append(graph.offsets, graph.n_arcs + len(heads)),
        np.append(graph.targets, heads[order]),
        np.append(graph.weights, weights[order]),
        distance_type=graph.distance_type,
    )


def _handed_down(xp: Any, sources: Any, predecessor: Any, source: Any) -> Any:
    """Return what the column `source` must be if it is right for predecessors."""
    is_in = predecessor < len(predecessor)
    given = xp.where(is_in, source[xp.where(is_in, predecessor, 0)], NO_PREDECESSOR)
    given[sources] = sources
    return given


LEVELS = LENGTHS["uint32"]
"""The type of levels."""
