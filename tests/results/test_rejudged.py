"""Verdicts on claims of suites whose searches were not kept, from small published tables."""

import numpy as np
import pandas as pd
import pytest

from relaxometer.results.claims import Claim
from relaxometer.results.published import SAMPLES
from relaxometer.results.rejudged import NOT_KEPT, Published, estimate, judged, rejudge

NAN = float("nan")


def claim(quantity, **given):
    common = {"id": "c", "source": "p", "where": "w", "text": "t", "graph": "town"}
    return Claim.model_validate({**common, "quantity": quantity, **given})


def run(variant, median, *, graph="town", sources=32, width=0.02):
    """A line of a summary whose interval reaches `width` to both sides."""
    ends = {"ci95_low_ms": median / (1 + width), "ci95_high_ms": median * (1 + width)}
    return {"graph": graph, "variant": variant, "sources": sources, "median_ms": median} | ends


@pytest.fixture
def suite(tmp_path):
    """Write a suite's tables, and return it."""

    def write(*runs, ranks=(), graphs=()):
        pd.DataFrame(runs or [run("none", 1.0)]).to_csv(tmp_path / "summary.csv", index=False)
        pd.DataFrame(ranks).to_csv(tmp_path / "distributed.csv", index=False)
        (tmp_path / "tables/p").mkdir(parents=True)
        pd.DataFrame(graphs).to_csv(tmp_path / "tables/p/graphs.csv", index=False)
        return Published(tmp_path)

    return write


def gain(**given):
    return claim("speedup", of="new", over="old", direction="higher", **given)


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(1.5, "same"), (1.019, "no gain shown"), (0.981, "no gain shown"), (0.5, "opposite")],
)
def test_a_gain_needs_more_than_what_processes_differ_by(suite, value, verdict):
    measured, found = judged(gain(), value, suite(run("new", 10), run("old", 10 * value)))
    assert found == verdict
    assert measured.value == value
    assert measured.ends[1] / value > 1.08


def test_the_interval_widens_where_a_run_has_more_sources_than_the_comparison(suite):
    many, few = run("new", 10, sources=32), run("old", 20, sources=8)
    wide, _ = judged(gain(), 2.0, suite(many, few))
    alone = estimate(10, 10 / 1.02, 10 * 1.02, 32, 32)
    shared = estimate(10, 10 / 1.02, 10 * 1.02, 32, 8)
    assert shared.parts[0].variance == pytest.approx(4 * alone.parts[0].variance)
    assert (shared.n, shared.parts[0].df) == (8, 7)
    assert wide.ends[1] / wide.ends[0] > 1.2


def test_a_missing_value_is_the_quotient_of_medians(suite):
    measured, found = judged(gain(), NAN, suite(run("new", 10), run("old", 30)))
    assert (measured.value, found) == (3, "same")


def test_five_sources_decide_nothing(suite):
    runs = run("new", 10), run("old", 30, sources=5)
    assert judged(gain(), 3.0, suite(*runs))[1] == "undecided: fewer than 6 samples"


@pytest.mark.parametrize(
    "one",
    [
        claim("extract_min_time", of="cub", claimed=5),
        claim("spread_ratio", of="new", over="old"),
        claim("speedup_from_root", of="new", over="old"),
        gain(graph="city"),
    ],
    ids=lambda one: f"{one.quantity} {one.graph}",
)
def test_without_an_interval_nothing_is_decided(suite, one):
    assert judged(one, 3.0, suite(run("new", 10), run("old", 30))) == (None, NOT_KEPT)


def test_an_interval_without_width_is_none(suite):
    runs = run("new", 10, width=0), run("old", 30)
    assert judged(gain(), 3.0, suite(*runs)) == (None, NOT_KEPT)


def test_counts_stay_exact(suite):
    one = claim("mean_phases", claimed=230, tolerance=0.15)
    assert judged(one, 229.0, suite())[1] == "same"


@pytest.mark.parametrize(
    ("slowest", "interval", "verdict"), [(20, (10, 20), "less than claimed"), (10.3, (10, 350), "undecided")]
)
def test_the_best_threshold_is_a_range(suite, slowest, interval, verdict):
    points = {10: 10.2, 20: 10, 350: slowest}
    tables = suite(*(run(f"adaptive-threshold-{point}", time) for point, time in points.items()))
    one = claim("best_threshold", of="adaptive", claimed=350, tolerance=0.2)
    measured, found = judged(one, 20.0, tables)
    assert (measured.ends, found) == (interval, verdict)


def test_the_best_size_compares_times_per_arc(suite):
    sizes = {"town": (1000, 3200), "city": (7000, 64_000)}
    graphs = [{"Graph": name, "Vertices": v, "Arcs here": a} for name, (v, a) in sizes.items()]
    tables = suite(run("edge", 1.0), run("edge", 10.0, graph="city"), graphs=graphs)
    one = claim("best_rate_vertices", graph="", of="edge", claimed=1000)
    assert judged(one, 7000.0, tables)[0].ends == (7000, 7000)


def series(name, ranks, sources, gteps):
    ends = {"gteps_low": gteps * 0.9, "gteps_high": gteps * 1.1}
    return {"series": name, "ranks": ranks, "sources": sources, "median_gteps": gteps} | ends


@pytest.mark.parametrize(("keys", "verdict"), [(8, "opposite"), (5, "undecided: fewer than 6 samples")])
def test_gains_over_ranks_rest_on_the_common_keys(suite, keys, verdict):
    runs = [series("gpu", ranks, 16, 50.0) for ranks in (1, 2)]
    tables = suite(ranks=[*runs, *(series("both", ranks, keys, 5.0) for ranks in (1, 2))])
    one = claim("ranks_speedup", graph="", key="most", of="both", over="gpu", direction="higher")
    assert judged(one, 0.1, tables)[1] == verdict


def test_a_suite_is_judged_once_and_not_if_it_has_its_searches(suite, tmp_path):
    tables = suite(run("adaptive", 10), run("conventional", 10))
    papers = tmp_path / "claims"
    papers.mkdir()
    keys = {"id": "c", "where": "w", "text": "t", "graph": "town", "quantity": "speedup"}
    keys |= {"of": "adaptive", "over": "conventional", "direction": "higher"}
    (papers / "p.yaml").write_text(f"- {keys}\n", encoding="utf-8")
    line = {"id": "c", "source": "p", "measured": "0.981", "verdict": "opposite", "ratio": ""}
    other = line | {"id": "d", "measured": "", "verdict": "not measured: no GPU"}
    file = tables.folder / "claims.csv"
    pd.DataFrame([line, other]).to_csv(file, index=False)

    (tables.folder / SAMPLES).touch()
    assert not rejudge(tables.folder, papers)
    (tables.folder / SAMPLES).unlink()
    assert rejudge(tables.folder, papers)
    found = pd.read_csv(file)
    assert found["verdict"].tolist() == ["no gain shown", "not measured: no GPU"]
    assert found["measured"][0] == 0.981
    assert np.isnan(found["low"][1])
    assert not rejudge(tables.folder, papers)


def test_a_claim_that_moved_to_another_graph_has_the_value_of_that_graph(suite, tmp_path):
    tables = suite(run("adaptive", 10), run("conventional", 20), run("adaptive", 10, graph="village"))
    papers = tmp_path / "claims"
    papers.mkdir()
    keys = {"id": "c", "where": "w", "text": "t", "graph": "town", "quantity": "speedup"}
    keys |= {"of": "adaptive", "over": "conventional", "direction": "higher"}
    (papers / "p.yaml").write_text(f"- {keys}\n", encoding="utf-8")
    line = {
        "id": "c",
        "source": "p",
        "graph": "village",
        "measured": "0.5",
        "verdict": "opposite",
        "ratio": "",
    }
    file = tables.folder / "claims.csv"
    pd.DataFrame([line]).to_csv(file, index=False)
    assert rejudge(tables.folder, papers)
    found = pd.read_csv(file).iloc[0]
    assert (found["graph"], found["measured"], found["verdict"]) == ("town", 2, "same")
