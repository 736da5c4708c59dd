"""Rivals answer query sets: what they are given, what they give, and how their time is checked."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from relaxometer.problems.queries import QuerySets
from relaxometer.rivals.installation import installation
from rival_runs import GRID, deriving, make_rival, only, outcomes, race, run_on
from route_samples import random_queries, right_distances, table_queries

GIVES_PATHS = {"routes": {"answers": ["distance", "size", "path"]}}
PAIRS = random_queries(GRID, 12)
SETS = [PAIRS, replace(PAIRS, paths=True, cutoff=60), table_queries(GRID)]
UNTIMED = random_queries(GRID, 12, seed=8, paths=True)
QUERIES = QuerySets({0: SETS[0], 1: SETS[1], 2: SETS[2], 3: UNTIMED}, {0: 0, 1: 0, 2: 0, 3: None})
HONEST = "serve(Asked)"


def answered(folder, code, *, queries=QUERIES, sources=(0, 1, 2), problems=GIVES_PATHS, **run):
    """Measure a rival that answers query sets."""
    what = {"problem": "routes", "problems": problems, "queries": queries, "sources": sources}
    return race(folder, code, **what, **run)


def test_every_set_is_answered_and_proven(tmp_path):
    result = answered(tmp_path, HONEST, timing={"repetitions": 2})
    assert [(row.source, row.status, row.reason) for row in result.runs] == [
        (source, "ok", "") for source in (0, 1, 2, 0, 1, 2)
    ]
    assert [row.reached for row in result.runs[:3]] == [
        int((right_distances(GRID, one) != 2**32 - 1).sum()) for one in SETS
    ]
    assert all(row["holds"] for row in result.certificates)
    assert result.answer["distance"].tolist() == right_distances(GRID, PAIRS).tolist()
    assert len(result.answer["path"]) == 0
    assert all(row.call_ms > 0 for row in result.runs)


@pytest.mark.parametrize(
    ("change", "reasons"),
    [
        ("columns['distance'] += 1", ["rule distance broken 12 times", "rule distance broken"]),
        ("columns['distance'] = columns['distance'][1:]", ["distance.i64 has 88 bytes, expected 96"] * 2),
        (
            "columns.pop('path', 0)",
            ["", "expected one answer file path.{u32,i32,u64,i64,f32,f64}, found: none"],
        ),
        ("if 'path' in columns: columns['path'][0] += 1", ["", "rule ends broken"]),
        ("if 'size' in columns: columns['size'] += 1", ["", "rule listed broken"]),
    ],
)
def test_a_wrong_answer_is_invalid(tmp_path, change, reasons):
    code = deriving("answer(self)", "columns = super().answer()", change, "return columns", of="Asked")
    rows = outcomes(answered(tmp_path, code, sources=[*range(len(reasons))], timing={"warmup": 0}))
    for (status, found), reason in zip(rows, reasons, strict=True):
        assert (status == "ok") == (not reason)
        assert found.startswith(reason)


def test_the_search_begins_with_solve(tmp_path):
    early = """
class Early(Asked):
    def ask(self, queries):
        super().ask(queries)
        super().solve(0)
        time.sleep(0.05)
    def solve(self, source):
        pass
serve(Early)
"""
    result = answered(tmp_path, early, sources=[0], believed=False, timing={"repetitions": 3})
    assert {status for status, _ in outcomes(result)} == {"disputed"}
    assert all(row.time_ms > 40 for row in result.runs)


def test_it_is_tuned_on_untimed_sets(tmp_path):
    lines = [
        "assert source in (0, 1, 2) or len(self.pairs) == 12",
        'time.sleep(0.3 * (self.parameters["size"] == "1"))',
        "super().solve(source)",
    ]
    code = deriving("solve(self, source)", *lines, of="Asked")
    parameters = {"size": {"default": 1, "about": "work"}}
    result = answered(tmp_path, code, sources=[0], parameters=parameters, tune={"size": [1, 2]})
    assert only(result) == ("ok", "")
    assert result.context["parameters"]["size"] == 2


def test_one_without_paths_or_queries_says_so(tmp_path):
    problems = {"routes": {"answers": ["distance"]}}
    skipped = "skipped", "it gives no size and path, which random asks for"
    assert only(answered(tmp_path / "a", HONEST, problems=problems)) == skipped
    plain = QuerySets({0: SETS[0], 1: random_queries(GRID, 5, seed=9)}, {0: 0, 1: None})
    kept = answered(tmp_path / "b", HONEST, problems=problems, queries=plain, sources=[0])
    assert only(kept) == ("ok", "")
    unproven = answered(tmp_path / "c", HONEST, problems={"routes": {"answers": []}})
    assert only(unproven)[0] == "unproven"
    assert only(answered(tmp_path, "serve(Honest)\n")) == ("error", "the adapter does not answer queries")


CPP = """
#include "rival.hpp"

struct Mine : rival::Adapter {
    Mine(const rival::Graph&, const rival::Job&) {}
    void ask(rival::Queries queries) override { queries_ = std::move(queries); }
    void solve(int64_t) override {}
    void answer(rival::Answer& out) override
    {
        // Right for pairs of one vertex and for the cutoff 0.
        std::vector<uint32_t> distance, size, path;
        for (size_t i = 0; i < queries_.origins.size(); ++i) {
            const bool is_same = queries_.origins[i] == queries_.targets[i];
            distance.push_back(is_same && queries_.cutoff == 0 ? 0 : rival::none);
            size.push_back(is_same);
            if (is_same) path.push_back(queries_.origins[i]);
        }
        out.column("distance", distance);
        if (queries_.paths && queries_.columns == 0) out.column("size", size);
        if (queries_.paths && queries_.columns == 0) out.column("path", path);
    }
    rival::Queries queries_;
};

int main(int count, char** arguments) { return rival::serve<Mine>(count, arguments); }
"""


@pytest.mark.skipif(not shutil.which("g++"), reason="no compiler")
def test_a_program_in_cpp_reads_queries(tmp_path):
    (tmp_path / "rival").mkdir()
    (tmp_path / "rival/adapter.cpp").write_text(CPP, encoding="utf-8")
    rival = make_rival(tmp_path / "rival", problems=GIVES_PATHS, adapter="adapter.cpp")
    pairs = replace(random_queries(GRID, 30), cutoff=0)
    queries = QuerySets({0: pairs, 1: replace(pairs, paths=True)}, {0: 0, 1: 0})
    start = installation(rival, None)
    timing = {"warmup": 0}
    what = GRID, rival, start, tmp_path / "exchange"
    result = run_on(*what, sources=[0, 1], queries=queries, problem="routes", timing=timing)
    assert only(result) == ("ok", "")
    assert np.array_equal(result.answer["distance"], right_distances(GRID, pairs))
