"""Who wins a race, by how much, and who takes part."""

import numpy as np
import pandas as pd
import pytest

from relaxometer.results.races import common_medians, finishers, ranking, winners
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


def test_an_emulated_kernel_takes_no_part():
    emulated = searches("tiled", spread(0.001), device_kind="host")
    row = only_row(
        emulated, searches("dijkstra-cpu", spread(4), device_kind="cpu"), rival("boost", spread(2))
    )
    assert (row["ours"], row["ours_class"], row["winner"]) == ("dijkstra-cpu", "cpu-1", "rival")
    row = only_row(emulated, rival("boost", spread(2)))
    assert (row["rival"], row["rival_ms"]) == ("boost", np.median(spread(2)))
    assert pd.isna([row["ours"], row["winner"], row["ratio"]]).all()
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

    def test_runs_that_are_not_shown_to_differ_share_a_rank_and_too_few_sources_give_none(self):
        assert ranks(
            searches("fast", spread(1)),
            searches("also-fast", spread(1.01)),
            searches("slow", spread(5)),
            searches("wrong", spread(0.1), status="invalid"),
            searches("emulated", spread(0.1), device_kind="host"),
            searches("on-cpu", spread(9), device_kind="cpu"),
        ) == {"fast": 1, "also-fast": 1, "slow": 3, "on-cpu": 4}
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

    def test_ranks_never_contradict_medians(self):
        for _ in range(5):
            runs = [
                searches(f"run-{i}", (RNG.uniform(1, 1.5) * RNG.uniform(0.5, 2, 9)).tolist(), repetitions=1)
                for i in range(6)
            ]
            found = ranking(pd.concat(runs))
            assert found["rank"].is_monotonic_increasing
            assert found["median_ms"].is_monotonic_increasing


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
