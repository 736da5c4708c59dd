"""The record of one phase of an instrumented run, the same for every problem."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Phase:
    """One phase of a search.

    Parameters
    ----------
    mode : str
        How the phase was run, in the variant's own terms, such as ``"all"`` vertices or ``"selected"`` ones,
        ``"top-down"`` or ``"bottom-up"``.
    updated : int
        Vertices whose part of the answer changed.
    relaxed_arcs : int
        Arcs examined.
    time_ms : float
        Time of the phase without the counting.
    """

    mode: str
    updated: int
    relaxed_arcs: int
    time_ms: float
