"""What a caller of a rival waits for: building from arrays in memory, preparing, searching, fetching."""

import pytest

from rival_runs import SOURCES, only, race

PARTS = """
class Parts(Slow):
    def __init__(self, *arguments):
        time.sleep(0.04)
        super().__init__(*arguments)

    def prepare(self):
        time.sleep(0.03)

    def fetch(self):
        time.sleep(0.02)

serve(Parts)
"""
MS = 20
"""Time of a search of `Slow`."""


def test_all_parts_count_and_cold_lies_between_building_and_fetching(tmp_path):
    result = race(tmp_path, PARTS, timing={"repetitions": 2})
    assert only(result) == ("ok", "")
    assert [row.call_ms is not None for row in result.runs] == [True] * 2 * len(SOURCES)
    assert all(row.call_ms >= 40 + 30 + MS + 20 for row in result.runs)
    ((prepare_ms, cold_ms),) = {(row.prepare_ms, row.cold_ms) for row in result.runs}
    assert 30 <= prepare_ms <= cold_ms - MS
    assert cold_ms <= max(row.call_ms for row in result.runs) - 40 - 20


ANEW = """
class Anew(Slow):
    built = 0

    def __init__(self, *arguments):
        Anew.built += 1
        super().__init__(*arguments)

    def {method}:
        if self.built > 1:
            {then}
        {otherwise}

serve(Anew)
"""


def test_a_wrong_answer_of_a_call_is_invalid_and_a_failure_in_it_is_named(tmp_path):
    code = ANEW.format(
        method="solve(self, source)", then="source += 1", otherwise="return super().solve(source)"
    )
    result = race(tmp_path, code)
    assert {row.status for row in result.runs} == {"invalid"}
    assert all(row.reason.startswith("call: rule source broken once") for row in result.runs)
    assert all(row["holds"] for row in result.certificates), "the timed searches were right"
    code = ANEW.format(method="prepare(self)", then="raise Skipped('once only')", otherwise="pass")
    first, *others = race(tmp_path, code).runs
    assert (first.status, first.reason) == ("skipped", "call: once only")
    assert {(row.status, row.call_ms) for row in others} == {("ok", None)}


LATE = ANEW.format(
    method="solve(self, source)", then="self.late = source; return", otherwise="super().solve(source)"
)
LATE = LATE.replace(
    "serve(",
    """    def answer(self):
        if hasattr(self, "late"):
            super().solve(self.late)
        return super().answer()

serve(""",
)


@pytest.mark.parametrize(
    "code",
    ["import rival; rival._ms = lambda begin: '0.001'; serve(Slow)", LATE],
    ids=["it reports less", "it searches after the call"],
)
def test_our_clock_runs_as_well(tmp_path, code):
    result = race(tmp_path, code, believed=False)
    assert all(row.call_ms > 0.8 * MS for row in result.runs)


def test_one_that_cannot_be_built_twice_makes_no_call(tmp_path):
    result = race(tmp_path, "class Once(Honest):\n    rebuilds = False\n\nserve(Once)")
    assert only(result) == ("ok", "")
    assert {row.call_ms for row in result.runs} == {None}


def test_freeing_what_was_built_before_does_not_count(tmp_path):
    code = "class Heavy(Slow):\n    def __del__(self):\n        time.sleep(1)\n\nserve(Heavy)"
    (row,) = race(tmp_path, code, sources=SOURCES[:1], believed=False).runs
    assert MS <= row.call_ms < 1000
