"""Variants whose own clock disagrees with ours, in the race and in the study of new weights."""

import itertools
import time

import numpy as np
import pytest

from race_runs import measured, run_of
from relaxometer.core.errors import Failed
from relaxometer.race import clocks, contestant
from relaxometer.race.variant import _VariantClient
from relaxometer.studies.traffic import measure_traffic
from sample_graphs import sample_graphs

HIDDEN_MS = 100


@pytest.fixture
def hide(monkeypatch):
    """A function that has variants do some work before their clock starts."""

    def hidden(name, ms):
        original = getattr(contestant._VariantProcess, name)

        def late(process, argument):
            time.sleep(ms / 1e3)
            return original(process, argument)

        monkeypatch.setattr(contestant._VariantProcess, name, late)

    monkeypatch.setattr(clocks, "EXCUSED_MS", HIDDEN_MS / 4)  # a loaded machine delays messages
    return hidden


@pytest.mark.parametrize("ms", [0, HIDDEN_MS])
def test_a_variant_that_works_outside_its_clock_is_timed_by_ours(hide, ms):
    hide("solve", ms)
    rows = measured(run_of(warmup=1), np.arange(4)).runs
    if ms:
        assert {row.status for row in rows} == {"disputed"}
        assert all(row.time_ms == row.clock_ms >= ms for row in rows)
        assert rows[0].reason.startswith("its clock says ")
    else:
        assert {(row.status, row.answer) for row in rows} == {("ok", "tree")}
        assert all(row.clock_ms >= row.time_ms > 0 for row in rows)


def delay(monkeypatch, delayed):
    """Have our clock see `HIDDEN_MS` more of the searches of which `delayed` has the numbers, from 0."""
    original, made = _VariantClient.solve, itertools.count()

    def solve(client, source):
        found, columns = original(client, source)
        ms = HIDDEN_MS * (next(made) in delayed)
        return found.model_copy(update={"clock_ms": found.clock_ms + ms}), columns

    monkeypatch.setattr(_VariantClient, "solve", solve)
    monkeypatch.setattr(clocks, "EXCUSED_MS", HIDDEN_MS / 4)


def test_a_delayed_search_is_timed_by_our_clock_without_a_dispute(monkeypatch):
    delay(monkeypatch, {1, 2})
    rows = measured(run_of(warmup=1), np.arange(4)).runs
    assert [row.status for row in rows] == ["ok"] * 4
    assert [row.time_ms >= HIDDEN_MS for row in rows] == [False, True, True, False]


@pytest.mark.parametrize(("n_delayed", "status"), [(4, "ok"), (6, "disputed"), (20, "disputed")])
def test_a_dispute_is_confirmed_by_further_searches(monkeypatch, n_delayed, status):
    """A run may have two searches, and a machine that stands still can delay both."""
    delay(monkeypatch, range(n_delayed))
    rows = measured(run_of(warmup=1), np.arange(2)).runs
    assert [row.status for row in rows] == [status] * 2
    assert all(row.time_ms == row.clock_ms for row in rows)


def test_a_time_in_which_the_answer_cannot_be_written_is_an_error(monkeypatch):
    original = _VariantClient.solve

    def solve(client, source):
        found, columns = original(client, source)
        return found.model_copy(update={"time_ms": 1e-12 if source else found.time_ms}), columns

    monkeypatch.setattr(_VariantClient, "solve", solve)
    rows = measured(run_of(warmup=1), np.arange(2)).runs
    assert [row.status for row in rows] == ["ok", "invalid"]
    assert rows[1].reason.startswith("1e-12 ms; to write its answer takes at least ")


def test_a_failure_in_a_further_search_is_reported(monkeypatch):
    delay(monkeypatch, range(20))
    original, made = _VariantClient.solve, itertools.count()

    def solve(client, source):
        if next(made) == 2:
            raise Failed("error", "no more")
        return original(client, source)

    monkeypatch.setattr(_VariantClient, "solve", solve)
    rows = measured(run_of(warmup=1), np.arange(2)).runs
    assert [(row.status, row.reason) for row in rows] == [("error", "further search: no more")] * 2


def test_so_it_is_with_new_weights(hide):
    hide("reweight", HIDDEN_MS)
    hide("solve", HIDDEN_MS)
    made = {"rounds": 1, "searches": 3, "share": 0.3, "factor": 2.0, "seed": 1}
    (row,) = measure_traffic(sample_graphs()["grid"], "host", variants=["dijkstra-cpu"], **made).to_pylist()
    assert row["status"] == "ok"
    assert all(row[time] >= HIDDEN_MS for time in ("update_ms", "first_ms", "tree_ms"))
