"""Who wins a race, by how much, and who takes part."""

import numpy as np
import pandas as pd
import pytest

from relaxometer.results.races import common_medians, finishers, ranking, relative_times, winners
from relaxometer.results.samples import ratio_estimate
from synthetic_runs import query_sets, quiet, rival, searches, spread

RNG = np.random.default_rng(7)


def only_row(*tables):
    (row,) = winners(pd.concat(tables)).to_dict("records")
    return row


def ranks(*tables):
    found = ranking(pd.concat(tables)).query("graph == 'town'")
    return dict(zip(found["variant"], found["rank"], strict=True))


def test_the_best_of_each_side_are_compared_over_their_sources():
    row = only_row(
        searches("tiled", spread(2), prepare_ms=80, cold_ms=83).assign(call_ms=99),
        searches("near-far", spread(4)),
        rival("scipy", spread(30)),
        rival("cugraph", spread(6), device_kind="cuda", version="25.10", prepare_ms=12),
    )
    assert (row["ours"], row["ours_class"], row["ours_prepare_ms"]) == ("tiled", "gpu", 80)
    assert (row["rival"], row["rival_class"], row["rival_version"]) == ("cugraph", "gpu", "25.10")
    assert (row["ours_ms"], row["rival_ms"]) == (np.median(spread(2)), np.median(spread(6)))
    assert row["rival_prepare_ms"] == 12
    assert (row["ours_cold_ms"], row["rival_cold_ms"]) == (83, 12 + spread(6)[0])
    assert (row["ours_call_ms"], np.isnan(row["rival_call_ms"])) == (99, True)
    assert (row["sources"], row["winner"]) == (12, "ours")
    assert row["ratio"] == pytest.approx(3)


def test_the_ratio_is_the_median_of_quotients_of_one_source():
    """Its interval is narrow although the times of the sources differ a thousandfold."""
    ours = np.geomspace(0.1, 100, 31)
    quotients = RNG.uniform(1.9, 2.3, 31)
    row = only_row(searches("tiled", ours.tolist()), rival("boost", (ours * quotients).tolist()))
    assert row["ratio"] == pytest.approx(np.median(quotients))
    assert 1.85 < row["ratio_low"] < row["ratio"] < row["ratio_high"] < 2.35, "3% are assumed of each process"


def test_nobody_wins_if_the_ratio_contradicts_the_medians():
    """From each of most sources ours is faster, but the median of all sources is the rival's."""
    theirs = [*np.linspace(9, 10, 15), 10.0, *np.linspace(90, 100, 15)]
    ours = [*np.linspace(4.5, 5, 15), 11.0, *np.linspace(45, 50, 15)]
    row = only_row(searches("tiled", ours), rival("boost", theirs))
    times = finishers(pd.concat([searches("tiled", ours), rival("boost", theirs)]))
    of_variant = dict(iter(times.groupby("variant")))
    assert ratio_estimate(of_variant["tiled"], of_variant["boost"]).p_value() < 1e-3
    assert row["ratio"] > 1
    assert row["ours_ms"] > row["rival_ms"]
    assert row["winner"] == "neither"


def test_below_six_sources_nobody_is_judged():
    row = only_row(searches("tiled", spread(1, 5)), rival("boost", spread(9, 5)))
    assert (row["winner"], row["sources"]) == ("too few", 5)
    assert np.isnan([row["ratio_low"], row["ratio_high"]]).all()
    assert row["ratio"] == pytest.approx(9)
    assert only_row(searches("tiled", spread(1, 6)), rival("boost", spread(9, 6)))["winner"] == "ours"


def test_where_searches_have_no_source_repetitions_are_the_sample():
    def run(entrant, name, times):
        tables = [entrant(name, [time], repetitions=1, problem="dominators") for time in times]
        return pd.concat([one.assign(repetition=number) for number, one in enumerate(tables)])

    fast, slow = [0.10, 0.09, 0.12, 0.11, 0.10, 0.13], [0.31, 0.3, 0.35, 0.33, 0.32, 0.29]
    row = only_row(run(searches, "batch", fast), run(rival, "llvm", slow))
    assert row["winner"] == "ours"
    assert row["ratio"] == pytest.approx(np.median(slow) / np.median(fast), rel=0.01)
    assert row["ratio_low"] < 0.95 * row["ratio"]
    few = only_row(run(searches, "batch", fast[:5]), run(rival, "llvm", slow[:5]))
    assert few["winner"] == "too few"


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
    assert (row["ours"], row["sources"], row["winner"]) == ("all", 4, "too few")
    assert row["ratio"] == pytest.approx(np.sqrt(2 * 4)), "the quotients are 4, 4, 2 and 2"
    assert row["ours_ms"] == 45.25, "over all sources that the two share"


class TestRanking:
    """Ranks follow what is shown."""

    def test_runs_that_are_not_shown_to_differ_share_a_rank(self):
        assert ranks(
            searches("fast", spread(1)),
            searches("also-fast", spread(1.01)),
            searches("slow", spread(5)),
            searches("wrong", spread(0.1), status="invalid"),
            searches("emulated", spread(0.1), device_kind="host"),
            searches("on-cpu", spread(9), device_kind="cpu"),
        ) == {"fast": 1, "also-fast": 1, "slow": 3, "on-cpu": 4}

    def test_small_differences_count_where_processes_are_known_to_agree(self):
        runs = [
            searches("fast", spread(1), rounds=(1.001, 0.999)),
            searches("slow", spread(1.03), rounds=(0.999, 1.001)),
        ]
        assert ranks(*runs) == {"fast": 1, "slow": 1}
        assert ranks(*runs, quiet()) == {"fast": 1, "slow": 2}

    def test_too_few_sources_give_no_rank_and_take_none_from_others(self):
        few = searches("few", spread(0.1, 5))
        assert ranks(few, searches("fast", spread(1)), searches("slow", spread(5, 7))) == {
            "fast": 1,
            "slow": 2,
        }

    def test_ranks_and_medians_are_over_the_sources_that_all_share(self):
        """The first eight sources are easy; `few` was run from no other."""
        times = [*spread(2, 8), *[100.0] * 24]
        table = pd.concat([searches("all", times), searches("few", spread(4, 8))])
        found = ranking(table).set_index("variant")
        assert found["rank"].to_dict() == {"all": 1, "few": 2}
        assert found["median_ms"].tolist() == [np.median(spread(2, 8)), np.median(spread(4, 8))]
        assert found["sources"].tolist() == [8, 8]

    def test_a_noisy_run_does_not_rank_above_a_faster_one(self):
        """`noisy` is not shown to be slower than the best, but its median is above that of `second`."""
        noisy = (2.5 * np.geomspace(0.1, 10, 12)).tolist()
        found = ranks(searches("first", spread(1)), searches("second", spread(2)), searches("noisy", noisy))
        assert found == {"first": 1, "second": 2, "noisy": 2}

    def test_ranks_never_contradict_medians(self):
        for _ in range(5):
            runs = [
                searches(f"run-{i}", (RNG.uniform(1, 1.5) * RNG.uniform(0.5, 2, 9)).tolist(), repetitions=1)
                for i in range(6)
            ]
            found = ranking(pd.concat(runs))
            assert found["rank"].is_monotonic_increasing
            assert found["median_ms"].is_monotonic_increasing

    def test_many_comparisons_need_more_evidence(self):
        pair = [searches("a", spread(1)), searches("b", spread(1.13))]
        others = [searches(f"other-{i}", spread(1.06)) for i in range(10)]
        assert ranks(*pair) == {"a": 1, "b": 2}
        assert set(ranks(*pair, *others).values()) == {1}

    def test_nobody_alone_has_a_rank(self):
        assert ranks(searches("alone", spread(1))) == {}

    def test_a_run_that_left_a_search_unfinished_has_no_rank(self):
        late = searches("late", spread(0.1))
        late.loc[0, "status"] = "timeout"
        assert ranks(late, searches("a", spread(1)), searches("b", spread(3))) == {"a": 1, "b": 2}


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


def test_rounds_on_two_devices_are_one_run():
    """A cluster's nodes may differ."""
    mixed = searches("tiled", spread(2), rounds=(1.0, 1.01))
    mixed.loc[mixed["round"] == 2, "device"] = "NVIDIA H200 NVL"
    found = ranking(pd.concat([mixed, searches("near-far", spread(4), rounds=(1.0, 1.01))]))
    assert found["variant"].tolist() == ["tiled", "near-far"]
    assert found["rank"].tolist() == [1, 2]
    assert (found["sources"] == 12).all()


def test_a_winner_is_corrected_for_all_pairs_of_its_race():
    pair = searches("tiled", spread(1)), rival("boost", spread(1.13))
    assert only_row(*pair)["winner"] == "ours"
    others = [searches(f"other-{i}", spread(1.06)) for i in range(10)]
    assert only_row(*pair, *others)["winner"] == "neither"


def of_sets(variant, pairs, table, **options):
    return query_sets(variant, {"pairs": spread(pairs), "table": spread(table)}, **options)


def test_query_sets_of_other_names_are_races_of_their_own():
    tables = [quiet(), of_sets("hierarchy", 1, 9), of_sets("trees", 3, 3)]
    found = ranking(pd.concat(tables)).query("problem == 'routes'")
    assert {(row.graph, row.variant): (row.rank, row.sources) for row in found.itertuples()} == {
        ("town: pairs", "hierarchy"): (1, 12),
        ("town: pairs", "trees"): (2, 12),
        ("town: table", "trees"): (1, 12),
        ("town: table", "hierarchy"): (2, 12),
    }
    theirs = of_sets("routingkit", 2, 3, rival=True)
    won = winners(pd.concat([*tables[:2], theirs])).query("problem == 'routes'")
    assert won[["graph", "winner"]].to_numpy().tolist() == [["town: pairs", "ours"], ["town: table", "rival"]]
