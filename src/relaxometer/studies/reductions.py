"""Eccentricities and sums of distances from many sources, reduced on the device and proven."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from relaxometer.device import Device
from relaxometer.graphs.lengths import LENGTHS
from relaxometer.problems.sssp._distance_proof import DistanceProver, Proof
from relaxometer.problems.sssp.phast import phast_many

Words = npt.NDArray[np.uint32]

TOO_LONG = LENGTHS["uint32"].too_long

MEMORY_SHARE = 4
"""Distances that wait for their proof take at most one over this of the device's memory."""

EMULATED_BYTES = 1 << 26
"""The same limit for the emulated device."""

LAUNCHES_AT_ONCE = 4
"""Sources per launch that stores no distances, in multiples of those that the device sweeps at once."""


@dataclass(frozen=True, eq=False)
class Reductions:
    """Statistics of the distances from each source: arrays of shape (n_sources,).

    `reached` counts the vertices reached, the source among them; `eccentricity` is the greatest and `farness`
    the sum of their distances. `proven` says whether the distances were proven and these numbers found again
    from them. If not, `status` and `reason` say why: ``error`` if a path is too long, else ``invalid``; they
    are ``ok`` and empty if all are proven, or if no proof was asked for.
    """

    reached: Words
    eccentricity: Words
    farness: npt.NDArray[np.uint64]
    proven: npt.NDArray[np.bool_]
    status: str = "ok"
    reason: str = ""

    @classmethod
    def of(cls, size: int) -> Reductions:
        """Return zeros for as many sources."""
        words = np.zeros(size, dtype=np.uint32), np.zeros(size, dtype=np.uint32)
        return cls(*words, np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.bool_))


def reduce_all(
    solver: phast_many.Solver, sources: npt.NDArray[np.integer], prover: DistanceProver | None = None
) -> Reductions:
    """Sweep from many sources, in any order, and reduce the distances on the device.

    Neighbours in the hierarchy are swept together. With a `prover`, all distances from every source are
    stored until the proof has read them, else never.
    """
    device, n = solver.device, solver.n_vertices
    order = np.argsort(solver.position_of(sources), kind="stable")
    size = _sources_at_once(solver, device, prover is not None)
    labels, refused = None, []
    found = Reductions.of(len(sources))
    for begin in range(0, len(sources), size):
        places = order[begin : begin + size]
        count = -(-len(places) // solver.k)
        if prover is not None and labels is None:
            labels = device.xp.empty((count, n, solver.k), dtype=np.uint32)
        sweeps = solver.sweep(sources[places], labels=False if labels is None else labels[:count], sums=True)
        proven = np.zeros(len(places), dtype=np.bool_)
        if prover is not None:
            proof = prover.check(sweeps.sources, sweeps.labels)
            agree = [
                getattr(proof, name) == getattr(sweeps, name) for name in ("reached", "farthest", "total")
            ]
            agrees = device.asnumpy(agree[0] & agree[1] & agree[2])
            proven = (agrees & ~proof.wrong)[: len(places)]
            if not proof.certificate.holds:
                refused.append(outcome_of(proof, solver, sweeps, len(places)))
            elif not agrees.all():
                refused.append(("invalid", "sums differ from those of the proof"))
        found.reached[places] = device.asnumpy(sweeps.reached)[: len(places)]
        found.eccentricity[places] = device.asnumpy(sweeps.farthest)[: len(places)]
        found.farness[places] = device.asnumpy(sweeps.total)[: len(places)]
        found.proven[places] = proven
    # A wrong distance matters more than a path that is too long.
    status, reason = min(refused, key=lambda one: one[0] != "invalid", default=("ok", ""))
    return replace(found, status=status, reason=reason)


def outcome_of(
    proof: Proof, solver: phast_many.Solver, sweeps: phast_many.Sweeps, n_sources: int
) -> tuple[str, str]:
    """Return status and reason of sweeps whose labels were stored and checked."""
    if proof.certificate.holds:
        return "ok", ""
    too_long = solver.met_too_long(sweeps, n_sources)
    return proof.certificate.outcome(overflowed=too_long, too_long=TOO_LONG, rule="overstretched")


def _sources_at_once(solver: phast_many.Solver, device: Device, stored: bool) -> int:
    """Return the sources per launch, a multiple of those of a sweep."""
    if not stored:
        return LAUNCHES_AT_ONCE * solver.at_once
    memory = device.context().get("memory_bytes")
    limit = EMULATED_BYTES if memory is None else memory // MEMORY_SHARE
    return max(1, limit // (4 * solver.n_vertices * solver.k)) * solver.k
