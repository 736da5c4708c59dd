"""Whose clock counts: every contestant reports its own times, and we time it, too."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

EXCUSED_MS, EXCUSED_SHARE = 1.0, 0.05
"""Excess of one clock over the other that is tolerated: messages, and waits that nobody caused."""

CONVERT_MS, CONVERT_NS, CONVERT_PART_US = 1.0, 100, 20
"""Allowed to convert an answer, queries or weights: per request, value (a loop in Python) and graph."""

COPY_NS = 5  # nanoseconds allowed to read and copy a weight of four bytes in a compiled program

FASTEST_GB_S = 20_000
"""No device writes answers faster, not even into its cache: the memory of an H200 takes 4,800 GB/s."""


@dataclass(frozen=True)
class Span:
    """Time from a message to its reply by our clock, in milliseconds.

    `waited` is the part in which the adapter's main thread or ours was ready to run but had no core;
    `sending` is a further part, in which ours had none while it sent and the adapter may have worked.
    """

    ms: float
    waited: float = 0.0
    sending: float = 0.0

    @property
    def busy(self) -> float:
        """The time without the waits."""
        return max(0.0, self.ms - self.waited)


def believed_ms(theirs: float, ours: Span) -> float:
    """Return the time that a contestant reports, or that of our clock if it is clearly more."""
    return ours.ms if ours.busy - theirs > _excused_ms(ours) else theirs


def _excused_ms(ours: Span) -> float:
    return EXCUSED_MS + EXCUSED_SHARE * ours.ms


def impossible(ms: float, answer_bytes: int) -> str:
    """Return why no search takes this short a time, as its answer alone takes longer; else nothing."""
    least = answer_bytes / FASTEST_GB_S / 1e6
    return f"{ms:.3g} ms; to write its answer takes at least {least:.3g} ms" if ms < least else ""


def disagreement(theirs: Sequence[float], ours: Sequence[Span]) -> str:
    """Return how the clocks of most of these searches differ; empty if those of half of them agree.

    `theirs` are milliseconds by the contestant's clock, `ours` the same searches by ours. A machine that
    stands still delays some messages. Work outside a contestant's clock delays all of them. A difference that
    our wait while sending explains counts only if all other searches have such a difference.
    """
    agreeing = sum(map(_agree, theirs, ours))
    differing = len(theirs) - agreeing - sum(map(_is_explained, theirs, ours))
    if 2 * agreeing >= (agreeing + differing or len(theirs)):
        return ""
    own_ms, our_ms = statistics.median(theirs), statistics.median(one.ms for one in ours)
    return f"its clock says {own_ms:.3g} ms, ours {our_ms:.3g} ms"


def _agree(theirs: float, ours: Span) -> bool:
    return believed_ms(theirs, ours) == theirs and theirs - ours.ms <= _excused_ms(ours)


def _is_explained(theirs: float, ours: Span) -> bool:
    without = Span(ours.ms, ours.waited + ours.sending)
    return not _agree(theirs, ours) and _agree(theirs, without)


def allowed_ms(values: int, parts: int = 1, value_ns: float = CONVERT_NS) -> float:
    """Return the milliseconds within which an adapter converts an answer, queries or weights.

    `parts` are the graphs that the values belong to, and `value_ns` the nanoseconds per value.
    """
    return CONVERT_MS + values * value_ns / 1e6 + parts * CONVERT_PART_US / 1e3


def late_ms(give: Span, idle: Sequence[Span], allowed: float) -> float:
    """Return the milliseconds that a search went on after `done`.

    `give` is writing the answer as soon as the search is done, `idle` writing answers when no search can be
    going on any more; the slowest of these bounds honest writing, and so does what :func:`allowed_ms` allows.
    """
    return max(0.0, give.busy - min(max((one.busy for one in idle), default=0.0), allowed))
