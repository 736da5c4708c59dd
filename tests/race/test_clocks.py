"""When two clocks differ: what counts as a lie, what as noise, and which times count then."""

from types import SimpleNamespace

import pytest

from relaxometer.race import entrant
from relaxometer.race.clocks import Clocks, Sample, Span, time_to_convert
from relaxometer.race.measurement import Measurement


def sample(ours, theirs, *, source=0, waited=0.0, round_trip=0.02, give=1.0, give_waited=0.0, again=1.0):
    search = Span(ours, waited)
    return Sample(source, theirs, search, ours + give, round_trip, Span(give, give_waited), Span(again, 0.0))


def judged(*samples, convert_ms=2.0, is_cold=False):
    """Return status, reason and time of the rows of some searches."""
    clocks, result = Clocks(convert_ms, is_cold), Measurement()
    for one in samples:
        clocks.add(one)
        row = {"status": "ok", "reason": "", "time_ms": one.theirs, "clock_ms": one.search.ms}
        result.runs.append(row)
    clocks.judge(result)
    return [(row["status"], row["reason"], row["time_ms"]) for row in result.runs]


def believed(*samples):
    return all(status == "ok" for status, _, _ in judged(*samples))


def test_no_searches_are_no_reason():
    assert judged() == []


def test_the_way_of_a_message_and_a_twentieth_are_excused():
    assert believed(*[sample(0.2, 0.1)] * 8)
    assert believed(*[sample(100.0, 95.0)] * 8)
    assert not believed(*[sample(0.5, 0.25)] * 8)
    assert not believed(*[sample(100.0, 94.0)] * 8)
    assert believed(*[sample(1.0, 0.3, round_trip=0.25)] * 8)
    assert not believed(*[sample(20.0, 10.0, round_trip=9.0)] * 8)


class Searching:
    """An adapter that searches as soon as it is told to, and the clocks of both threads, in milliseconds."""

    def __init__(self, sending, works, waits, hearing):
        self.sending, self.works, self.waits, self.hearing = sending, works, waits, hearing
        self.now = self.ours = self.theirs = self.cpu_ms = 0.0

    def tell(self, request):
        """Send the request; our thread gets its core back after `sending`."""
        self.now, self.ours = self.now + self.sending, self.ours + self.sending

    def expect(self, answer, seconds):
        """The adapter has searched since it was told; then our thread waits for a core."""
        self.now = max(self.now, self.works + self.waits) + self.hearing
        self.cpu_ms, self.theirs, self.ours = self.works, self.waits, self.ours + self.hearing
        return [str(self.works)]

    def waited_ms(self):
        return self.theirs


@pytest.mark.parametrize(
    ("sending", "works", "waits", "hearing", "busy", "busy_elsewhere"),
    [
        (0, 2, 0, 0, 2, 2),
        (7, 2, 0, 0, 2, 7),  # it worked on another core or on ours, and has long been done
        (1.5, 2, 0, 0, 2, 2),  # all that time it may have worked on our core
        (7, 2, 3, 0, 2, 4),
        (0, 2, 5, 0, 2, 2),
        (0, 2, 0, 6, 2, 2),
        (7, 2, 3, 6, 2, 4),
        (3, 10, 0, 0, 10, 10),
    ],
)
@pytest.mark.parametrize("on_cpu", [True, False])
def test_waits_of_both_threads_are_known(
    monkeypatch, sending, works, waits, hearing, busy, busy_elsewhere, on_cpu
):
    adapter = Searching(sending, works, waits, hearing)
    clock = SimpleNamespace(perf_counter=lambda: adapter.now / 1e3, monotonic=lambda: 0.0)
    monkeypatch.setattr(entrant, "time", clock)
    monkeypatch.setattr(entrant, "waited_ms", lambda: adapter.ours)
    _, span = entrant.Running(adapter, 60, on_cpu=on_cpu).solve(0)
    assert span.busy == pytest.approx(busy if on_cpu else busy_elsewhere)


def test_waiting_for_a_core_is_excused():
    assert believed(*[sample(10.0, 1.0, waited=9.0, give=9.0, give_waited=8.0)] * 8)
    assert not believed(*[sample(10.0, 1.0, waited=5.0)] * 8)


def test_a_disputed_row_has_the_time_of_our_clock():
    reason = "it says 5 ms where our clock says 10 ms"
    assert judged(*[sample(10.0, 5.0)] * 3) == [("disputed", reason, 10.0)] * 3
    reason = "it says 12 ms, more than the 10 ms of our clock"
    assert judged(*[sample(10.0, 12.0)] * 3) == [("disputed", reason, 10.0)] * 3


def test_a_search_that_takes_no_time_is_disputed_even_once():
    honest, none = sample(0.2, 0.15), sample(0.1, 0.0)
    reason = "it says 0 ms where our clock says 0.1 ms"
    assert believed(*[honest] * 8)
    times = [0.2] * 7 + [0.1]
    assert judged(*[honest] * 7, none) == [("disputed", reason, time_ms) for time_ms in times]
    assert judged(sample(20.0, 0.0)) == [("disputed", "it says 0 ms where our clock says 20 ms", 20.0)]


def test_one_odd_search_of_several_is_noise_and_many_are_not():
    honest, odd = sample(10.0, 10.0), sample(20.0, 10.0)
    assert believed(honest, honest, odd)
    assert not believed(odd)
    assert not believed(honest, odd, odd)
    assert not believed(*[honest] * 8, *[odd] * 3)


def test_all_reasons_count_and_the_longest_time():
    ((status, reason, time_ms),) = set(judged(*[sample(10.0, 5.0, give=12.0)] * 8))
    assert status == "disputed"
    assert reason == (
        "it says 5 ms where our clock says 10 ms; it said `done` after 10 ms and then worked on for 11 ms"
    )
    assert time_ms == 22.0


@pytest.mark.parametrize(
    ("give", "again", "is_late"),
    [
        (12.0, 1.0, True),
        (1.9, 1.0, False),
        (12.0, 12.0, True),
        (4.0, 4.0, False),  # a quarter of the search beyond what converting takes
        (5.0, 4.8, True),
    ],
)
def test_what_is_done_after_done(give, again, is_late):
    assert believed(*[sample(10.0, 10.0, give=give, again=again)] * 8) != is_late


def test_a_large_answer_takes_longer_to_convert():
    assert time_to_convert(2 * 10**6, 1) > 150
    slow = [sample(10.0, 10.0, give=150.0, again=140.0)] * 8
    assert judged(*slow, convert_ms=time_to_convert(2 * 10**6, 1))[0][0] == "ok"


def test_a_search_that_is_not_made_again():
    first = [sample(10.0, 10.0, source=source) for source in range(4)]
    later = [sample(0.1, 0.1, source=source) for source in range(4)]
    assert believed(*first, *[sample(3.0, 3.0, source=source) for source in range(4)])
    rows = judged(*first, *later)
    reason = "it took 0.1 ms for a search that had taken 10 ms before"
    assert rows == [("disputed", reason, 10.0)] * 8
    assert not believed(sample(10.0, 10.0), sample(0.1, 0.1))
    assert believed(sample(1.0, 1.0), sample(0.1, 0.1))


def test_the_first_search_of_a_process_may_be_slow():
    fast = [sample(0.7, 0.7)] * 2
    assert {status for status, *_ in judged(sample(5.3, 5.3), *fast, is_cold=True)} == {"ok"}
    assert {status for status, *_ in judged(sample(5.3, 5.3), *fast)} == {"disputed"}
    assert {status for status, *_ in judged(sample(15.0, 15.0), *fast, is_cold=True)} == {"disputed"}
    others = [sample(5.3, 5.3, source=1), sample(0.7, 0.7, source=1), sample(0.7, 0.7, source=1)]
    assert {status for status, *_ in judged(sample(0.7, 0.7), *others, is_cold=True)} == {"disputed"}
