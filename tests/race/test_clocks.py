"""When two clocks differ: what is excused, and whose times count."""

from types import SimpleNamespace

import pytest

from relaxometer.race import entrant
from relaxometer.race.clocks import Span, allowed_ms, believed_ms, disagreement, late_ms


@pytest.mark.parametrize(
    ("theirs", "ours", "waited", "believed"),
    [
        (0.1, 1.0, 0.0, 0.1),  # a message
        (100.0, 106.0, 0.0, 100.0),
        (100.0, 107.0, 0.0, 107.0),
        (12.0, 10.0, 0.0, 12.0),  # a rival prepares before we have read that it has loaded
        (10.0, 20.0, 9.0, 10.0),  # we waited for a core
        (10.0, 20.0, 5.0, 20.0),
    ],
)
def test_a_millisecond_and_a_twentieth_are_excused(theirs, ours, waited, believed):
    assert believed_ms(theirs, Span(ours, waited)) == believed


@pytest.mark.parametrize(
    ("theirs", "ours", "reason"),
    [
        ([], [], ""),
        ([10.0] * 4, [10.5, 10.5, 90.0, 90.0], ""),  # two searches were interrupted
        ([10.0] * 3, [10.5, 90.0, 90.0], "its clock says 10 ms, ours 90 ms"),
        ([5.0] * 3, [10.0] * 3, "its clock says 5 ms, ours 10 ms"),
        ([12.0] * 3, [10.0] * 3, "its clock says 12 ms, ours 10 ms"),
        ([10.0, 10.0, 5.0], [10.0] * 3, ""),
    ],
)
def test_clocks_that_agree_in_half_of_the_searches_prevent_a_dispute(theirs, ours, reason):
    assert disagreement(theirs, [Span(one) for one in ours]) == reason


@pytest.mark.parametrize(
    ("ours", "is_disputed"),
    [
        ([Span(5.5, 0, 5.0)] * 9 + [Span(3.9)], False),  # one search of ten was not disturbed, and agrees
        ([Span(5.5, 0, 5.0)] * 9 + [Span(5.5)], True),
        ([Span(5.5, 0, 5.0)] * 10, True),  # nothing else to go by
        ([Span(9.5, 0, 2.0)] * 9 + [Span(3.9)], True),  # our waits are shorter than the difference
        ([Span(5.5, 0, 5.0), Span(3.9), Span(5.5), Span(5.5)], True),
    ],
)
def test_what_our_waits_explain_is_no_evidence(ours, is_disputed):
    assert bool(disagreement([3.8] * len(ours), ours)) == is_disputed
    assert all(believed_ms(3.8, one) == one.ms for one in ours if one.ms > 5)


@pytest.mark.parametrize(
    ("give", "idle", "late"),
    [
        (12.0, [1.0], 11.0),
        (2.0, [], 2.0),
        (1.9, [2.0, 1.0], 0.0),  # the first answer of a process is slow to write
        (12.0, [12.0], 9.0),  # longer than converting takes: the search is made there each time
    ],
)
def test_work_after_done_counts(give, idle, late):
    assert late_ms(Span(give), [Span(one) for one in idle], 3.0) == late


def test_a_large_answer_takes_longer_to_convert():
    assert allowed_ms(2 * 10**6) > 150 > allowed_ms(2 * 10**6, value_ns=5)


class Searching:
    """An adapter that works for 2 ms, and the clocks of both threads, in milliseconds."""

    def __init__(self, sending, waits, hearing):
        self.sending, self.waits, self.hearing = sending, waits, hearing
        self.now = self.ours = self.theirs = 0.0
        self.pending = 9.0

    def settle(self):
        """The adapter gets the core that it has waited for since its last reply."""
        self.theirs, self.pending = self.theirs + self.pending, 0.0

    def tell(self, request):
        """Send the request; our thread gets its core back after `sending`."""
        self.now, self.ours = self.now + self.sending, self.ours + self.sending

    def expect(self, answer, seconds):
        """The adapter has searched since it was told; then our thread waits for a core."""
        self.now = max(self.now, 2 + self.waits) + self.hearing
        self.theirs += self.pending + self.waits
        self.ours += self.hearing
        return ["2"]

    def waited_ms(self):
        return self.theirs


@pytest.mark.parametrize(
    ("sending", "waits", "hearing", "busy"),
    [(0, 0, 0, 2), (0, 5, 0, 2), (0, 0, 6, 2), (7, 0, 0, 7), (7, 3, 6, 4)],
)
def test_waits_of_both_threads_are_known(monkeypatch, sending, waits, hearing, busy):
    """While we send, the adapter may work on our core, so that is no excuse."""
    adapter = Searching(sending, waits, hearing)
    clock = SimpleNamespace(perf_counter=lambda: adapter.now / 1e3, monotonic=lambda: 0.0)
    monkeypatch.setattr(entrant, "time", clock)
    monkeypatch.setattr(entrant, "waited_ms", lambda: adapter.ours)
    _, span = entrant.Running(adapter, 60).solve(0)
    assert span.busy == pytest.approx(busy)
    assert span.sending == sending
