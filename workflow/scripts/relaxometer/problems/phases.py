"""What one phase of an instrumented run did: the same record for every problem."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Phase:
    """One phase of a search.

    Parameters
    ----------
    mode : str
        How the phase was run; the values are the variant's own, such as ``"all"`` vertices or ``"selected"``
        ones, ``"top-down"`` or ``"bottom-up"``.
    updated : int
        Vertices whose part of the answer changed.
    relaxed_arcs : int
        Arcs that were looked at.
    time_ms : float
        Of this phase, the counting left out.
    """

    mode: str
    updated: int
    relaxed_arcs: int
    time_ms: float
