"""What our clock says of a rival's own: when its times are not believed, and which times count instead."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from relaxometer.measure.measurement import Measurement

MESSAGE_MS = 0.1
"""Time for which an adapter may handle a message outside its own clock."""

MAX_WAY_MS = 0.3
"""Longest way of a message there and back that excuses a difference; slow answers to `ping` excuse none."""

CLOCK_TOLERANCE = 0.05
"""Share of a search by which the two clocks may differ beyond the way of the messages."""

LATE_TOLERANCE = 0.25
"""Share of a search for which an adapter may work on after `done`."""

NOISE_MS = 1.0
"""Difference that shows nothing, since no machine is quite at rest."""

CONVERT_NS = 150
"""Time to convert and write a value of an answer: a loop in Python over a library's result."""

CONVERT_PART_US = 20
"""The same for a graph of a batch."""

REMEMBERS = 0.25
"""A later search from a source that takes less than this share of the first was not made again."""

TOLERATED = 0.05
"""Share of the time of all searches that may be missing in some of them."""


@dataclass(frozen=True)
class Sample:
    """One search by both clocks.

    Parameters
    ----------
    source : int or None
    ours, theirs : float
        Time of the search in milliseconds by our clock and by the rival's.
    way : float
        Time of a message there and back.
    whole : float
        Time by our clock until the answer had been written.
    again : float
        Time to write it a second time.
    """

    source: int | None
    ours: float
    theirs: float
    way: float
    whole: float
    again: float


@dataclass(frozen=True)
class _Doubt:
    """A reason not to believe a clock.

    Parameters
    ----------
    reason : str
        In words; it may name ``{ours}``, ``{theirs}``, ``{late}`` and ``{first}``.
    lacks : callable
        Returns how many milliseconds of a search are missing; None where it cannot be known.
    took : callable
        Returns how long a search took instead.
    """

    reason: str
    lacks: Callable[[Sample], float | None]
    took: Callable[[Sample], float]


@dataclass
class Clocks:
    """The searches of a rival.

    Parameters
    ----------
    convert_ms : float
        Time within which an honest adapter converts and writes an answer; see :func:`time_to_convert`.
    """

    convert_ms: float
    samples: list[Sample] = field(default_factory=list)
    _first: dict[int | None, Sample] = field(default_factory=dict)
    """The first search from each source."""

    def add(self, sample: Sample) -> None:
        """Note a search."""
        self.samples.append(sample)
        self._first.setdefault(sample.source, sample)

    def judge(self, result: Measurement) -> None:
        """Mark the rows of a rival whose times are not believed as disputed, and give them ours."""
        founded = [(doubt, odd) for doubt in self._doubts() if (odd := self._odd(doubt))]
        if not founded:
            return
        # Several may hold; then the longest times count.
        doubt, odd = max(founded, key=lambda one: sum(map(one[0].took, self.samples)))
        reason = self._worded(doubt, odd)
        searched = [row for row in result.runs if row.get("clock_ms") is not None]
        for row, sample in zip(searched, self.samples, strict=False):
            if row["status"] == "ok":
                row |= {"status": "disputed", "reason": reason, "time_ms": doubt.took(sample)}

    def _doubts(self) -> list[_Doubt]:
        way = statistics.median(sample.way for sample in self.samples) if self.samples else 0.0
        slack = MESSAGE_MS + 3 * min(way, MAX_WAY_MS)
        return [
            _Doubt(
                "it says {theirs:.3g} ms where our clock says {ours:.3g} ms",
                lambda one: (1 - CLOCK_TOLERANCE) * one.ours - one.theirs - slack,
                lambda one: one.ours,
            ),
            _Doubt(
                "it says {theirs:.3g} ms, more than the {ours:.3g} ms of our clock",
                lambda one: one.theirs - (1 + CLOCK_TOLERANCE) * one.ours,
                lambda one: one.ours,
            ),
            _Doubt(
                "it said `done` after {ours:.3g} ms and then worked on for {late:.3g} ms",
                self._late,
                lambda one: one.whole,
            ),
            _Doubt(
                "it took {ours:.3g} ms for a search that had taken {first:.3g} ms before",
                self._remembered,
                lambda one: max(one.ours, self._first[one.source].ours),
            ),
        ]

    def _odd(self, doubt: _Doubt) -> list[Sample]:
        """Return the searches that lack time, if they are most of them, or if what they lack adds up.

        One search of several may always be odd.
        """
        lacks = [(sample, lack) for sample in self.samples if (lack := doubt.lacks(sample)) is not None]
        odd = sorted((lack for _, lack in lacks if lack > 0))
        limit = max(NOISE_MS * len(lacks), TOLERATED * sum(sample.ours for sample, _ in lacks))
        if 2 * len(odd) > len(lacks) or sum(odd[:-1]) > limit:
            return [sample for sample, lack in lacks if lack > 0]
        return []

    def _worded(self, doubt: _Doubt, odd: list[Sample]) -> str:
        return doubt.reason.format(
            ours=statistics.median(one.ours for one in odd),
            theirs=statistics.median(one.theirs for one in odd),
            late=statistics.median(map(self._late, odd)),
            first=statistics.median(self._first[one.source].ours for one in odd),
        )

    def _late(self, sample: Sample) -> float:
        """Return how long an adapter worked on after `done`; 0 if that may be noise.

        One that finishes the search when it gives the answer is slower the first time. One that makes the
        whole search there each time, or waits, takes longer than converting an answer does.
        """
        writing = min(sample.again, self.convert_ms)
        late = sample.whole - sample.ours - writing
        return late if late > max(NOISE_MS, LATE_TOLERANCE * sample.ours, 0.5 * writing) else 0.0

    def _remembered(self, sample: Sample) -> float | None:
        """Return by how much the first search from the same source took longer; 0 if not by far."""
        first = self._first[sample.source]
        if sample is first:
            return None
        saved = first.ours - sample.ours
        return saved if sample.ours < REMEMBERS * first.ours and saved > NOISE_MS else 0.0


def time_to_convert(values: int, parts: int) -> float:
    """Return the milliseconds within which an adapter converts and writes the values of an answer.

    Parameters
    ----------
    values : int
    parts : int
        Graphs that they belong to.
    """
    return NOISE_MS + values * CONVERT_NS / 1e6 + parts * CONVERT_PART_US / 1e3
