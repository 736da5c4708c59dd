"""Compares a rival's clock with ours: when a time is disputed, and which time replaces it."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from relaxometer.race.measurement import Measurement

MESSAGE_MS = 0.1
"""Time for which an adapter may handle a message outside its own clock."""

MAX_ROUND_TRIP_MS = 0.3
"""Longest round trip of a message that excuses a difference; slow answers to `ping` excuse none."""

CLOCK_TOLERANCE = 0.05
"""Share of a search by which the two clocks may differ beyond the round trip of the messages."""

LATE_TOLERANCE = 0.25
"""Share of a search for which an adapter may work on after `done`."""

NOISE_MS = 0.5
"""Difference that counts as noise; more if there are only a few searches."""

MANY = 8
"""With this many searches, a difference is noise up to 2 `NOISE_MS`."""

CONVERT_NS = 100
"""Nanoseconds allowed to convert and write a value of an answer: a Python loop over a library's result."""

CONVERT_MS = 1.0
"""Milliseconds allowed to convert and write an answer, besides `CONVERT_NS` per value."""

CONVERT_PART_US = 20
"""Microseconds allowed for each graph of a batch in addition."""

COPY_NS = 5
"""Nanoseconds allowed to read and copy a weight of four bytes in a compiled program."""

REMEMBERS = 0.25
"""A later search from a source that takes less than this share of the first was not made again."""

COLD_MS = 10.0
"""Extra time of the first search of a process without a warm-up, which loads code."""

TOLERATED = 0.05
"""Share of the time of all searches that may be missing in total."""

RESTED = 5
"""Number of searches whose answer is requested at once, and again after a pause."""

MAX_RESTED_MS = 500
"""Searches that take longer with their answer are not repeated for this test."""


@dataclass(frozen=True)
class Span:
    """Time from a message to its reply by our clock, in milliseconds.

    Parameters
    ----------
    ms : float
    waited : float
        The part in which the adapter's main thread or ours was ready to run but had no core.
    """

    ms: float
    waited: float

    @property
    def busy(self) -> float:
        """The time without the waits."""
        return max(0.0, self.ms - self.waited)


@dataclass(frozen=True)
class Sample:
    """One search by both clocks.

    Parameters
    ----------
    source : int or None
    theirs : float
        Milliseconds by the rival's clock.
    search : Span
        The search by ours.
    given_ms : float
        Milliseconds from the request of the search until its answer was written.
    round_trip : float
        Milliseconds of a message there and back.
    give, again : Span
        Writing the answer, and writing it a second time.
    convert_ms : float, optional
        Time within which an honest adapter converts and writes this answer, if not as any other.
    read : Span
        Reading the query set before, if there was one.
    read_ms : float
        Time within which an honest adapter reads and converts it.
    """

    source: int | None
    theirs: float
    search: Span
    given_ms: float
    round_trip: float
    give: Span
    again: Span
    convert_ms: float | None = None
    read: Span = Span(0.0, 0.0)
    read_ms: float = 0.0


@dataclass(frozen=True)
class Rested:
    """An answer that is asked for as soon as the search is done, and one of the same search after a pause.

    Parameters
    ----------
    at_once_ms, later_ms : float
        Milliseconds to write the answer.
    """

    at_once_ms: float
    later_ms: float


@dataclass(frozen=True)
class _Doubt:
    """A reason not to believe a clock.

    Parameters
    ----------
    reason : str
        In words; it may name ``{ours}``, ``{theirs}``, ``{late}``, ``{first}``, ``{saved}`` and ``{read}``.
    lacks : callable
        Returns how many milliseconds of a search are missing; None where it cannot be known.
    took : callable
        Returns how long a search took instead.
    one_is_enough : bool, default=False
        Whether one odd search is sufficient evidence.
    """

    reason: str
    lacks: Callable[[Sample], float | None]
    took: Callable[[Sample], float]
    one_is_enough: bool = False


@dataclass
class Clocks:
    """The searches of a rival.

    Parameters
    ----------
    convert_ms : float
        Time within which an honest adapter converts and writes an answer; see :func:`time_to_convert`.
    is_cold : bool
        Whether the first search is the first of its process.
    """

    convert_ms: float
    is_cold: bool = False
    samples: list[Sample] = field(default_factory=list)
    rested: list[Rested] = field(default_factory=list)
    fell: bool = False
    """Whether the rival failed when it was searched again to see `rested`."""
    _first: dict[int | None, Sample] = field(default_factory=dict)
    """The first search from each source."""

    def add(self, sample: Sample) -> None:
        """Note a search."""
        self.samples.append(sample)
        self._first.setdefault(sample.source, sample)

    @property
    def pause_s(self) -> float | None:
        """The pause in which work that was left must end; None if it would take too long."""
        if not self.samples or max(sample.given_ms for sample in self.samples) > MAX_RESTED_MS:
            return None
        return 2 * max(sample.given_ms for sample in self.samples) / 1e3

    def judge(self, result: Measurement) -> None:
        """Mark the rows of a rival whose times are not believed as disputed, and give them ours.

        Unproven rows stay so, with the reason added.
        """
        doubts = self._doubts() if self.samples else []
        held = [(doubt, odd) for doubt in doubts if (odd := self._odd(doubt))]
        if not held:
            return
        reason = "; ".join(self._worded(*one) for one in held)
        searched = [row for row in result.runs if row.get("clock_ms") is not None]
        for row, sample in zip(searched, self.samples, strict=False):
            time_ms = max(doubt.took(sample) for doubt, _ in held)
            if row["status"] == "ok":
                row |= {"status": "disputed", "reason": reason, "time_ms": time_ms}
            elif row["status"] == "unproven":
                row |= {"reason": f"{row['reason']}; {reason}", "time_ms": time_ms}

    def _doubts(self) -> list[_Doubt]:
        round_trip = statistics.median(sample.round_trip for sample in self.samples)
        slack = MESSAGE_MS + 3 * min(round_trip, MAX_ROUND_TRIP_MS)
        return [
            _Doubt(
                "it says {theirs:.3g} ms where our clock says {ours:.3g} ms",
                lambda one: one.theirs and (1 - CLOCK_TOLERANCE) * one.search.busy - one.theirs - slack,
                lambda one: one.search.ms,
            ),
            # Every search takes time, and statistics use its logarithm.
            _Doubt(
                "it says 0 ms where our clock says {ours:.3g} ms",
                lambda one: 0.0 if one.theirs else one.search.ms,
                lambda one: one.search.ms,
                one_is_enough=True,
            ),
            _Doubt(
                "it says {theirs:.3g} ms, more than the {ours:.3g} ms of our clock",
                lambda one: one.theirs - (1 + CLOCK_TOLERANCE) * one.search.ms,
                lambda one: one.search.ms,
            ),
            _Doubt(
                "it said `done` after {ours:.3g} ms and then worked on for {late:.3g} ms",
                self._late,
                lambda one: one.given_ms,
            ),
            _Doubt(
                "it took {read:.3g} ms to read the queries, so it began the search there",
                self._early,
                lambda one: one.search.ms + one.read.ms,
            ),
            _Doubt(
                "it took {ours:.3g} ms for a search that had taken {first:.3g} ms before",
                self._remembered,
                lambda one: max(one.search.ms, self._first[one.source].search.ms),
            ),
            _Doubt(
                "it gives the answer {saved:.3g} ms sooner after a pause, so it works on after `done`",
                lambda one: self._saved_ms,
                lambda one: one.search.ms + self._saved_ms,
            ),
            _Doubt(
                "it failed when the same searches were made again",
                lambda one: one.given_ms if self.fell else None,
                lambda one: one.given_ms,
            ),
        ]

    def _odd(self, doubt: _Doubt) -> list[Sample]:
        """Return the searches that lack time, if they are most of them, or if what they lack adds up.

        A single odd search among several is ignored, unless one is enough.
        """
        lacks = [(sample, lack) for sample in self.samples if (lack := doubt.lacks(sample)) is not None]
        odd = sorted((lack for _, lack in lacks if lack > 0))
        limit = max(self._noise_ms * len(lacks), TOLERATED * sum(sample.search.busy for sample, _ in lacks))
        if 2 * len(odd) > len(lacks) or sum(odd[:-1]) > limit or (odd and doubt.one_is_enough):
            return [sample for sample, lack in lacks if lack > 0]
        return []

    def _worded(self, doubt: _Doubt, odd: list[Sample]) -> str:
        return doubt.reason.format(
            ours=statistics.median(one.search.ms for one in odd),
            theirs=statistics.median(one.theirs for one in odd),
            late=statistics.median(map(self._late, odd)),
            first=statistics.median(self._first[one.source].search.ms for one in odd),
            saved=self._saved_ms,
            read=statistics.median(one.read.ms for one in odd),
        )

    @property
    def _noise_ms(self) -> float:
        return NOISE_MS * (1 + MANY / len(self.samples))

    def _late(self, sample: Sample) -> float:
        """Return how long an adapter worked on after `done`; 0 if that may be noise."""
        convert_ms = self.convert_ms if sample.convert_ms is None else sample.convert_ms
        return late_ms(sample.give, sample.again, sample.search.ms, convert_ms, self._noise_ms)

    def _early(self, sample: Sample) -> float:
        """Return how long an adapter worked before the search, on its queries; 0 if that may be noise."""
        early = sample.read.busy - sample.read_ms
        return early if early > max(self._noise_ms, LATE_TOLERANCE * sample.search.ms) else 0.0

    @property
    def _saved_ms(self) -> float:
        """How much sooner the answers come after a pause; 0 unless each does, and by far.

        Both ways convert and write the same values, so the time that conversion may take excuses nothing.
        """
        if len(self.rested) < RESTED:
            return 0.0
        at_once = [one.at_once_ms for one in self.rested]
        later = [one.later_ms for one in self.rested]
        saved = statistics.median(at_once) - statistics.median(later)
        least = LATE_TOLERANCE * statistics.median(sample.search.ms for sample in self.samples)
        return saved if min(at_once) > max(later) and saved > max(NOISE_MS, least) else 0.0

    def _remembered(self, sample: Sample) -> float | None:
        """Return by how much the first search from the same source took longer; 0 if not by far."""
        if sample is self._first[sample.source]:
            return None
        first = self._first[sample.source]
        excused = COLD_MS if self.is_cold and first is self.samples[0] else self._noise_ms
        first_ms, now_ms = first.search.busy, sample.search.ms
        saved = first_ms - now_ms
        return saved if now_ms < REMEMBERS * first_ms and saved > excused else 0.0


def late_ms(
    give: Span, again: Span, search_ms: float, convert_ms: float, noise_ms: float = NOISE_MS
) -> float:
    """Return the milliseconds that an adapter worked on after `done`; 0 if that may be noise.

    One that finishes the search when it gives the answer is slower the first time. One that makes the whole
    search there each time, or waits, takes longer than converting an answer does.

    Parameters
    ----------
    give, again : Span
        Writing the answer, and writing it a second time.
    search_ms : float
    convert_ms : float
        Time within which an honest adapter converts and writes the answer; see :func:`time_to_convert`.
    noise_ms : float, default=NOISE_MS
    """
    writing = min(again.busy, convert_ms)
    late = give.busy - writing
    return late if late > max(noise_ms, LATE_TOLERANCE * search_ms, 0.5 * writing) else 0.0


def time_to_convert(values: int, parts: int, value_ns: float = CONVERT_NS) -> float:
    """Return the milliseconds within which an adapter converts the values of an answer, queries or weights.

    Parameters
    ----------
    values : int
    parts : int
        Graphs that they belong to.
    value_ns : float, default=CONVERT_NS
        Nanoseconds per value.
    """
    return CONVERT_MS + values * value_ns / 1e6 + parts * CONVERT_PART_US / 1e3
