"""Throughput, the choice of auto, and preparation, read back from what was drawn and written."""

import numpy as np
import pandas as pd
import pytest

from relaxometer.report.figures import choice, preparation, throughput
from relaxometer.results.gather import verdict
from synthetic_runs import searches, spread


def texts(figure):
    """Every text of a figure, in one line."""
    found = [text.get_text() for text in figure.texts]
    for axes in figure.axes:
        found += [text.get_text() for text in axes.texts]
        found += [axes.get_xlabel(), axes.get_ylabel()]
    return " ".join(" ".join(found).split())


def launches(times_ms, *, graph="town", device_kind="cuda", failed=()):
    """Rows of throughput: three launches of each number, the middle one as given."""
    rows = []
    for count, time_ms in times_ms.items():
        for repetition, factor in enumerate((0.5, 1, 3)):
            row = {"graph": graph, "searches": count, "repetition": repetition}
            row |= {"time_ms": time_ms * factor, "proven": count, "status": "ok", "reason": ""}
            if count in failed:
                row |= {"time_ms": np.nan, "proven": 0, "status": "oom", "reason": "9 GB"}
            rows.append(row | {"device_kind": device_kind, "device": "NVIDIA X"})
    return pd.DataFrame(rows)


TOWN = {1: 4.0, 100: 5.0, 1000: 40.0}
"""250, 20,000 and 25,000 searches per second."""


class TestThroughput:
    """Searches per second."""

    def test_the_curve_is_searches_over_the_median_of_launches(self):
        figure = throughput.throughput(launches(TOWN), searches("tiled", spread(2)), "town")
        curve, level = figure.axes[0].lines
        np.testing.assert_array_equal(curve.get_xdata(), [1, 100, 1000])
        np.testing.assert_allclose(curve.get_ydata(), [250, 20_000, 25_000])
        np.testing.assert_allclose(level.get_ydata(), 1e3 / np.median(spread(2)))

    def test_the_finding_holds_the_best_rate_against_the_best_single_search(self):
        timings = pd.concat([searches("tiled", [2.0] * 4), searches("near-far", [4.0] * 4)])
        shown = texts(throughput.throughput(launches(TOWN), timings, "town"))
        assert "25,000 searches per second with 1,000 at once; all 3,303 answers proven" in shown
        assert "50 times the rate of tiled, one after the other" in shown

    def test_lines_close_to_each_other_share_a_label(self):
        rates_ms = {"fast": 1.0, "near": 1.2, "far": 9.0}
        timings = pd.concat([searches(name, [time_ms] * 2) for name, time_ms in rates_ms.items()])
        shown = texts(throughput.throughput(launches(TOWN), timings, "town"))
        assert "fast, near, one after the other" in shown
        assert "far, one after the other" in shown

    def test_emulated_rates_stand_beside_no_real_ones(self):
        timings = pd.concat([searches("tiled", [2.0], device_kind="host"), searches("cpu", [1.0])])
        figure = throughput.throughput(launches(TOWN, device_kind="host"), timings, "town")
        assert [line.get_ydata()[0] for line in figure.axes[0].lines] == [250, 500]
        assert "not GPU times" in texts(figure)
        assert "emulated" in figure.axes[0].get_ylabel()

    def test_a_number_that_failed_is_no_point_and_has_a_line(self):
        table = launches(TOWN, failed={1000})
        timings = searches("tiled", [2.0])
        assert list(throughput.throughput(table, timings, "town").axes[0].lines[0].get_xdata()) == [1, 100]
        lines = throughput.throughput_table(table, timings).set_index(["Variant", "At once"])
        many = [("many-sources", count) for count in ("100", "1", "1,000")]
        assert lines.index.tolist() == [many[0], ("tiled", "1"), *many[1:]]
        assert lines["Searches per second"].tolist() == ["20,000", "500", "250", ""]
        assert lines["Status"].tolist() == ["ok", "ok", "ok", "oom"]
        assert lines["Proven"].tolist() == ["100%", "100%", "100%", "0%"]

    def test_without_a_finished_launch_the_figure_says_why(self):
        figure = throughput.throughput(launches({1: 1.0}, failed={1}), searches("tiled", [2.0]), "town")
        assert "No launch finished: 9 GB" in texts(figure)

    def test_many_sources_by_itself_is_a_single_search(self):
        table = throughput.throughput_table(launches({10: 5.0}), searches("many-sources", [4.0]))
        assert table[["At once", "Searches per second"]].values.tolist() == [["10", "2,000"], ["1", "250"]]

    def test_other_graphs_and_problems_are_left_out(self):
        timings = pd.concat([searches("a", [1.0], graph="city"), searches("b", [1.0]).assign(problem="bfs")])
        table = throughput.throughput_table(launches({10: 5.0}), timings)
        assert table["Variant"].tolist() == ["many-sources"]


class TestVerdict:
    """Launches with wrong answers fail the run as single searches do."""

    def test_a_wrong_launch_is_named(self, tmp_path):
        summary = tmp_path / "summary.csv"
        summary.write_text("problem,graph,variant,status,reason\nsssp,town,tiled,ok,\n", encoding="utf-8")
        table = launches(TOWN)
        table.to_parquet(tmp_path / "right.parquet")
        assert verdict(summary, [tmp_path / "right.parquet"]).startswith("1 runs measured")
        table.loc[4, ["status", "reason"]] = ["invalid", "source 7: rule tree"]
        table.to_parquet(tmp_path / "wrong.parquet")
        head, line = verdict(summary, [tmp_path / "right.parquet", tmp_path / "wrong.parquet"]).splitlines()
        assert head.startswith("error: 1 of ")
        assert line == "100 searches at once on town: invalid (source 7: rule tree)"


def auto(times_ms, chosen, *, count=100, **options):
    """Rows of auto: what it resolved is in columns of their own."""
    resolved = {
        "chosen": chosen,
        "because": "a map (mean degree 3, largest 8)",
        "searches": count,
        "expected": "tiled 90 ms, near-far 200 ms",
        "probed": f"{chosen} 1 ms",
        "probe_ms": 40.0,
    }
    columns = {f"parameter_{name}": value for name, value in resolved.items()}
    return searches("auto", times_ms, **options).assign(**columns)


class TestChoice:
    """The regret of auto."""

    TIMINGS = pd.concat(
        [
            auto([1.0, 2.0, 3.0], "tiled"),
            searches("tiled", [1.0, 2.0, 3.0]),
            searches("near-far", [4.0, 5.0, 6.0]),
            auto([6.0] * 3, "near-far", graph="city"),
            searches("tiled", [4.0] * 3, graph="city"),
            searches("near-far", [5.0] * 3, graph="city"),
            searches("wrong", [0.1] * 3, graph="city", status="invalid"),
            searches("emulated", [0.1] * 3, graph="city", device_kind="host"),
        ]
    )

    def test_regret_is_against_the_best_proven_variant_on_the_same_clock(self):
        table = choice.regrets(self.TIMINGS).set_index("graph")
        assert table["best"].to_dict() == {"town": "tiled", "city": "tiled"}
        assert table["regret"].to_dict() == {"town": 0, "city": 600.5 / 400.5 - 1}
        assert choice.in_short(table) == "auto is within 10% of the least total in 1 of 2 choices"

    @pytest.mark.parametrize(
        ("count", "best", "regret"),
        [(1, "tiled", 0), (1000, "phast", 2001 / 701 - 1)],
    )
    def test_preparation_and_the_searches_chosen_for_are_counted(self, count, best, regret):
        timings = pd.concat(
            [
                auto([2.0] * 3, "tiled", count=count, prepare_ms=1.0),
                searches("tiled", [2.0] * 3, prepare_ms=1.0),
                searches("phast", [0.2] * 3, prepare_ms=501.0),
            ]
        )
        table = choice.regrets(timings)
        assert table[["searches", "best"]].values.tolist() == [[count, best]]
        assert table["regret"].tolist() == [pytest.approx(regret)]

    @pytest.mark.parametrize(("auto_ms", "good"), [(1.09, 1), (1.11, 0), (0.9, 1)])
    def test_ten_percent_is_the_limit(self, auto_ms, good):
        table = choice.regrets(pd.concat([auto([auto_ms] * 3, "tiled"), searches("tiled", [1.0] * 3)]))
        assert choice.in_short(table) == f"auto is within 10% of the least total in {good} of 1 choices"

    def test_only_common_sources_are_compared(self):
        timings = pd.concat([auto([1.0, 1.0, 100.0], "tiled"), searches("tiled", [1.0, 1.0])])
        assert choice.regrets(timings)["regret"].tolist() == [0]

    def test_the_table_says_what_why_and_at_what_cost(self):
        table = choice.regret_table(self.TIMINGS).set_index("Graph")
        assert table.loc["city"].to_dict() == {
            "Clock": "GPU",
            "Searches": "100",
            "Chosen": "near-far",
            "Why": "a map (mean degree 3, largest 8); expected tiled 90 ms, near-far 200 ms; "
            "probed near-far 1 ms per search",
            "auto [ms]": "6",
            "Preparation [ms]": "0.5",
            "Total [ms]": "600",
            "Best variant": "tiled",
            "Best [ms]": "4",
            "Best total [ms]": "400",
            "Regret": "50%",
            "Probe searches [ms]": "40",
        }
        assert table.index[-1] == "auto is within 10% of the least total in 1 of 2 choices"

    def test_the_figure_has_a_point_a_graph(self):
        figure = choice.regret_figure(self.TIMINGS)
        points = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_linestyle() == "None"]
        np.testing.assert_allclose(points, [600.5 / 400.5, 1])
        shown = texts(figure)
        assert "auto is within 10% of the least total in 1 of 2 choices" in shown
        assert "near-far, 600 ms; best: tiled, 400 ms" in shown
        assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["city, 100", "town, 100"]

    def test_ratios_near_one_have_labels_near_one(self):
        near = pd.concat([auto([0.97] * 3, "tiled"), searches("tiled", [1.0] * 3)])
        labelled = choice.regret_figure(near).axes[0].get_xticks()
        assert {0.95, 1, 1.1} <= set(labelled)
        far = pd.concat([auto([90.0] * 3, "tiled"), searches("tiled", [1.0] * 3)])
        assert {1, 10, 100} <= set(choice.regret_figure(far).axes[0].get_xticks())

    def test_a_regret_of_next_to_nothing_has_no_sign(self):
        timings = pd.concat([auto([0.999] * 3, "tiled"), searches("tiled", [1.0] * 3)])
        assert choice.regret_table(timings)["Regret"].iloc[0] == "0%"

    def test_emulated_runs_are_not_counted(self):
        timings = pd.concat(
            [auto([1.0], "tiled", device_kind="host"), searches("tiled", [1.0], device_kind="host")]
        )
        assert len(choice.regrets(timings)) == 1
        assert "no graph" in choice.in_short(choice.regrets(timings))
        assert "emulated" in choice.regret_figure(timings).axes[0].get_xlabel()

    def test_alone_it_is_not_compared(self):
        timings = auto([1.0], "tiled")
        assert choice.regrets(timings).empty
        assert "no graph" in texts(choice.regret_figure(timings))
        assert choice.regret_table(timings)["Graph"].tolist() == [choice.in_short(choice.regrets(timings))]


class TestPreparation:
    """When preparation pays."""

    def test_searches_until_a_variant_has_caught_up(self):
        timings = pd.concat(
            [
                searches("sorted", [1.0] * 3).assign(prepare_ms=1000.0),
                searches("cut", [2.0] * 3).assign(prepare_ms=10.0, cold_ms=17.0),
                searches("plain", [5.0] * 3).assign(prepare_ms=0.5),
                searches("slow", [50.0] * 3).assign(prepare_ms=20.0),
                searches("cpu", [40.0] * 3, device_kind="cpu").assign(prepare_ms=0.0),
                searches("emulated", [0.1] * 3, device_kind="host").assign(prepare_ms=0.1),
                searches("wrong", [0.1] * 3, status="invalid").assign(prepare_ms=0.1),
            ]
        )
        table = preparation.payoff_table(timings).set_index("Variant")
        assert table.columns.tolist() == [name for name in preparation.COLUMNS if name != "Variant"]
        # cut: 9.5 ms owed at 3 ms a search; sorted: 999.5 at 4.
        assert table["Pays after [searches]"].to_dict() == {
            "emulated": "",
            "plain": preparation.FIRST,
            "cut": "4",
            "cpu": preparation.NEVER,
            "slow": preparation.NEVER,
            "sorted": "250",
        }
        assert table.loc["sorted", "Preparation and one search [ms]"] == "1,001"
        assert table.loc["cut", "Cold: to the first answer [ms]"] == "17"
        without = preparation.payoff_table(timings.drop(columns="cold_ms")).set_index("Variant")
        assert without.loc["cut", "Cold: to the first answer [ms]"] == ""
        assert without.loc["cut", "Preparation and one search [ms]"] == "12"
        assert table.loc["cpu", "Class"] == "1 core"

    @pytest.mark.parametrize(
        ("ours", "other", "searches_needed"),
        [
            ((10, 1), (0, 2), "10"),
            ((10.5, 1), (0, 2), "11"),
            ((10, 2), (0, 2), "never"),
            ((10, 1.99), (0, 2), "never"),
            ((0, 1), (0, 2), "1"),
        ],
    )
    def test_at_that_number_the_sums_are_equal_or_less(self, ours, other, searches_needed):
        assert preparation.pays_after(*ours, *other) == searches_needed

    def test_searches_until_a_cpu_has_been_overtaken(self):
        timings = pd.concat(
            [
                searches("sorted", [1.0] * 3).assign(prepare_ms=1000.0),
                searches("plain", [5.0] * 3).assign(prepare_ms=0.5),
                searches("slow", [50.0] * 3).assign(prepare_ms=20.0),
                searches("emulated", [0.1] * 3, device_kind="host").assign(prepare_ms=0.1),
                searches("dijkstra-cpu", [41.0] * 3, device_kind="cpu").assign(prepare_ms=0.0),
            ]
        )
        column = "Pays against CPU Dijkstra after [searches]"
        table = preparation.payoff_table(timings).set_index("Variant")
        # sorted: 1000 ms owed at 40 ms a search.
        shown = {"sorted": "25", "plain": "1", "slow": preparation.NEVER, "emulated": "", "dijkstra-cpu": ""}
        assert table[column].to_dict() == shown
        without = preparation.payoff_table(timings[timings["variant"] != "dijkstra-cpu"])
        assert set(without[column]) == {""}

    def test_each_graph_has_its_own_first(self):
        timings = pd.concat(
            [
                searches("a", [1.0], graph=graph).assign(prepare_ms=prepare_ms)
                for graph, prepare_ms in (("town", 0.0), ("city", 9.0))
            ]
        )
        assert preparation.payoff_table(timings)["Pays after [searches]"].tolist() == [preparation.FIRST] * 2

    def test_without_any_proven_search_the_table_is_empty(self):
        timings = searches("wrong", [1.0], status="invalid").assign(prepare_ms=0.0)
        assert preparation.payoff_table(timings).empty
