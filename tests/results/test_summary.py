"""The lines of ``summary.csv``: medians with intervals, and traversed edges per second."""

import numpy as np
import pandas as pd
import pytest

from relaxometer.report.figures.preparation import payoff_table
from relaxometer.report.figures.summary import call_figure, ranked_table
from relaxometer.results.calls import COLD, PREPARED, preparations
from relaxometer.results.gather import SUMMARY, gather_searches, summarise, unmade_runs, with_sets
from synthetic_runs import query_sets, quiet, rival, searches, spread, texts


def line_of(table, **options):
    lines = summarise(table, **options)
    assert list(lines.columns) == SUMMARY
    return lines.iloc[0]


def test_the_interval_holds_the_spread_between_processes():
    times = [2.0] * 8
    unknown = line_of(searches("tiled", times))
    assert (unknown["ci95_low_ms"], unknown["ci95_high_ms"]) == pytest.approx(
        (2 * np.exp(-1.96 * 0.03), 2 * np.exp(1.96 * 0.03)), rel=1e-3
    )
    known = line_of(pd.concat([searches("tiled", times, rounds=(1.001, 0.999)), quiet()]))
    assert 1.99 < known["ci95_low_ms"] < known["median_ms"] < known["ci95_high_ms"] < 2.01


def test_a_run_on_a_slowed_machine_says_by_how_much():
    """Compared with the same clock and race; the slowest round counts."""
    times = [2.0] * 8
    runs = [
        searches("tiled", times, rounds=(1, 1)).assign(reference_ms=[1.0] * 16 + [1.02] * 16),
        searches("near-far", times, rounds=(1, 1)).assign(reference_ms=[1.5] * 16 + [1.25] * 16),
        searches("tiled", times, graph="city").assign(reference_ms=3.0),
        searches("conventional", times, device_kind="host"),
        rival("gap", times).assign(reference_ms=5.0),
    ]
    table = pd.concat(runs)
    lines = summarise(table)
    assert lines["slowed"].tolist() == pytest.approx([1.02, 1.5, 1.0, np.nan, 1.0], nan_ok=True)
    shown = ranked_table(lines, table).set_index(["Graph", "Variant"])["Slowed"]
    assert shown[shown != ""].to_dict() == {("town", "near-far"): "1.50 times"}


def test_a_run_that_could_not_be_made_has_a_line():
    reasons = {("sssp", "town", "tiled"): "no file", ("sssp", "town", "gap"): "killed"}
    lines = summarise(gather_searches([], unmade_runs(reasons, {"gap": "cpu-all"})).to_pandas())
    shown = lines[["variant", "status", "reason", "sources", "certified", "rival"]]
    assert shown.to_numpy().tolist() == [
        ["tiled", "error", "no file", 0, 0.0, False],
        ["gap", "error", "killed", 0, 0.0, True],
    ]
    assert list(lines.columns) == SUMMARY
    assert summarise(gather_searches([], unmade_runs({}, {})).to_pandas()).empty


def test_repeated_runs_of_one_dominator_tree_have_an_interval():
    """One search, whose repetitions took from 0.093 to 0.318 ms."""
    times = [0.093, 0.101, 0.12, 0.15, 0.11, 0.318]
    runs = [searches("batch-warp", [time], repetitions=1, problem="dominators") for time in times]
    table = pd.concat([one.assign(repetition=number) for number, one in enumerate(runs)])
    line = line_of(table)
    assert line["median_ms"] == pytest.approx(0.115)
    assert line["ci95_low_ms"] < 0.09
    assert line["ci95_high_ms"] > 0.14
    assert np.isnan(line_of(table.iloc[:5])["ci95_low_ms"])
    one_source = table.assign(problem="sssp")
    assert np.isnan(line_of(one_source)["ci95_low_ms"]), "other sources were to be had"
    unknown = table.assign(problem="a-problem-of-ones-own")
    assert np.isnan(line_of(unknown)["ci95_low_ms"])


def test_a_call_has_a_median_and_an_interval_of_its_own():
    """Over the rows that have one; one that a rival does not make is loading, preparing and searching."""
    made = searches("tiled", spread(2), prepare_ms=3).assign(call_ms=spread(20) * 2)
    made.loc[made["repetition"] == 1, "call_ms"] = np.nan
    added_up = rival("gap", spread(5), prepare_ms=3).assign(upload_ms=40.0, clock_ms=6.0, call_ms=np.nan)
    failed = searches("slow", spread(9), status="invalid").assign(call_ms=30.0)
    table = pd.concat([made, added_up, failed, searches("unknown", spread(9)).assign(call_ms=np.nan)])
    lines = summarise(table).set_index("variant")
    assert lines["call_ms"].dropna().to_dict() == {"tiled": np.median(spread(20)), "gap": 49}
    assert lines["calls"].dropna().to_dict() == {"tiled": 12, "gap": 0}
    low, high = lines.loc["tiled", ["call_ci95_low_ms", "call_ci95_high_ms"]]
    assert 18 < low < 20 < high < 22
    assert np.isnan(lines.loc["gap", "call_ci95_low_ms"])
    shown = ranked_table(lines.reset_index(), table).set_index("Variant")["Call [ms]"]
    assert shown.to_dict() == {"tiled": "20", "gap (rival)": "49 (added up)", "slow": "", "unknown": ""}
    drawn = texts(call_figure(lines.reset_index()))
    assert "intervals of the median over 12 sources" in drawn
    assert "Not shown: slow on town (invalid), unknown on town (ok)" in drawn
    old = line_of(table.drop(columns="call_ms"))
    assert old[["call_ms", "calls"]].isna().all(), "published before it was measured"


def test_a_preparation_is_the_median_over_the_calls_of_all_rounds_and_has_an_interval():
    """A run whose rounds prepared in 80 and 82 ms, and one without calls."""
    made = searches("tiled", spread(2), rounds=(1.0, 1.0), prepare_ms=80, cold_ms=83)
    made = made.assign(call_ms=99.0, call_prepare_ms=made["round"].map({1: 80.0, 2: 82.0}))
    made = made.assign(prepare_ms=made["call_prepare_ms"], cold_ms=made["call_prepare_ms"] + 3)
    table = pd.concat([made, searches("cut", spread(2), prepare_ms=7, cold_ms=9)], ignore_index=True)
    table[["prepare_ms", "cold_ms"]] = preparations(table)
    lines = summarise(table).set_index("variant")
    assert lines["prepare_ms"].to_dict() == {"tiled": 81, "cut": 7}
    assert lines["cold_ms"].to_dict() == {"tiled": 84, "cut": 9}
    low, high = lines.loc["tiled", PREPARED]
    assert 70 < low < 80 < 82 < high < 92
    assert lines.loc["cut", PREPARED].isna().all()
    shown = payoff_table(table).set_index("Variant")["95% interval"]
    assert shown.to_dict() == {"tiled": f"{low:.3g} to {high:.3g}", "cut": ""}
    assert lines[COLD].isna().all(axis=None), "recorded before each was kept"


def test_cold_has_an_interval_of_its_own_and_rounds_of_an_earlier_clone_keep_their_medians():
    made = searches("tiled", spread(2), rounds=(1.0, 1.0), prepare_ms=80, cold_ms=83).assign(call_ms=99.0)
    made = made.assign(call_prepare_ms=80.0, call_cold_ms=made["round"].map({1: 83.0, 2: 87.0}))
    early = searches("early", spread(2), prepare_ms=7, cold_ms=9).assign(call_prepare_ms=6.0)
    table = pd.concat([made, early], ignore_index=True)
    table[["prepare_ms", "cold_ms"]] = preparations(table)
    lines = summarise(table).set_index("variant")
    assert lines["cold_ms"].to_dict() == {"tiled": 85, "early": 9}
    low, high = lines.loc["tiled", COLD]
    assert 75 < low < 83 < 87 < high < 95
    assert lines.loc["early", COLD].isna().all()
    shown = payoff_table(table).set_index("Variant")["Cold, 95% interval"]
    assert shown.to_dict() == {"tiled": f"{low:.3g} to {high:.3g}", "early": ""}


def test_the_median_is_over_repetitions_then_rounds_then_sources():
    table = searches("tiled", [1.0] * 3, rounds=(1.0, 3.0))
    table.loc[(table["round"] == 1) & (table["repetition"] == 1), "time_ms"] = 2.0
    assert line_of(table)["median_ms"] == pytest.approx((1.5 + 3.0) / 2)


class TestRates:
    """Traversed edges per second, by Graph500's definition."""

    TIMES = (1.0, 2.0, 4.0)

    def line(self, directed=False, **columns):
        table = searches("hybrid", list(self.TIMES), problem="bfs").assign(**columns)
        return line_of(table, directed={"town": directed})

    def test_edges_count_once_in_the_input_or_an_undirected_graph_and_without_any_there_is_no_rate(self):
        line = self.line()
        assert line["mteps"] == pytest.approx(500 / 2.0 / 1e3)
        assert line["mteps_harmonic"] == pytest.approx(3 * 500 / 7.0 / 1e3)
        assert self.line(directed=True)["mteps"] == pytest.approx(1000 / 2.0 / 1e3)
        table = searches("hybrid", list(self.TIMES), problem="bfs")
        assert line_of(table)["mteps"] == pytest.approx(1000 / 2.0 / 1e3), "a graph that nobody described"
        # Loops and parallel edges are edges of the input; the arcs of the search have none.
        assert self.line(input_edges=700.0)["mteps"] == pytest.approx(700 / 2.0 / 1e3)
        table = searches("hybrid", list(self.TIMES), problem="bfs")
        table.loc[table["source"] == 0, "reached_arcs"] = 0
        line = line_of(table, directed={"town": True})
        assert line["mteps_harmonic"] == pytest.approx(2 * 1000 / 6.0 / 1e3)
        nothing = table.assign(reached_arcs=0)
        assert np.isnan(line_of(nothing)["mteps"])

    def test_both_statistics_are_of_the_same_rates_as_the_official_output(self):
        from relaxometer.results.graph500_result import edges_per_second, rate_statistics

        table = searches("hybrid", spread(3), problem="bfs", repetitions=1)
        official = rate_statistics(edges_per_second(table, directed=False).to_numpy())
        line = line_of(table, directed={"town": False})
        assert line["mteps"] * 1e6 == pytest.approx(official["median"])
        assert line["mteps_harmonic"] * 1e6 == pytest.approx(official["harmonic_mean"])


def test_query_sets_of_several_names_have_times_of_their_own_only():
    town = searches("tiled", [1.0, 2.0])
    table = pd.concat([town, query_sets("hierarchy", {"pairs": [1.0, 2.0], "table": [9.0]})])
    lines = summarise(table)
    assert lines["median_ms"].isna().tolist() == [False, True]
    divided = with_sets(lines, table)
    assert divided[["graph", "variant", "median_ms", "sources"]].to_numpy().tolist() == [
        ["town", "tiled", 1.5, 2],
        ["town: pairs", "hierarchy", 1.5, 2],
        ["town: table", "hierarchy", 9.0, 1],
    ]
    assert ranked_table(lines, table)["Median [ms]"].tolist() == ["1.5", "1.5", "9"]
