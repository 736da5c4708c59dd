"""Who wins a race, by how much, and who takes part."""

import numpy as np
import pandas as pd
import pytest

from relaxometer.results.races import common_medians, finishers, relative_times, winners
from relaxometer.results.statistics import is_faster
from synthetic_runs import rival, searches, spread

RNG = np.random.default_rng(7)


def only_row(*tables):
    (row,) = winners(pd.concat(tables)).to_dict("records")
    return row


def test_the_best_of_each_side_are_compared_over_their_sources():
    row = only_row(
        searches("tiled", spread(2), prepare_ms=80),
        searches("near-far", spread(4)),
        rival("scipy", spread(30)),
        rival("cugraph", spread(6), device_kind="cuda", version="25.10", prepare_ms=12),
    )
    assert (row["ours"], row["ours_class"], row["ours_prepare_ms"]) == ("tiled", "gpu", 80)
    assert (row["rival"], row["rival_class"], row["rival_version"]) == ("cugraph", "gpu", "25.10")
    assert (row["ours_ms"], row["rival_ms"]) == (np.median(spread(2)), np.median(spread(6)))
    assert row["rival_prepare_ms"] == 12
    assert (row["sources"], row["winner"]) == (12, "ours")
    assert row["ratio"] == pytest.approx(3)


def test_losing_is_told_as_winning_is():
    row = only_row(searches("tiled", spread(6)), rival("cugraph", spread(2), device_kind="cuda"))
    assert row["winner"] == "rival"
    assert row["ratio"] == pytest.approx(1 / 3)


def test_the_ratio_is_the_median_of_quotients_of_one_source():
    """Its interval is narrow although the times of the sources differ a thousandfold."""
    ours = np.geomspace(0.1, 100, 31)
    quotients = RNG.uniform(1.9, 2.3, 31)
    row = only_row(searches("tiled", ours.tolist()), rival("boost", (ours * quotients).tolist()))
    assert row["ratio"] == pytest.approx(np.median(quotients))
    assert 1.9 < row["ratio_low"] <= row["ratio"] <= row["ratio_high"] < 2.3
    assert row["ratio_low"] < row["ratio_high"]


def test_where_the_test_tells_nothing_apart_neither_wins():
    times = np.array(spread(5))
    noise = np.array([1.1, 0.9] * 6)
    row = only_row(searches("tiled", times.tolist()), rival("boost", (times * noise).tolist()))
    assert row["winner"] == "neither"
    assert row["ratio_low"] < 1 < row["ratio_high"]


def test_nobody_wins_if_the_ratio_contradicts_the_test():
    """On most sources the rival is a little faster, on few far slower: the test of ranks sees the latter."""
    ours = np.full(80, 10.0)
    theirs = np.concatenate([np.full(44, 9.99), 20 + np.arange(36.0)])
    row = only_row(searches("tiled", ours.tolist()), rival("boost", theirs.tolist()))
    assert row["ratio"] < 1
    assert is_faster(ours, theirs)[0]
    assert row["winner"] == "neither"


def test_six_sources_show_no_difference():
    assert only_row(searches("tiled", spread(1, 6)), rival("boost", spread(9, 6)))["winner"] == "neither"
    assert only_row(searches("tiled", spread(1, 7)), rival("boost", spread(9, 7)))["winner"] == "ours"


def test_one_source_has_no_interval():
    row = only_row(searches("tiled", [1.0]), rival("boost", [3.0]))
    assert (row["ratio"], row["sources"], row["winner"]) == (3, 1, "neither")
    assert np.isnan(row["ratio_low"])


def test_an_emulated_kernel_takes_no_part():
    emulated = searches("tiled", spread(0.001), device_kind="host")
    row = only_row(
        emulated, searches("dijkstra-cpu", spread(4), device_kind="cpu"), rival("boost", spread(2))
    )
    assert (row["ours"], row["ours_class"], row["winner"]) == ("dijkstra-cpu", "cpu-1", "rival")
    row = only_row(emulated, rival("boost", spread(2)))
    assert (row["rival"], row["rival_ms"]) == ("boost", np.median(spread(2)))
    assert pd.isna([row["ours"], row["winner"], row["ratio"]]).all()


def test_a_rival_on_a_gpu_is_real_although_its_answers_were_proven_on_the_emulated_device():
    both = [searches("tiled", spread(9)), rival("adds", spread(1), device_kind="host", kind="gpu")]
    assert only_row(*both)["rival"] == "adds"


def test_who_left_a_search_unfinished_does_not_win_by_the_easy_ones():
    timed_out = rival("quick", spread(0.1))
    timed_out.loc[timed_out["source"] > 3, "status"] = "timeout"
    wrong = rival("wrong", spread(0.1))
    wrong.loc[3, "status"] = "invalid"
    unproven = rival("silent", spread(0.1), status="unproven")
    row = only_row(searches("tiled", spread(1)), timed_out, wrong, unproven, rival("boost", spread(2)))
    assert row["rival"] == "boost"


def test_a_disputed_rival_is_ranked_by_our_clock():
    disputed = rival("hasty", spread(1), status="disputed")
    assert only_row(searches("tiled", spread(2)), disputed)["winner"] == "rival"


def test_only_sources_that_all_finishers_have_decide_who_is_best():
    few = searches("few", [1.0, 1.0])
    all_of = searches("all", [0.5, 0.5, 90.0, 90.0])
    medians = common_medians(finishers(pd.concat([few, all_of]))).set_index("variant")["time_ms"]
    assert medians.to_dict() == {"few": 1.0, "all": 0.5}
    row = only_row(few, all_of, rival("boost", [2.0, 2.0, 180.0, 180.0]))
    assert (row["ours"], row["sources"], row["ratio"]) == ("all", 4, 3)
    assert row["ours_ms"] == 45.25, "over all sources that the two share"


def test_relative_times_are_by_graph_and_problem():
    table = pd.concat(
        [
            searches("tiled", [2.0] * 3),
            rival("boost", [5.0] * 3),
            rival("boost", [3.0] * 3, graph="city"),
            searches("tiled", [9.0] * 3, graph="city"),
            rival("boost", [1.0] * 3, problem="bfs"),
            rival("late", [1.0] * 3, status="timeout"),
        ]
    )
    ratios = relative_times(table).set_index(["problem", "graph", "variant"])["ratio"]
    assert ratios.to_dict() == {
        ("sssp", "town", "tiled"): 1,
        ("sssp", "town", "boost"): 2.5,
        ("sssp", "city", "boost"): 1,
        ("sssp", "city", "tiled"): 3,
        ("bfs", "town", "boost"): 1,
    }


def test_without_finishers_there_is_no_race():
    assert winners(rival("boost", [1.0], status="absent")).empty
